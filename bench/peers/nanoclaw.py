"""NanoClaw as the peers' benchmark drives it: the real engine and executor, everything recorded in SQLite.

Beside what `nanoclaw_mem` has on: Run/Step/ToolCall rows and the event log, committed as in the product
(synchronous=FULL for records).
"""

import tempfile
from pathlib import Path

from . import nanoclaw_mem  # first: it finds the project

# isort: split
from backend import migrations
from backend.channels.log import EventLog
from backend.extensions import Database
from backend.models import Run, User
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter


class Adapter(nanoclaw_mem.Adapter):
    packages = ["SQLAlchemy", "jsonschema-rs"]

    def open_store(self):
        self.folder = tempfile.TemporaryDirectory()
        self.db = Database()
        self.db.open(f"sqlite:///{self.folder.name}/bench.db")
        migrations.upgrade(self.db.engine, Path(self.folder.name))
        with self.db.write() as session:
            session.add(User(id="owner", name="Owner", role="admin", settings={}))
        self.writer = RunWriter(self.db, lambda text: "blob")
        self.channel = EventLog(self.db)

    def store(self, run_id):
        with self.db.write() as session:
            session.add(Run(id=run_id, kind="task", status="running", owner_id="owner", lease_epoch=1))
        return SqlRunStore(self.db, self.writer, RunPlace(run_id, 1, None))
