"""Model providers: from the environment, from providers.toml and from the settings page; their keys never come back."""

import logging
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, InvalidInput, NotFound
from ..ids import iso
from ..llm.catalogue import ProviderConfig
from ..llm.probe import probe_local
from ..models import ModelProvider
from . import secrets
from .lessons import taught
from .runtime import Runtime

log = logging.getLogger(__name__)

PURPOSE = "provider-key"
KINDS = ("openai", "anthropic")
FILE_KINDS = (*KINDS, "scripted")  # a script is a file of the server: only who owns the server may name one
FROM_ENVIRONMENT = "environment"
# Shown for the values of headers, which may be keys too.
HIDDEN = "(hidden)"
HEADER_TEXT = re.compile(r"[!-9;-~]+: [^\r\n\0]*")


# ---------------------------------------------------------------- the catalogue
def configs(runtime: Runtime) -> list[ProviderConfig]:
    """Every provider that is switched on: the environment's, those of providers.toml, those of the settings page."""
    return [
        *_from_environment(runtime),
        *from_file(runtime.settings.instance / "providers.toml"),
        *_stored(runtime),
    ]


def _from_environment(runtime: Runtime) -> list[ProviderConfig]:
    settings = runtime.settings
    if not (settings.openai_base_url or settings.openai_api_key):
        return []
    models = (settings.openai_model,) if settings.openai_model else ()
    base_url = settings.openai_base_url or "https://api.openai.com/v1"
    return [
        ProviderConfig(
            id=FROM_ENVIRONMENT, name="OPENAI_BASE_URL", kind="openai", base_url=base_url,
            api_key=settings.openai_api_key or "", models=models, options={},
        )
    ]  # fmt: skip


def from_file(path: Path) -> list[ProviderConfig]:
    """`[[providers]]` tables with name, kind, base_url, api_key, models, options; a broken file is logged and left out."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("providers", [])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as fault:
        log.error("providers.toml cannot be read: %s", fault)
        return []
    found = []
    for number, table in enumerate(tables if isinstance(tables, list) else [tables], 1):
        try:
            found.append(_from_table(table, number))
        except (TypeError, ValueError) as fault:
            log.error("providers.toml: provider %d is left out: %s", number, fault)
    return found


def _from_table(table: Any, number: int) -> ProviderConfig:
    """Raises TypeError, ValueError."""
    if not isinstance(table, dict):
        raise TypeError("it is no [[providers]] table")
    kind, models, options = table.get("kind", "openai"), table.get("models", []), table.get("options", {})
    if kind not in FILE_KINDS:
        raise ValueError(f"kind must be one of {', '.join(FILE_KINDS)}")
    if not isinstance(models, list) or not all(isinstance(name, str) for name in models):
        raise TypeError("models must be a list of names")
    if not isinstance(options, dict):
        raise TypeError("options must be a table")
    if wrong := _wrong_option(options):
        raise ValueError(wrong)
    return ProviderConfig(
        id=f"file:{table.get('name', number)}", name=str(table.get("name", f"provider {number}")), kind=kind,
        base_url=str(table.get("base_url", "")), api_key=str(table.get("api_key", "")),
        models=tuple(models), options=options,
    )  # fmt: skip


def _stored(runtime: Runtime) -> list[ProviderConfig]:
    query = select(ModelProvider).where(ModelProvider.enabled).order_by(ModelProvider.position, ModelProvider.id)
    with runtime.db.read() as session:
        rows = session.scalars(query).all()
    return [_config(runtime, row) for row in rows]


def _config(runtime: Runtime, row: ModelProvider) -> ProviderConfig:
    key = secrets.decrypt(runtime.secret_key, PURPOSE, row.encrypted_key) if row.encrypted_key else None
    return ProviderConfig(
        id=row.id, name=row.name, kind=row.kind, base_url=row.base_url, api_key=key or "",
        models=tuple(row.models), options=dict(row.options),
    )  # fmt: skip


# ---------------------------------------------------------------- the settings page
def list_models(runtime: Runtime) -> JsonObject:
    """`{items, next_cursor: null}`: the models on offer."""
    return {"items": runtime.catalogue.models(), "next_cursor": None}


def list_providers(runtime: Runtime) -> JsonObject:
    """Stored providers in their order, without their keys."""
    with runtime.db.read() as session:
        rows = session.scalars(select(ModelProvider).order_by(ModelProvider.position, ModelProvider.id)).all()
    return {"items": [provider_json(row, taught(runtime.db, row.id)) for row in rows], "next_cursor": None}


def provider_json(row: ModelProvider, lessons: JsonObject) -> JsonObject:
    """A provider; `has_key` is all that is told of its key, and HIDDEN of the values of its headers."""
    return {
        "id": row.id,
        "name": row.name,
        "kind": row.kind,
        "base_url": row.base_url,
        "has_key": row.encrypted_key is not None,
        "models": row.models,
        "options": _shown_options(row.options),
        "enabled": row.enabled,
        "lessons": lessons,
        "created_at": iso(row.created_at),
    }


def create_provider(runtime: Runtime, values: JsonObject) -> JsonObject:
    """Add a provider. Raises Conflict for a name that is taken, InvalidInput for a missing address."""
    with runtime.db.write() as session:
        last = session.scalar(select(func.max(ModelProvider.position)))
        row = ModelProvider(
            name="", kind="openai", base_url="", models=[], options={}, enabled=True, position=(last or 0) + 1
        )
        _apply(runtime, session, row, values)
        session.add(row)
        session.flush()
        answer = provider_json(row, {})
    _reload(runtime)
    return answer


def update_provider(runtime: Runtime, provider_id: str, values: JsonObject) -> JsonObject:
    """Change the fields that are named; `api_key: null` removes the key."""
    with runtime.db.write() as session:
        row = _get(session, provider_id)
        _apply(runtime, session, row, values)
        answer = provider_json(row, taught(runtime.db, provider_id))
    _reload(runtime)
    return answer


def delete_provider(runtime: Runtime, provider_id: str) -> None:
    """Forget a provider and its key. Raises NotFound."""
    with runtime.db.write() as session:
        session.delete(_get(session, provider_id))
    _reload(runtime)


def _reload(runtime: Runtime) -> None:
    runtime.catalogue.reload(configs(runtime))
    runtime.tabs.publish_to_all("models", "")


def try_provider(runtime: Runtime, provider_id: str) -> JsonObject:
    """Ask the provider for one short answer: `{ok, model, text, latency_ms, error, code, suggestion}`."""
    with runtime.db.read() as session:
        config = _config(runtime, _get(session, provider_id))
    return runtime.catalogue.test(config)


def found_servers(runtime: Runtime) -> JsonObject:
    """`{items: [{name, base_url, models}]}`: model servers on this machine that are not set up yet."""
    if not runtime.settings.probe_local:
        return {"items": [], "next_cursor": None}
    known = {config.base_url.rstrip("/") for config in configs(runtime)}
    found = [server.to_json() for server in probe_local(skip=(runtime.settings.port,))]
    return {"items": [s for s in found if s["base_url"].rstrip("/") not in known], "next_cursor": None}


def _get(session: Session, provider_id: str) -> ModelProvider:
    row = session.get(ModelProvider, provider_id)
    if row is None:
        raise NotFound("There is no such provider.")
    return row


def _apply(runtime: Runtime, session: Session, row: ModelProvider, values: JsonObject) -> None:
    if "name" in values:
        taken = select(ModelProvider.id).where(ModelProvider.name == values["name"])
        if session.scalar(taken) not in (None, row.id):
            raise Conflict(f"A provider is named {values['name']!r} already.")
    values = _checked(row, values)
    for field in ("name", "kind", "base_url", "models", "options", "enabled"):
        if field in values:
            setattr(row, field, values[field])
    if row.kind == "openai" and not row.base_url:
        raise InvalidInput("A provider needs its address.", {"base_url": ["for example http://localhost:11434/v1"]})
    if "api_key" in values:
        key = values["api_key"]
        row.encrypted_key = secrets.encrypt(runtime.secret_key, PURPOSE, key) if key else None


def _checked(row: ModelProvider, values: JsonObject) -> JsonObject:
    """The values as they are stored. Raises InvalidInput.

    A key goes to the server it was entered for: with another address it has to be entered again, and so have the
    values of headers that are not shown.
    """
    values, kept = dict(values), row.options
    if "base_url" in values and _place(values["base_url"]) != _place(row.base_url):
        values.setdefault("api_key", None)
        values.setdefault("options", _shown_options(row.options))
        kept = {}
    if "options" in values:
        if wrong := _wrong_option(values["options"]):
            raise InvalidInput("These options cannot be used.", {"options": [wrong]})
        values["options"] = _kept_headers(values["options"], kept)
    return values


def _place(base_url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(base_url)
        if parts.username is None and parts.password is None:
            return parts.scheme, parts.netloc.lower()
    except ValueError as fault:
        raise InvalidInput("The address cannot be used.", {"base_url": [str(fault)]}) from fault
    raise InvalidInput("The address cannot be used.", {"base_url": ["leave user and password out; use the key"]})


def _wrong_option(options: JsonObject) -> str | None:
    for name in ("headers", "parameters"):
        if not isinstance(options.get(name) or {}, dict):
            return f"{name} must be an object"
    headers = options.get("headers") or {}
    if not all(isinstance(value, str) and HEADER_TEXT.fullmatch(f"{name}: {value}") for name, value in headers.items()):
        return "headers must be names and texts on one line"
    chain = options.get("fallback") or []
    if not isinstance(chain, list) or not all(_is_link(item) for item in chain):
        return "fallback must be a list of models"
    window = options.get("context_window")
    if window is not None and not (isinstance(window, int) and window > 0):
        return "context_window must be a number of tokens"
    return None


def _is_link(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and isinstance(item.get("model"), str))


def _shown_options(options: JsonObject) -> JsonObject:
    headers = options.get("headers")
    return {**options, "headers": dict.fromkeys(headers, HIDDEN)} if headers else options


def _kept_headers(options: JsonObject, before: JsonObject) -> JsonObject:
    """What a client was shown as hidden stays as it was; what is not known is left out."""
    headers, old = options.get("headers") or {}, before.get("headers") or {}
    kept = {name: old.get(name) if value == HIDDEN else value for name, value in headers.items()}
    known = {name: value for name, value in kept.items() if value is not None}
    return {**options, "headers": known} if headers else options
