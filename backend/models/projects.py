"""Projects: a folder with a name, instructions and limits."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Identified


class Project(Identified, Base):
    """A folder that people and the agent work in; `path` is set when it lies outside the instance folder."""

    __tablename__ = "projects"
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text, default="")
    instructions: Mapped[str] = mapped_column(Text, default="")
    path: Mapped[str | None] = mapped_column(Text)
    default_model: Mapped[str | None] = mapped_column(String(200))
    allowed_tools: Mapped[list[Any] | None]
    limits: Mapped[dict[str, Any]] = mapped_column(default=dict)
    retention_days: Mapped[int | None]
    pinned: Mapped[bool] = mapped_column(Boolean, default=False)
    archived: Mapped[bool] = mapped_column(Boolean, default=False)
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
