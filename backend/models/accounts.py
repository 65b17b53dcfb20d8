"""Who may sign in, and by what."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Identified


class User(Identified, Base):
    """A person; in single mode there is one, the owner."""

    __tablename__ = "users"
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[str] = mapped_column(String(20), default="admin")
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)


class ApiToken(Identified, Base):
    """A bearer token, shown once, stored as a SHA-256."""

    __tablename__ = "api_tokens"
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    last_used_at: Mapped[datetime | None]


class LoginCode(Base):
    """A one-time sign-in code, stored as a SHA-256."""

    __tablename__ = "login_codes"
    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
