"""The settings of one installation: read from the environment and `instance/nanoclaw.env`, checked, and passed on."""

import json
import re
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import InvalidInput

ROOT = Path(__file__).resolve().parent.parent
SECRETS = ("NANOCLAW_ADMIN_TOKEN", "NANOCLAW_SECRET_KEY", "OPENAI_API_KEY")
# A pipe that `run.py` leaves open: secrets come through it, not through the environment.
SECRETS_DESCRIPTOR = "NANOCLAW_SECRETS_FD"
SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([KMGT]?)B?$", re.IGNORECASE)
SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SANDBOX_LEVELS = ("strict", "kernel", "policy", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of the contract, with its default; sizes in bytes, times in seconds."""

    instance: Path = ROOT / "instance"
    admin_token: str | None = field(default=None, repr=False)
    auth: str = "single"
    public_url: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    threads: int = 256
    runs: int = 16
    sandbox: str = "strict"
    fetch_allow: tuple[str, ...] = ()
    fetch_proxy: str | None = None
    search_url: str | None = None
    probe_local: bool = True
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)
    openai_model: str | None = None
    llm_timeout: float = 300.0
    llm_idle_timeout: float = 90.0
    upload_max: int = 100 << 20
    project_quota: int = 2 << 30
    history_quota: int = 4 << 30
    retention_days: int = 0
    database_max: int = 0
    database_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000

    @property
    def database(self) -> str:
        """The database URL: SQLite in the instance folder unless set."""
        return self.database_url or f"sqlite:///{self.instance / 'nanoclaw.db'}"


def load(environ: MutableMapping[str, str], **overrides: Any) -> Settings:
    """Read settings; secrets are taken out of `environ`. Raises InvalidInput naming every wrong one."""
    instance = Path(environ.get("NANOCLAW_INSTANCE") or ROOT / "instance").expanduser().absolute()
    given = {**environ, **_handed_over(environ)}
    values = {**read_env_file(instance / "nanoclaw.env"), **{k: v for k, v in given.items() if v != ""}}
    reader = _Reader(values)
    settings = Settings(
        instance=instance,
        admin_token=reader.text("NANOCLAW_ADMIN_TOKEN"),
        auth=reader.choice("NANOCLAW_AUTH", ("single", "multi"), "single"),
        public_url=reader.text("NANOCLAW_PUBLIC_URL"),
        secret_key=reader.text("NANOCLAW_SECRET_KEY"),
        threads=reader.integer("NANOCLAW_THREADS", 256, 20, 4096),
        runs=reader.integer("NANOCLAW_RUNS", 16, 1, 512),
        sandbox=reader.choice("NANOCLAW_SANDBOX", SANDBOX_LEVELS, "strict" if sys.platform == "linux" else "off"),
        fetch_allow=reader.items("NANOCLAW_FETCH_ALLOW"),
        fetch_proxy=reader.text("NANOCLAW_FETCH_PROXY"),
        search_url=reader.text("NANOCLAW_SEARCH_URL"),
        probe_local=reader.flag("NANOCLAW_PROBE_LOCAL", True),
        openai_base_url=reader.text("OPENAI_BASE_URL"),
        openai_api_key=reader.text("OPENAI_API_KEY"),
        openai_model=reader.text("OPENAI_MODEL"),
        llm_timeout=reader.seconds("NANOCLAW_LLM_TIMEOUT", 300.0),
        llm_idle_timeout=reader.seconds("NANOCLAW_LLM_IDLE_TIMEOUT", 90.0),
        upload_max=reader.size("NANOCLAW_UPLOAD_MAX", 100 << 20),
        project_quota=reader.size("NANOCLAW_PROJECT_QUOTA", 2 << 30),
        history_quota=reader.size("NANOCLAW_HISTORY_QUOTA", 4 << 30),
        retention_days=reader.integer("NANOCLAW_RETENTION_DAYS", 0, 0, 36_500),
        database_max=reader.size("NANOCLAW_DATABASE_MAX", 0),
        database_url=reader.text("DATABASE_URL") or "",
        **overrides,
    )
    if reader.errors:
        named = "; ".join(f"{name}: {why[0]}" for name, why in reader.errors.items())
        raise InvalidInput(f"Some settings cannot be used. {named}", reader.errors)
    for name in SECRETS:
        environ.pop(name, None)
    return settings


def _handed_over(environ: MutableMapping[str, str]) -> dict[str, str]:
    """The secrets that `run.py` sent through a pipe; they can be read once."""
    number = environ.pop(SECRETS_DESCRIPTOR, "")
    if not number.isdigit():
        return {}
    with open(int(number), "rb") as pipe:
        secrets = json.loads(pipe.read() or b"{}")
    return {name: str(secrets[name]) for name in SECRETS if name in secrets}


def read_env_file(path: Path) -> dict[str, str]:
    """`NAME=value` lines; # comments, blank lines, an `export` prefix and quotes are understood."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as fault:
        raise InvalidInput(f"{path.name} is no text in UTF-8.") from fault
    values = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            value = value.strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1]
            values[name.strip()] = value
    return values


class _Reader:
    """Reads one value after the other and collects what is wrong."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.errors: dict[str, list[str]] = {}

    def text(self, name: str) -> str | None:
        return self._values.get(name, "").strip() or None

    def items(self, name: str) -> tuple[str, ...]:
        return tuple(part for part in re.split(r"[,\s]+", self._values.get(name, "")) if part)

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(name) or default
        if value not in allowed:
            self._wrong(name, f"{value!r} is not one of {', '.join(allowed)}")
            return default
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = (self.text(name) or str(int(default))).lower()
        if value not in ("0", "1", "true", "false", "yes", "no", "on", "off"):
            self._wrong(name, f"{value!r} is not 0 or 1")
        return value in ("1", "true", "yes", "on")

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        if not value.isdigit() or not low <= int(value) <= high:
            self._wrong(name, f"{value!r} is not a whole number from {low} to {high}")
            return default
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        value = self.text(name)
        try:
            number = float(value) if value is not None else default
        except ValueError:
            number = -1.0
        if not 0 < number < 86_400:
            self._wrong(name, f"{value!r} is not a number of seconds above 0")
            return default
        return number

    def size(self, name: str, default: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        match = SIZE.match(value)
        if not match:
            self._wrong(name, f"{value!r} is not a size such as 100 MB")
            return default
        return int(float(match[1]) * SIZE_UNITS[match[2].upper()])

    def _wrong(self, name: str, why: str) -> None:
        self.errors.setdefault(name, []).append(why)
