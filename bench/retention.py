"""What upkeep costs the runs that go on: how long it holds the database's one write lock, and what a viewer feels of it."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from types import TracebackType

from sqlalchemy import func, insert, select

from backend.extensions import Database
from backend.ids import new_id, utc_now
from backend.models import Conversation, Message, Run, RunEvent, Step, ToolCall
from backend.stores import folding, retention, search_index
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter

EVENTS_A_RUN = 500
EVENTS_OF_THE_LONGEST = 20_000
CALLS_A_RUN = 10
FILL_AT_ONCE = 20_000
PIECE = "a piece of text as a model sends it, of some forty or eighty signs in all. " * 2
DELTA_SECONDS = 0.02

Say = Callable[..., None]


class TimedLock(AbstractContextManager[None]):
    """In the place of a database's lock for writers: how long each thread, by its name, held it, and how long it computed meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = self._computed = 0.0
        self.held: dict[str, list[float]] = defaultdict(list)
        self.computed: dict[str, list[float]] = defaultdict(list)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._begun, self._computed = time.perf_counter(), time.thread_time()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        name = threading.current_thread().name
        self.held[name].append(time.perf_counter() - self._begun)
        self.computed[name].append(time.thread_time() - self._computed)
        self._lock.release()


def measure(database: Database, events: int, say: Say) -> None:
    """Fold, prune and purge a big log while a run streams."""
    conversations = fill(database, events)
    lock = TimedLock()
    database._writing = lock  # type: ignore[assignment]
    writing = RunWriter(database, lambda text: "")
    stop, lags = threading.Event(), list[float]()
    streamer = threading.Thread(target=_stream, args=(database, writing, stop, lags), name="stream")
    streamer.start()
    chores: list[tuple[str, Callable[[], object]]] = [
        ("fold", lambda: folding.fold_ended(database, utc_now())),
        ("prune", lambda: retention.prune_by_age(database, 1)),
        ("purge", lambda: retention.purge_conversations(database, utc_now())),
    ]
    time.sleep(5.0)
    say("nothing else: delta to viewer", lags[:])
    for name, work in chores:
        lags.clear()
        begun = time.perf_counter()
        thread = threading.Thread(target=_until_none, args=(work,), name=name)
        thread.start()
        thread.join()
        say(f"{name}: holds the write lock", lock.held[name], f"; {time.perf_counter() - begun:.1f} s in all")
        say(f"{name}: of it computing, the rest is other programs' and the disk's", lock.computed[name])
        say(f"{name}: delta to viewer meanwhile", lags[:])
    stop.set()
    streamer.join()
    writing.close()
    with database.read() as session:
        left = session.scalar(select(func.count()).select_from(RunEvent).where(RunEvent.run_id != "streams"))
    assert left == 0, f"{left} events are left of {len(conversations)} conversations"


def _until_none(work: Callable[[], object]) -> None:
    while work():
        time.sleep(0.02)  # as upkeep does


def _stream(database: Database, writing: RunWriter, stop: threading.Event, lags: list[float]) -> None:
    from backend.agent.types import Event

    store = SqlRunStore(database, writing, RunPlace("streams", 1, None))
    number = 0
    while not stop.wait(DELTA_SECONDS):
        begun = time.perf_counter()
        delta = Event("text.delta", {"step": 0, "offset": number * 10, "text": "ten signs "})
        store.record([], [delta], lambda events, at=begun: lags.append(time.perf_counter() - at), wait=False)
        number += 1


def fill(database: Database, events: int) -> list[str]:
    """Ended, deleted conversations: one with a very long run, many of usual ones; steps, calls and messages too."""
    old = utc_now() - timedelta(days=40)
    sizes = [EVENTS_OF_THE_LONGEST, *[EVENTS_A_RUN] * ((events - EVENTS_OF_THE_LONGEST) // EVENTS_A_RUN)]
    ids = [new_id() for _ in range(max(1, len(sizes) // 20))]
    with database.write() as session:
        session.add(Run(id="streams", kind="task", owner_id="owner", lease_epoch=1))
        for one in ids:
            session.add(Conversation(id=one, owner_id="owner", title="old", updated_at=old, deleted_at=old))
    for number, size in enumerate(sizes):
        _fill_run(database, ids[number % len(ids)], number, size)
    return ids


def _fill_run(database: Database, conversation: str, number: int, size: int) -> None:
    run_id, old = new_id(), utc_now() - timedelta(days=40)
    data = json.dumps({"run_id": run_id, "step": 0, "offset": 0, "text": PIECE})
    rows = [{"run_id": run_id, "seq": i + 1, "type": "text.delta", "data": _piece(run_id, i)} for i in range(size - 1)]
    rows.append({"run_id": run_id, "seq": size, "type": "run.finished", "data": data})
    calls = [
        {"run_id": run_id, "id": f"c{i}", "step": 0, "position": i, "name": "file_read", "status": "success",
         "cached": False, "call": {"id": f"c{i}"}, "result": PIECE * 40, "idempotent": True}
        for i in range(CALLS_A_RUN)
    ]  # fmt: skip
    with database.write() as session:
        session.add(
            Run(
                id=run_id,
                kind="chat",
                status="completed",
                stop_reason="completed",
                owner_id="owner",
                conversation_id=conversation,
                last_seq=size,
                started_at=old,
                finished_at=old,
            )
        )
        session.flush()
        session.add(Step(run_id=run_id, index=0, status="completed", usage={}))
        for at in range(0, size, FILL_AT_ONCE):
            session.execute(insert(RunEvent), rows[at : at + FILL_AT_ONCE])
        session.execute(insert(ToolCall), calls)
        message_id = new_id()
        search_index.add_message(session.connection(), message_id, conversation, None, PIECE * 30)
        session.add(
            Message(
                id=message_id,
                conversation_id=conversation,
                position=number,
                role="assistant",
                content=PIECE * 30,
                blocks=[],
                attachments=[],
                run_id=run_id,
            )
        )


def _piece(run_id: str, number: int) -> str:
    return json.dumps({"run_id": run_id, "step": 0, "offset": number * len(PIECE), "text": PIECE})
