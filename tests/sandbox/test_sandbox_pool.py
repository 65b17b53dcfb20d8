"""The pool under load, with dying helpers, a dying server and cancelled runs."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from backend import sandbox
from backend.cancel import CancelToken
from backend.errors import SandboxUnavailable, ToolCancelled, Unavailable
from backend.sandbox.gate import Gate
from backend.sandbox.pool import Pool, SandboxRequest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.close()


def _run(pool: Pool, code: str, **fields: object) -> sandbox.SandboxResult:
    return pool.run(SandboxRequest(code, **fields))  # type: ignore[arg-type]


def test_a_hundred_callers_at_once_all_get_their_own_answer(pool: Pool) -> None:
    with ThreadPoolExecutor(100) as threads:
        answers = list(threads.map(lambda n: _run(pool, f"print({n})\n{n} * 2", owner=f"o{n % 7}"), range(100)))
    assert [a["stdout"] for a in answers] == [f"{n}\n" for n in range(100)]
    assert [a["value"] for a in answers] == [str(n * 2) for n in range(100)]


def test_never_more_children_than_places() -> None:
    pool = Pool(places=3)
    try:
        most = 0
        with ThreadPoolExecutor(12) as threads:
            waiting = [threads.submit(_run, pool, "import time\ntime.sleep(0.2)") for _ in range(12)]
            while not all(w.done() for w in waiting):
                [helper] = pool.pids() or [0]
                if helper:
                    most = max(most, _count_below(helper))
                waiting[0].exception(timeout=5) if most else time.sleep(0.01)
        assert all(w.result()["error"] is None for w in waiting)
        assert most <= 3 + 2 + 1 + 3  # places, spares, the inner helper, and children just being reaped
    finally:
        pool.close()


def _count_below(pid: int) -> int:
    try:
        return len(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return 0


def test_runs_in_a_row_leave_nothing_behind(pool: Pool) -> None:
    _run(pool, "1")
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(100):
        assert _run(pool, "1 + 1")["value"] == "2"
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) <= (before[0] + 3, before[1])
    [helper] = pool.pids()
    assert _until(lambda: _count_below(helper) == 1 + 2)  # the inner process and its spares, the last one reaped


def test_a_new_helper_follows_every_killed_one(pool: Pool, request: pytest.FixtureRequest) -> None:
    times = 100 if request.config.getoption("--full") else 12
    for _ in range(times):
        assert _run(pool, "1 + 1")["value"] == "2"
        for pid in pool.pids():
            os.kill(pid, signal.SIGKILL)
    assert _run(pool, "1 + 1")["value"] == "2"


def test_a_run_whose_helper_dies_is_run_again(pool: Pool) -> None:
    _run(pool, "1")
    [helper] = pool.pids()
    idle = _below(helper)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(_run, pool, "import time\ntime.sleep(0.5)\n'done'")
        assert _until(lambda: _below(helper) - idle)  # a spare is made as soon as one is at work
        os.kill(helper, signal.SIGKILL)
        assert waiting.result()["value"] == "'done'"
    assert pool.pids() != [helper]


def _below(helper: int) -> set[int]:
    return {child.pid for child in psutil.Process(helper).children(recursive=True)}


def test_killed_helpers_under_load_cost_no_answer(pool: Pool) -> None:
    _run(pool, "1")
    with ThreadPoolExecutor(16) as threads:
        waiting = [threads.submit(_run, pool, f"sum(range(10 ** 5)) + {n}") for n in range(40)]
        waiting[5].result()
        for pid in pool.pids():
            os.kill(pid, signal.SIGKILL)
        assert [w.result()["value"] for w in waiting] == [str(4999950000 + n) for n in range(40)]


@pytest.mark.parametrize("code", ["while True: pass", "import time\ntime.sleep(60)", "10 ** 10 ** 8"])
def test_cancel_stops_a_run_at_once(pool: Pool, code: str) -> None:
    _run(pool, "1")
    cancelled = CancelToken()
    timer = threading.Timer(0.1, cancelled.set)
    timer.start()
    started = time.monotonic()
    with pytest.raises(ToolCancelled):
        pool.run(SandboxRequest(code), cancelled)
    assert time.monotonic() - started < 5  # far from the 10 s of the clock
    timer.join()
    assert _run(pool, "1 + 1")["value"] == "2"


def test_cancel_reaches_a_run_that_waits_for_its_turn() -> None:
    gate = Gate(places=1, waiting_max=10)
    cancelled = CancelToken()
    with gate.place("a", 1):
        threading.Timer(0.05, cancelled.set).start()
        with pytest.raises(ToolCancelled), gate.place("b", 30, cancelled):
            pytest.fail("the place was taken")
    with gate.place("c", 1) as waited:
        assert waited < 1


def test_output_before_the_time_limit_is_kept(pool: Pool) -> None:
    result = _run(pool, "print('first', end='')\nwhile True: pass", seconds=0.3)
    assert (result["stdout"], result["error_type"], result["limit"]) == ("first", "TimeoutError", "time")
    assert result["wall_seconds"] >= 0.3
    assert result["cpu_seconds"] > 0


def test_owners_take_turns() -> None:
    gate = Gate(places=1, waiting_max=50)
    order: list[str] = []
    queued = threading.Semaphore(0)

    def enter(owner: str) -> None:
        queued.release()
        with gate.place(owner, 10):
            order.append(owner)

    with gate.place("first", 1):
        threads = []
        for owner in ["greedy"] * 6 + ["modest"] * 2:
            thread = threading.Thread(target=enter, args=(owner,))
            thread.start()
            threads.append(thread)
            queued.acquire()
            assert _until(lambda: gate.waiting() == len(threads))
    for thread in threads:
        thread.join()
    assert order[:4] == ["greedy", "modest", "greedy", "modest"]
    assert order[4:] == ["greedy"] * 4


def _until(true: Callable[[], object]) -> bool:
    deadline = time.monotonic() + 20
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def test_a_full_queue_and_a_long_wait_are_refused_with_words() -> None:
    gate = Gate(places=1, waiting_max=0)
    with gate.place("a", 1), pytest.raises(Unavailable, match="waiting"), gate.place("b", 1):
        pytest.fail("the place was taken")
    slow = Gate(places=1, waiting_max=5)
    with slow.place("a", 1), pytest.raises(Unavailable, match="in time"), slow.place("b", 0.01):
        pytest.fail("the place was taken")
    with slow.place("c", 1):
        pass


def test_a_forked_server_starts_its_own_helper() -> None:
    code = (
        "import os, sys\n"
        "from backend import sandbox\n"
        "assert sandbox.run_code('1')['value'] == '1'\n"
        "mine = sandbox._the_pool().pids()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    ok = sandbox.run_code('2')['value'] == '2' and not set(mine) & set(sandbox._the_pool().pids())\n"
        "    sandbox.close()\n"
        "    os._exit(0 if ok else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "assert sandbox.run_code('3')['value'] == '3' and sandbox._the_pool().pids() == mine\n"
        "sandbox.close()\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_the_helper_ends_with_its_server() -> None:
    code = (
        "import sys\n"
        "from backend import sandbox\n"
        "sandbox.run_code('1')\n"
        "print(*sandbox._the_pool().pids(), flush=True)\n"
        "sandbox.run_code('while True: pass')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        helpers = [psutil.Process(int(pid)) for pid in server.stdout.readline().split()]
        family = [*helpers, *(c for h in helpers for c in h.children(recursive=True))]
        server.kill()
    assert helpers
    _, left = psutil.wait_procs(family, timeout=50)  # one that still loads its modules ends after that
    assert not [p for p in left if p.status() != psutil.STATUS_ZOMBIE]


def test_a_helper_that_cannot_start_is_said_and_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(SandboxUnavailable):
            _run(pool, "1")
        with pytest.raises(SandboxUnavailable, match="does not start"):
            _run(pool, "1")
    assert _until(lambda: _starts(pool))
    assert _run(pool, "1")["value"] == "1"
    pool.close()


def test_a_pool_closed_while_its_helper_starts_has_not_failed(caplog: pytest.LogCaptureFixture) -> None:
    pool = Pool()
    said: list[str] = []

    def start() -> None:
        try:
            pool.start()
        except SandboxUnavailable as error:
            said.append(error.message)

    starting = threading.Thread(target=start)
    starting.start()
    assert _until(pool.pids)
    pool.close()
    starting.join(20)
    assert said == ["The code sandbox is shut down."]
    assert [record.message for record in caplog.records] == []


def _starts(pool: Pool) -> bool:
    with contextlib.suppress(SandboxUnavailable):
        return _run(pool, "1")["value"] == "1"
    return False
