"""API tokens: shown once, stored hashed."""

import hashlib
import secrets

from sqlalchemy import delete, select

from ..agent.types import JsonObject
from ..errors import NotFound
from ..extensions import Database
from ..ids import iso
from ..models import ApiToken
from .paging import Page, encode_cursor, list_json, newest_first

PREFIX = "nc_"


def list_tokens(db: Database, user_id: str, page: Page) -> JsonObject:
    """The user's tokens, newest first, without their secrets."""
    with db.read() as session:
        mine = select(ApiToken).where(ApiToken.user_id == user_id)
        rows = session.scalars(newest_first(mine, page, ApiToken.created_at, ApiToken.id)).all()
    return list_json(rows, page, token_json, lambda t: encode_cursor(t.created_at, t.id))


def create_token(db: Database, user_id: str, name: str) -> JsonObject:
    """A new token; `token` is in this answer and nowhere else."""
    secret = PREFIX + secrets.token_urlsafe(32)
    with db.write() as session:
        token = ApiToken(user_id=user_id, name=name, token_hash=hashlib.sha256(secret.encode()).hexdigest())
        session.add(token)
        session.flush()
        return {**token_json(token), "token": secret}


def delete_token(db: Database, user_id: str, token_id: str) -> None:
    """Revoke at once. Raises NotFound."""
    with db.write() as session:
        mine = (ApiToken.id == token_id, ApiToken.user_id == user_id)
        if session.scalar(delete(ApiToken).where(*mine).returning(ApiToken.id)) is None:
            raise NotFound("There is no such token.")


def token_json(token: ApiToken) -> JsonObject:
    """`{id, name, created_at, last_used_at}`."""
    return {
        "id": token.id,
        "name": token.name,
        "created_at": iso(token.created_at),
        "last_used_at": iso(token.last_used_at),
    }
