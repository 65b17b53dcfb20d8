"""What an instance does beside its work, a little at a time: fold logs, keep to the limits, remove what was deleted."""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import select

from ..ids import utc_now
from ..models import FileChange, ToolCall
from ..stores import folding, history_limit, retention
from .runtime import Runtime

log = logging.getLogger(__name__)

# Viewers that watched the end have long read it by then.
FOLD_AFTER_SECONDS = 60.0
TEMPORARY_HOURS = 24
# Conversations that are being made lie out of sight meanwhile, just beyond the 30 days.
SLACK_HOURS = 1
YOUNG_BLOB_SECONDS = 86_400.0
# Long enough for any content that is kept to be named by its record; a full history must make room sooner than in a day.
JUST_KEPT_SECONDS = 3_600.0
PAUSE_SECONDS = 0.02


class Housekeeping:
    """Each method is one round; `stopping` ends it early."""

    def __init__(self, runtime: Runtime, stopping: threading.Event) -> None:
        self._runtime = runtime
        self._stopping = stopping

    def fold(self) -> int:
        """Fold the logs of runs that ended a while ago."""
        before = utc_now() - timedelta(seconds=FOLD_AFTER_SECONDS)
        return self._until_none(lambda: folding.fold_ended(self._runtime.db, before))

    def prune(self) -> int:
        """Keep logs to their age and size."""
        settings, db = self._runtime.settings, self._runtime.db
        pruned = self._until_none(lambda: retention.prune_by_age(db, settings.retention_days))
        pruned += self._until_none(lambda: retention.prune_by_size(db, settings.database_max))
        if pruned:
            log.info("the logs of %d runs were pruned", pruned)
        return pruned

    def limit_history(self) -> int:
        """Keep the earlier contents of each project's files to their size, and let go of those that nothing needs."""
        db, limit = self._runtime.db, self._runtime.settings.history_quota
        over = history_limit.projects_over(db, limit) if limit else []
        dropped = 0
        for project_id in over:
            last = history_limit.last_to_drop(db, project_id, limit)
            dropped += self._until_none(partial(history_limit.drop_some, db, project_id, last))
        if dropped:
            log.info("%d of the oldest file changes were dropped: their projects' history was full", dropped)
            self._drop_blobs(JUST_KEPT_SECONDS)
        return dropped

    def expire(self) -> int:
        """Remove temporary conversations whose last message is older than a day, and what was deleted for good."""
        retention.expire_temporary(self._runtime.db, utc_now() - timedelta(hours=TEMPORARY_HOURS))
        return self._purge_conversations() + self._purge_projects()

    def purge(self) -> int:
        """Remove what was deleted more than 30 days ago, and contents that nothing refers to."""
        before = _long_ago()
        count = self._purge_conversations()
        count += self._until_none(lambda: retention.purge_messages(self._runtime.db, before))
        count += self._purge_projects()
        self._drop_blobs()
        return count

    def _purge_projects(self) -> int:
        gone = retention.purge_projects(self._runtime.db, _long_ago())
        for project_id in gone:
            shutil.rmtree(self._runtime.settings.instance / "workspaces" / project_id, ignore_errors=True)
        return len(gone)

    def _purge_conversations(self) -> int:
        before = _long_ago()
        return self._until_none(lambda: retention.purge_conversations(self._runtime.db, before))

    def _until_none(self, work: Callable[[], int]) -> int:
        total = 0
        while not self._stopping.is_set() and (done := work()):
            total += done
            self._stopping.wait(PAUSE_SECONDS)  # others write in between
        return total

    def _drop_blobs(self, young_seconds: float = YOUNG_BLOB_SECONDS) -> None:
        """A content that is put again counts as young, so one that is old and unknown will not be asked for."""
        old = time.time() - young_seconds
        known: set[str] | None = None
        for path in self._runtime.blobs.folder.glob("??/*"):
            if self._stopping.is_set():
                return
            if path.stat().st_mtime > old:
                continue
            known = self._known_blobs() if known is None else known
            if path.parent.name + path.name not in known and path.stat().st_mtime <= old:
                path.unlink(missing_ok=True)

    def _known_blobs(self) -> set[str]:
        known: set[str] = set()
        with self._runtime.db.read() as session:
            for column in (ToolCall.result_blob, FileChange.before_hash, FileChange.after_hash):
                known.update(session.scalars(select(column).where(column.is_not(None)).distinct()))
        return {digest for digest in known if digest}


def _long_ago() -> datetime:
    """What was deleted before that cannot be restored any more."""
    return utc_now() - timedelta(days=retention.DELETED_KEPT_DAYS, hours=SLACK_HOURS)
