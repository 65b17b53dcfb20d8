"""What is known about models - context window, images, prices - from our data file and the admin's copy of it."""

import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

BUILT_IN = Path(__file__).with_name("models.toml")
DEFAULT_CONTEXT_TOKENS = 32_768
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Prices are micro-units of the currency per million tokens; None: not known."""

    context_window: int = DEFAULT_CONTEXT_TOKENS
    images: bool = False
    input_micros: int | None = None
    output_micros: int | None = None
    currency: str = "USD"

    def cost(self, prompt_tokens: int, completion_tokens: int) -> tuple[int, str]:
        """What a request cost: (micro-units, currency); 0 where no price is known."""
        total = prompt_tokens * (self.input_micros or 0) + completion_tokens * (self.output_micros or 0)
        return round(total / 1_000_000), self.currency


class ModelTable:
    """The entries, the admin's first. `problem` says what is wrong with the admin's file, if anything."""

    def __init__(self, override: Path | None = None) -> None:
        self.problem = ""
        self._override = override
        own = self._read_override()
        built_in = _read(BUILT_IN)
        self._entries = [*own.get("model", []), *built_in["model"]]
        defaults = {**built_in.get("defaults", {}), **own.get("defaults", {})}
        self._default = _facts(defaults)

    def _read_override(self) -> dict[str, Any]:
        if self._override is None or not self._override.exists():
            return {}
        try:
            table = _read(self._override)
            for entry in table.get("model", []):
                _facts(entry)
                _patterns(entry)
        except (OSError, ValueError, TypeError) as e:
            self.problem = f"{self._override.name} is ignored: {e}"
            log.warning("%s", self.problem)
            return {}
        return table

    def facts(self, model: str) -> ModelFacts:
        """The first entry whose pattern fits the name, or its last part (`openai/gpt-4o` fits `gpt-4o*`)."""
        name = model.lower()
        names = (name, name.rsplit("/", 1)[-1])
        for entry in self._entries:
            if any(fnmatchcase(n, pattern) for n in names for pattern in _patterns(entry)):
                return _facts(entry, self._default)
        return self._default


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return tomllib.load(file)


def _patterns(entry: Mapping[str, Any]) -> list[str]:
    match = entry["match"] if "match" in entry else entry.get("name", [])
    patterns = [match] if isinstance(match, str) else list(match)
    if not patterns:
        raise ValueError("an entry without `match`")
    return [str(p).lower() for p in patterns]


def _facts(entry: Mapping[str, Any], default: ModelFacts | None = None) -> ModelFacts:
    base = default or ModelFacts()
    return ModelFacts(
        context_window=_count(entry, "context", base.context_window) or base.context_window,
        images=bool(entry.get("images", base.images)),
        input_micros=_count(entry, "input_micros", base.input_micros),
        output_micros=_count(entry, "output_micros", base.output_micros),
        currency=str(entry.get("currency", base.currency)),
    )


def _count(entry: Mapping[str, Any], key: str, default: int | None) -> int | None:
    value = entry.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{key} must be a whole number that is not negative")
    return value
