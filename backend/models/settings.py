"""What the administrator has set: model providers, tool switches, and small values by key."""

from typing import Any

from sqlalchemy import Boolean, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Identified


class ModelProvider(Identified, Base):
    """A place to ask models; its key is encrypted with the instance key."""

    __tablename__ = "model_providers"
    name: Mapped[str] = mapped_column(String(100), unique=True)
    kind: Mapped[str] = mapped_column(String(20))
    base_url: Mapped[str] = mapped_column(Text, default="")
    encrypted_key: Mapped[str | None] = mapped_column(Text)
    models: Mapped[list[Any]] = mapped_column(default=list)
    options: Mapped[dict[str, Any]] = mapped_column(default=dict)
    enabled: Mapped[bool] = mapped_column(Boolean, default=True)
    position: Mapped[int] = mapped_column(Integer, default=0)


class ToolSetting(Base):
    """An administrator's word on one tool."""

    __tablename__ = "tool_settings"
    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    enabled: Mapped[bool] = mapped_column(Boolean, default=True)
    policy: Mapped[str | None] = mapped_column(String(10))


class Setting(Base):
    """A small value by key, for what has no table of its own."""

    __tablename__ = "settings"
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    value: Mapped[Any] = mapped_column(Text)
