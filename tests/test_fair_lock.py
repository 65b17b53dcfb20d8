"""The lock of writers: one at a time, in the order they came."""

import threading

import pytest

from backend.fair_lock import FairLock


def test_who_waits_comes_before_who_takes_it_again_and_again() -> None:
    lock = FairLock()
    order: list[int] = []
    threads = []

    def take(number: int) -> None:
        with lock:
            order.append(number)

    with lock:
        for number in range(5):
            thread = threading.Thread(target=take, args=(number,))
            before = len(lock._waiting)
            thread.start()
            threads.append(thread)
            while len(lock._waiting) == before:
                pass  # it stands in line before the next one comes
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


def test_only_one_has_it_and_an_error_gives_it_back() -> None:
    lock, inside, most = FairLock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with lock:
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == 1
    with pytest.raises(ZeroDivisionError), lock:
        _ = 1 / 0
    assert lock.acquire(blocking=False)
    assert not lock.acquire(blocking=False)
