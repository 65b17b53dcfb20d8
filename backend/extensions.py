"""The database, unbound until an application opens it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.orm import Session, sessionmaker

from .fair_lock import FairLock

BUSY_TIMEOUT_MS = 10_000
NOT_OPEN = "the database is not open"


class Database:
    """One engine and its sessions. SQLite is set up for many threads: WAL, short writing transactions."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._looking: Engine | None = None
        self._sessions: sessionmaker[Session] | None = None
        # SQLite has one writer: waiting here is fair and wakes at once, its own busy handler polls.
        self._writing = FairLock()

    def open(self, url: str) -> None:
        """Bind to a database URL; called once, before the first session."""
        self._engine = create_engine(url, pool_size=32, max_overflow=256, pool_pre_ping=not url.startswith("sqlite"))
        if url.startswith("sqlite"):
            event.listen(self._engine, "connect", _set_up_sqlite)
            event.listen(self._engine, "begin", _begin)
        self._looking = self._engine.execution_options(nanoclaw_looks=True)
        self._sessions = sessionmaker(self._engine, expire_on_commit=False)

    def close(self) -> None:
        """Give every connection back."""
        if self._engine is not None:
            self._engine.dispose()

    @property
    def engine(self) -> Engine:
        """The engine; RuntimeError before `open`."""
        if self._engine is None:
            raise RuntimeError(NOT_OPEN)
        return self._engine

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for reading; nothing is committed."""
        with self._new() as session:
            yield session

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A connection for single reading statements: prepared ones cost a quarter of a session's; each sees what is committed then."""
        if self._looking is None:
            raise RuntimeError(NOT_OPEN)
        with self._looking.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A writing transaction, begun IMMEDIATE, committed at the end; keep it short: no model or tool call inside."""
        with self._writing, self._new() as session:
            session.connection(execution_options={"nanoclaw_write": True})
            yield session
            session.commit()

    @contextmanager
    def write_lastingly(self) -> Iterator[Session]:
        """As `write`, and on disk when it returns: for what must survive a power failure before anything acts on it."""
        with self._writing, self.engine.connect() as connection:
            connection.execution_options(nanoclaw_write=True)
            set_synchronous(connection, "FULL")
            try:
                with self._new(connection) as session:
                    yield session
                    session.commit()
            finally:
                set_synchronous(connection, "NORMAL")

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[Connection]:
        """The same on a connection that its owner keeps (the run writer's)."""
        with self._writing, connection.begin():
            yield connection

    def _new(self, connection: Connection | None = None) -> Session:
        if self._sessions is None:
            raise RuntimeError(NOT_OPEN)
        return self._sessions() if connection is None else self._sessions(bind=connection)


def set_synchronous(connection: Connection, how: str) -> None:
    """How a commit of this connection waits for the disk: FULL or NORMAL. Between transactions only; SQLite's alone."""
    if connection.dialect.name == "sqlite":
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(f"PRAGMA synchronous={how}")


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # Transactions are begun by us (`_begin`), not by the driver: a read that turns into a write would fail at once.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA synchronous=NORMAL")
    # One connection, the run writer's, does the checkpoints: SQLite up to 3.51.2 has a rare WAL-reset race.
    cursor.execute("PRAGMA wal_autocheckpoint=0")
    cursor.close()


def _begin(connection: Any) -> None:
    options = connection.get_execution_options()
    if options.get("nanoclaw_looks"):
        return  # each of its statements stands alone
    writing = options.get("nanoclaw_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


db = Database()
