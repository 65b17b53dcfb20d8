"""Who changed which file, and what it held before."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Identified


class FileChange(Identified, Base):
    """One change of one path; the hashes name blobs. `position` rises within the project."""

    __tablename__ = "file_changes"
    __table_args__ = (
        Index("ix_file_changes_project_path", "project_id", "path", "position"),
        Index("ix_file_changes_project_position", "project_id", "position", unique=True),
    )
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    position: Mapped[int]
    run_id: Mapped[str | None] = mapped_column(String(36), index=True)
    call_id: Mapped[str | None] = mapped_column(String(200))
    user_id: Mapped[str | None] = mapped_column(String(36))
    action: Mapped[str] = mapped_column(String(20))
    path: Mapped[str] = mapped_column(Text)
    new_path: Mapped[str | None] = mapped_column(Text)
    before_hash: Mapped[str | None] = mapped_column(String(64))
    after_hash: Mapped[str | None] = mapped_column(String(64))
    before_size: Mapped[int | None] = mapped_column(Integer)
    after_size: Mapped[int | None] = mapped_column(Integer)
    reverted_at: Mapped[datetime | None]
