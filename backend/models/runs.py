"""Run, Step, ToolCall and the event log: what the agent did, and the only source of what a viewer sees."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Float, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Identified

# The states of a run that has not ended.
GOING_ON = ("queued", "running", "waiting_approval")


class Run(Identified, Base):
    """One agent run. Writes of its worker are conditional on `lease_epoch`.

    `deaths` counts the workers in a row that died over it while `done_at_death`, what it has begun and ended, did not grow.

    After its end its log is folded, and when it is too old or too much, pruned down to the last event.
    """

    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_owner_created", "owner_id", "created_at"),
        Index("ix_runs_project_created", "project_id", "created_at"),
        Index("ix_runs_conversation_created", "conversation_id", "created_at"),
        Index("ix_runs_status_lease", "status", "lease_expires_at"),
        Index("ix_runs_folded_finished", "folded_at", "finished_at"),
        Index("ix_runs_pruned_finished", "pruned_at", "finished_at"),
    )
    kind: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(20), default="queued")
    stop_reason: Mapped[str | None] = mapped_column(String(40))
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    project_id: Mapped[str | None] = mapped_column(ForeignKey("projects.id"))
    conversation_id: Mapped[str | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    message_id: Mapped[str | None] = mapped_column(String(36))
    parent_run_id: Mapped[str | None] = mapped_column(String(36), index=True)
    parent_call_id: Mapped[str | None] = mapped_column(String(200))
    model: Mapped[str] = mapped_column(String(200), default="")
    input: Mapped[str] = mapped_column(Text, default="")
    output: Mapped[str | None] = mapped_column(Text)
    error: Mapped[dict[str, Any] | None]
    prompt_tokens: Mapped[int] = mapped_column(Integer, default=0)
    completion_tokens: Mapped[int] = mapped_column(Integer, default=0)
    cost_micros: Mapped[int] = mapped_column(Integer, default=0)
    currency: Mapped[str] = mapped_column(String(3), default="USD")
    limits: Mapped[dict[str, Any]] = mapped_column(default=dict)
    options: Mapped[dict[str, Any]] = mapped_column(default=dict)
    step_count: Mapped[int] = mapped_column(Integer, default=0)
    last_seq: Mapped[int] = mapped_column(Integer, default=0)
    lease_owner: Mapped[str | None] = mapped_column(String(60))
    lease_epoch: Mapped[int] = mapped_column(Integer, default=0)
    lease_expires_at: Mapped[datetime | None]
    deaths: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    done_at_death: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    cancel_requested_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    folded_at: Mapped[datetime | None]
    pruned_at: Mapped[datetime | None]


class Step(Base):
    """One model call and its batch of tool calls."""

    __tablename__ = "steps"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(String(20))
    reasoning: Mapped[str] = mapped_column(Text, default="")
    text: Mapped[str] = mapped_column(Text, default="")
    finish_reason: Mapped[str | None] = mapped_column(String(40))
    model: Mapped[str] = mapped_column(String(200), default="")
    model_calls: Mapped[int] = mapped_column(Integer, default=0)
    usage: Mapped[dict[str, Any]] = mapped_column(default=dict)
    reasoning_fields: Mapped[dict[str, Any] | None]
    started_at: Mapped[str] = mapped_column(String(30), default="")
    finished_at: Mapped[str | None] = mapped_column(String(30))


class ToolCall(Base):
    """One tool call. `call` is the contract's CALL without its result; a cut result's whole text is a blob."""

    __tablename__ = "tool_calls"
    __table_args__ = (Index("ix_tool_calls_name_started", "name", "started_at"),)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    step: Mapped[int]
    position: Mapped[int]
    name: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(20))
    cached: Mapped[bool] = mapped_column(Boolean, default=False)
    execution_time: Mapped[float | None] = mapped_column(Float)
    call: Mapped[dict[str, Any]]
    request: Mapped[dict[str, Any] | None]
    result: Mapped[str | None] = mapped_column(Text)
    result_blob: Mapped[str | None] = mapped_column(String(64))
    idempotent: Mapped[bool] = mapped_column(Boolean, default=False)
    started_at: Mapped[str | None] = mapped_column(String(30))
    finished_at: Mapped[str | None] = mapped_column(String(30))


class RunEvent(Base):
    """One event of a run, as every viewer gets it; `data` is JSON text."""

    __tablename__ = "run_events"
    __table_args__ = ({"sqlite_with_rowid": False},)  # the rows of a run lie together
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str] = mapped_column(String(40))
    data: Mapped[str] = mapped_column(Text)
