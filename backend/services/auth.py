"""Who is asking: the owner, one-time sign-in codes, sessions and bearer tokens."""

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import InvalidInput, NotSignedIn
from ..extensions import Database
from ..ids import utc_now
from ..models import ApiToken, LoginCode, Setting, User
from . import limits
from .runtime import Runtime

LOGIN_CODE_MINUTES = 10
SESSION_DAYS = 30
TOKEN_SEEN_EVERY_SECONDS = 60
SESSION_PREFIX = "session:"
MAX_SETTINGS_CHARS = 20_000

# Asked with every request: prepared once.
_USERS, _TOKENS = User.__table__.c, ApiToken.__table__.c
_OWNER = select(_USERS.id).where(_USERS.role == "admin").order_by(_USERS.created_at, _USERS.id).limit(1)
_ROLE = select(_USERS.role).where(_USERS.id == bindparam("id"))
_SESSION = select(Setting.__table__.c.value).where(Setting.__table__.c.key == bindparam("key"))
_TOKEN = (
    select(_TOKENS.id, _TOKENS.user_id, _TOKENS.last_used_at, _USERS.role)
    .join_from(ApiToken.__table__, User.__table__, _USERS.id == _TOKENS.user_id)
    .where(_TOKENS.token_hash == bindparam("digest"))
)

Via = Literal["session", "token", "admin_token"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking, and by what; `csrf` is the token a session must repeat in unsafe requests."""

    user_id: str
    role: str
    via: Via
    csrf: str | None = None

    @property
    def is_admin(self) -> bool:
        """True if this person may change the instance."""
        return self.role == "admin"


def ensure_owner(db: Database) -> str:
    """The id of the owner (the first admin), made on first use."""
    with db.look() as connection:
        found: str | None = connection.scalar(_OWNER)
    if found:
        return found
    with db.write() as session:
        if found := session.scalar(_OWNER):
            return str(found)
        owner = User(name="Owner", role="admin", settings={})
        session.add(owner)
        session.flush()
        return owner.id


# ---------------------------------------------------------------- one-time codes
def make_login_code(db: Database, user_id: str | None = None) -> str:
    """A code that signs in once, within 10 minutes; for the owner unless a user is named."""
    user_id = user_id or ensure_owner(db)
    code = secrets.token_urlsafe(24)
    with db.write() as session:
        session.execute(delete(LoginCode).where(LoginCode.expires_at < utc_now()))
        session.add(
            LoginCode(
                code_hash=_digest(code), user_id=user_id, expires_at=utc_now() + timedelta(minutes=LOGIN_CODE_MINUTES)
            )
        )
    return code


def redeem_code(runtime: Runtime, code: str) -> str:
    """Use a code up and open a session; returns the session's secret. Raises NotSignedIn."""
    with runtime.db.write() as session:
        now = utc_now()
        used = session.execute(
            update(LoginCode)
            .where(LoginCode.code_hash == _digest(code), LoginCode.used_at.is_(None), LoginCode.expires_at > now)
            .values(used_at=now)
            .returning(LoginCode.user_id)
        ).scalar()
        if used is None:
            raise NotSignedIn(
                "This sign-in link was used already or is older than 10 minutes.",
                suggestion="Run `python3 run.py link` for a new one.",
            )
        return _open_session(session, runtime, used)


# ---------------------------------------------------------------- sessions
def _open_session(session: Session, runtime: Runtime, user_id: str) -> str:
    secret = secrets.token_urlsafe(32)
    expires = utc_now() + timedelta(days=SESSION_DAYS)
    value = json.dumps({"user_id": user_id, "expires_at": expires.isoformat()})
    session.add(Setting(key=_session_key(runtime, secret), value=value))
    _drop_expired(session)
    return secret


def _drop_expired(session: Session) -> None:
    rows = session.execute(select(Setting.key, Setting.value).where(Setting.key.startswith(SESSION_PREFIX))).all()
    dead = [key for key, value in rows if _expired(json.loads(value))]
    session.execute(delete(Setting).where(Setting.key.in_(dead)))


def _expired(stored: JsonObject) -> bool:
    return datetime.fromisoformat(stored["expires_at"]) <= utc_now()


def close_session(runtime: Runtime, secret: str) -> None:
    """Sign out: the cookie is worth nothing from now on, wherever it was copied to."""
    with runtime.db.write() as session:
        session.execute(delete(Setting).where(Setting.key == _session_key(runtime, secret)))


def by_session(runtime: Runtime, secret: str) -> Identity | None:
    """Who holds this session cookie, or None."""
    with runtime.db.look() as connection:
        value = connection.scalar(_SESSION, {"key": _session_key(runtime, secret)})
        if value is None or _expired(stored := json.loads(value)):
            return None
        role = connection.scalar(_ROLE, {"id": stored["user_id"]})
    return Identity(stored["user_id"], role, "session", _csrf(runtime, secret)) if role else None


def _session_key(runtime: Runtime, secret: str) -> str:
    return SESSION_PREFIX + _keyed(runtime, "session", secret)


def _csrf(runtime: Runtime, secret: str) -> str:
    return _keyed(runtime, "csrf", secret)


def _keyed(runtime: Runtime, purpose: str, secret: str) -> str:
    return hmac.new(runtime.secret_key.encode(), f"{purpose}:{secret}".encode(), hashlib.sha256).hexdigest()


def cookie_name(runtime: Runtime) -> str:
    """Cookies ignore ports: instances on one machine need names of their own."""
    place = f"{runtime.settings.instance}:{runtime.settings.port}"
    return "nanoclaw_" + hashlib.sha256(place.encode()).hexdigest()[:12]


# ---------------------------------------------------------------- bearer tokens
def by_bearer(runtime: Runtime, token: str) -> Identity | None:
    """Who holds this bearer token: the administrator's from the settings, or an API token; else None."""
    admin = runtime.settings.admin_token
    if admin and hmac.compare_digest(_digest(admin), _digest(token)):
        runtime.owner_id = runtime.owner_id or ensure_owner(runtime.db)
        return Identity(runtime.owner_id, "admin", "admin_token")
    with runtime.db.look() as connection:
        found = connection.execute(_TOKEN, {"digest": _digest(token)}).one_or_none()
    if found is None:
        return None
    _note_use(runtime.db, found.id, found.last_used_at)
    return Identity(found.user_id, found.role, "token")


def _note_use(db: Database, token_id: str, last: datetime | None) -> None:
    if last and (utc_now() - last).total_seconds() < TOKEN_SEEN_EVERY_SECONDS:
        return
    with db.write() as session:
        session.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=utc_now()))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# ---------------------------------------------------------------- the signed-in person
def me(runtime: Runtime, who: Identity) -> JsonObject:
    """`{user: {id, name, role}, role, settings, limits, csrf_token}`; no CSRF token for bearers, who need none."""
    with runtime.db.read() as session:
        user = session.get_one(User, who.user_id)
        return {
            "user": {"id": user.id, "name": user.name, "role": user.role},
            "role": user.role,
            "settings": user.settings,
            "limits": {
                "upload_max_bytes": runtime.settings.upload_max,
                "project_quota_bytes": runtime.settings.project_quota,
            },
            "csrf_token": who.csrf,
        }


def update_me(runtime: Runtime, who: Identity, name: str | None, settings: JsonObject | None) -> JsonObject:
    """Rename; merge `settings` (a null takes a key out). Raises InvalidInput when they grow too large, or for wrong limits."""
    _check_limits((settings or {}).get(limits.SETTING))
    with runtime.db.write() as session:
        user = session.get_one(User, who.user_id)
        if name is not None:
            user.name = name
        if settings is not None:
            merged = {k: v for k, v in {**user.settings, **settings}.items() if v is not None}
            if len(json.dumps(merged)) > MAX_SETTINGS_CHARS:
                raise InvalidInput("These settings are too large.", {"settings": ["at most 20,000 characters"]})
            user.settings = merged
    return me(runtime, who)


def _check_limits(chosen: object) -> None:
    if chosen is None:
        return
    if not isinstance(chosen, dict):
        raise InvalidInput("Limits are an object.", {"settings.limits": ["must be an object"]})
    limits.check(chosen, "settings.limits")
