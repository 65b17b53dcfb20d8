"""One pool of daemon threads for the whole process; a thread that hangs is abandoned, counted and replaced."""

import contextvars
import threading
from collections import deque
from collections.abc import Callable

IDLE_SECONDS = 30.0
MAX_THREADS = 512  # abandoned threads are not counted: they are replaced


class Job:
    """One piece of work handed to the pool."""

    __slots__ = ("_context", "_work", "abandoned", "finished")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._context = contextvars.copy_context()
        self.abandoned = False
        self.finished = False

    def run(self) -> None:
        """Do the work in the context of the one who asked for it; `work` must not raise."""
        self._context.run(self._work)


class WorkerPool:
    """Threads grow with need and end when idle; they never keep the process alive."""

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._waiting: deque[Job] = deque()
        self._max_threads = max_threads
        self._idle = 0
        self._threads = 0
        self._abandoned = 0

    @property
    def threads(self) -> int:
        """Threads that can take work (abandoned ones are not among them)."""
        return self._threads

    @property
    def abandoned(self) -> int:
        """Threads still held by work that was given up."""
        return self._abandoned

    def submit(self, work: Callable[[], None]) -> Job:
        """Run `work` on some thread, soon; it waits only when `max_threads` are busy."""
        job = Job(work)
        with self._lock:
            self._waiting.append(job)
            if self._idle >= len(self._waiting):
                self._ready.notify()
            elif self._threads < self._max_threads:
                self._start_thread()
        return job

    def abandon(self, job: Job) -> bool:
        """Give the job up; True if its thread still works on it. A job that has not begun never will."""
        with self._lock:
            if job.finished or job.abandoned:
                return False
            job.abandoned = True
            if job in self._waiting:
                self._waiting.remove(job)
                job.finished = True
                return False
            self._threads -= 1
            self._abandoned += 1
            if self._waiting and self._idle == 0:
                self._start_thread()
            return True

    def _start_thread(self) -> None:
        self._threads += 1
        threading.Thread(target=self._serve, name="tool", daemon=True).start()

    def _serve(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            job.run()
            with self._lock:
                job.finished = True
                if job.abandoned:  # another thread has taken this one's place
                    self._abandoned -= 1
                    return

    def _next(self) -> Job | None:
        with self._lock:
            self._idle += 1
            try:
                while not self._waiting:
                    if not self._ready.wait(IDLE_SECONDS) and not self._waiting:
                        self._threads -= 1
                        return None
                return self._waiting.popleft()
            finally:
                self._idle -= 1


shared_pool = WorkerPool()
