"""The models on offer: which provider answers for a name, how long its window is, what it costs."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..agent.ports import LLMProvider
from ..errors import NotFound
from .anthropic import Anthropic
from .facts import ModelFacts, ModelTable
from .fallback import FallbackProvider, Link
from .lessons import QuirkMemory
from .offered import OfferedModels
from .offline import OfflineProvider
from .openai_compat import OpenAICompatible
from .probe import try_model
from .retrying import RetryPolicy
from .scripted import ScriptedProvider
from .server import IDLE_TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS, ServerProvider, ServerSettings, Shared

OFFLINE = "offline"
KINDS = ("openai", "anthropic", "offline", "scripted")
LISTING_KINDS = ("openai", "anthropic")


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One provider as it is set up. `kind` is one of KINDS.

    `models` are offered; the first is the default; without names it is what the server lists. Any other name
    is passed through, unless `options` has `only_listed`. Further options: `headers`, `query`, `key_header`, `parameters` (sent with every request),
    `thinking` (how it is switched, see openai_compat.THINKING), `fallback` (names of models that answer when
    this provider fails; each a name or {model, max_tokens, temperature}), `context_window`, `images`,
    `script` (a file, for the kind "scripted").
    """

    id: str
    name: str
    kind: str = "openai"
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    models: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Who answers for a model: the provider, the name to ask it for, and what is known of the model."""

    provider: LLMProvider
    model: str
    context_window: int
    images: bool
    provider_id: str = OFFLINE


@dataclass(frozen=True, slots=True)
class CatalogueSettings:
    """What all providers share. `models_file` is the admin's copy of models.toml; times in seconds."""

    models_file: Path | None = None
    memory: QuirkMemory | None = None
    retry: RetryPolicy | None = None
    total_timeout: float = TOTAL_TIMEOUT_SECONDS
    idle_timeout: float = IDLE_TIMEOUT_SECONDS
    default_model: str | None = None


class Catalogue:
    """Finds a provider by the name of a model. Thread-safe; `reload` swaps all providers at once."""

    def __init__(self, configs: Sequence[ProviderConfig] = (), settings: CatalogueSettings | None = None) -> None:
        self.settings = settings or CatalogueSettings()
        self.memory = self.settings.memory or QuirkMemory()
        self._lock = threading.Lock()
        self._offline = OfflineProvider()
        self._offered = OfferedModels()
        self._configs: dict[str, ProviderConfig] = {}
        self._providers: dict[str, LLMProvider] = {}
        self._chains: dict[str, FallbackProvider] = {}
        self._table = ModelTable(self.settings.models_file)
        self.reload(configs)

    def reload(self, configs: Sequence[ProviderConfig]) -> None:
        """Take these providers from now on; requests under way end with the old ones."""
        table = ModelTable(self.settings.models_file)
        with self._lock:
            old = self._configs
            self._table = table
            self._configs = {c.id: c for c in configs}
            self._chains = {}
            # A provider that did not change keeps its connections.
            kept = {i: p for i, p in self._providers.items() if old.get(i) == self._configs.get(i)}
            gone = [p for i, p in self._providers.items() if i not in kept]
            self._providers = kept
            self._offered.forget({i for i in {**old, **self._configs} if old.get(i) != self._configs.get(i)})
        _close(gone)

    @property
    def problem(self) -> str:
        """What is wrong with the admin's file of models, or an empty text."""
        return self._table.problem

    @property
    def offline(self) -> OfflineProvider:
        """The offline provider: it runs slash commands whatever model is chosen."""
        return self._offline

    # ------------------------------------------------------------ finding
    def default_model(self) -> str:
        """The model that answers when none is named."""
        if self.settings.default_model:
            return self.settings.default_model
        return next((f"{c.id}/{names[0]}" for c in self._snapshot() if (names := self._names(c))), OFFLINE)

    def resolve(self, model: str | None) -> Resolved:
        """Who answers for a name: "provider/model", a model on a provider's list, or any name at the first provider.

        None or an empty name is the default. Raises NotFound for a name that nobody may be asked for.
        """
        wanted = (model or "").strip() or self.default_model()
        if wanted == OFFLINE:
            facts = self._table.facts(OFFLINE)
            return Resolved(self._offline, OFFLINE, facts.context_window, facts.images)
        config, name = self._find(wanted)
        facts = self._facts(config, name)
        provider = self._provider(config)
        if config.options.get("fallback"):
            provider = self._chain(config, name, provider)
        return Resolved(provider, name, facts.context_window, facts.images, config.id)

    def _find(self, wanted: str) -> tuple[ProviderConfig, str]:
        configs = self._snapshot()
        for config in configs:
            if wanted in config.models:
                return config, wanted
        head, slash, rest = wanted.partition("/")
        if slash and head in self._configs:
            config, name = self._configs[head], rest
        elif configs:
            config, name = configs[0], wanted
        else:
            raise NotFound(
                f"There is no model {wanted!r}: no provider is set up.", suggestion="Add one in the settings."
            )
        if not name or (config.options.get("only_listed") and name not in self._names(config)):
            raise NotFound(f"The model {wanted!r} is not offered here.")
        return config, name

    def _snapshot(self) -> list[ProviderConfig]:
        return list(self._configs.values())

    def _names(self, config: ProviderConfig) -> tuple[str, ...]:
        """The models that a provider offers: those it is set up with, or else those that its server lists."""
        if config.models or config.kind not in LISTING_KINDS:
            return config.models
        provider = self._provider(config)
        return self._offered.names(config.id, provider.list_models) if isinstance(provider, ServerProvider) else ()

    def _facts(self, config: ProviderConfig, model: str) -> ModelFacts:
        facts = self._table.facts(model)
        window, images = config.options.get("context_window"), config.options.get("images")
        return ModelFacts(
            int(window) if window else facts.context_window,
            facts.images if images is None else bool(images),
            facts.input_micros, facts.output_micros, facts.currency,
        )  # fmt: skip

    # ------------------------------------------------------------ building
    def _provider(self, config: ProviderConfig) -> LLMProvider:
        with self._lock:
            provider = self._providers.get(config.id)
            if provider is None:
                provider = self._providers[config.id] = self.build(config)
            return provider

    def build(self, config: ProviderConfig) -> LLMProvider:
        """A provider of its own for a configuration (also one that is not saved yet)."""
        if config.kind == OFFLINE:
            return self._offline
        if config.kind == "scripted":
            return ScriptedProvider.from_file(Path(str(config.options.get("script", ""))))
        server = self._server(config)
        if config.kind == "anthropic":
            return Anthropic(server, self._shared())
        return OpenAICompatible(server, self._shared())

    def _shared(self) -> Shared:
        return Shared(self.memory, self.settings.retry or RetryPolicy(), self.cost)

    def _server(self, config: ProviderConfig) -> ServerSettings:
        options = config.options
        return ServerSettings(
            id=config.id,
            base_url=config.base_url,
            api_key=config.api_key,
            headers=options.get("headers") or {},
            query=str(options.get("query") or ""),
            parameters=options.get("parameters") or {},
            key_header=str(options.get("key_header") or ""),
            thinking=str(options.get("thinking") or ""),
            idle_timeout=self.settings.idle_timeout,
            total_timeout=self.settings.total_timeout,
        )

    def _chain(self, config: ProviderConfig, model: str, first: LLMProvider) -> FallbackProvider:
        key = f"{config.id}/{model}"
        with self._lock:
            chain = self._chains.get(key)
        if chain is not None:
            return chain
        links = [Link(first, model, f"{config.name} ({model})")]
        for item in config.options["fallback"]:
            own = item if isinstance(item, Mapping) else {"model": item}
            other, name = self._find(str(own["model"])) if own["model"] != OFFLINE else (_OFFLINE_CONFIG, OFFLINE)
            links.append(
                Link(
                    self._provider(other), name, f"{other.name} ({name})", own.get("max_tokens"), own.get("temperature")
                )
            )
        with self._lock:
            return self._chains.setdefault(key, FallbackProvider(links))

    # ------------------------------------------------------------ showing
    def models(self) -> list[dict[str, Any]]:
        """Every model on offer: `{id,name,provider_id,provider,kind,context_window,images,prices,default}`."""
        default = self.default_model()
        rows = [
            self._row(config, name, default)
            for config in self._snapshot()
            if config.kind != OFFLINE
            for name in self._names(config)
        ]
        return [*rows, self._row(_OFFLINE_CONFIG, OFFLINE, default)]

    def _row(self, config: ProviderConfig, model: str, default: str) -> dict[str, Any]:
        facts = self._facts(config, model)
        key = OFFLINE if config.kind == OFFLINE else f"{config.id}/{model}"
        priced = facts.input_micros is not None
        return {
            "id": key,
            "name": model,
            "provider_id": config.id,
            "provider": config.name,
            "kind": config.kind,
            "context_window": facts.context_window,
            "images": facts.images,
            "input_micros": facts.input_micros,
            "output_micros": facts.output_micros,
            "currency": facts.currency if priced else None,
            "default": default in (key, model),
        }

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int) -> tuple[int, str]:
        """What a request cost: (micro-units, currency)."""
        return self._table.facts(model).cost(prompt_tokens, completion_tokens)

    def test(self, config: ProviderConfig, model: str | None = None) -> dict[str, Any]:
        """A test call with a configuration, saved or not: `{ok,model,text,latency_ms,error,code,suggestion}`."""
        provider = self.build(config)
        self._offered.forget({config.id})  # who tests wants to know how things are now
        try:
            return try_model(provider, model or (config.models[0] if config.models else ""))
        finally:
            _close([provider])

    def close(self) -> None:
        """Close kept connections."""
        with self._lock:
            providers = list(self._providers.values())
        _close(providers)


def _close(providers: Iterable[LLMProvider]) -> None:
    """Close the kept connections of those that have any."""
    for provider in providers:
        if isinstance(provider, ServerProvider):
            provider.close()


_OFFLINE_CONFIG = ProviderConfig(OFFLINE, "Offline", OFFLINE)
