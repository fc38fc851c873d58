"""Blocks on several cores: one block per thread, each with a BLAS of its own single thread.

A threaded BLAS splits every product and waits for its slowest part; with cache-sized blocks and
other work on the machine that wait is longer than the product. One block per thread waits once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@lru_cache(maxsize=1)
def _controller() -> Any:
    # Looking up the loaded libraries takes milliseconds, so it is done once.
    return ThreadpoolController().select(user_api="blas")


class _SingleThreadedBlas:
    """Context in which BLAS uses one thread; many threads may be inside at once.

    The setting belongs to the whole process: the first to enter changes it, the last to leave
    puts it back, and that is often another thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limited: list[tuple[Any, int]] = []  # libraries, and their threads before
        self.threads_outside: int | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self.threads_outside = _threads()
                self._limited = _limit_to_one()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _put_back(self._limited)
                self._limited, self.threads_outside = [], None


single_threaded_blas = _SingleThreadedBlas()


def _limit_to_one() -> list[tuple[Any, int]]:
    """Limit every BLAS to one thread; the libraries that changed, and their threads before."""
    before = [(library, library.num_threads) for library in _controller().lib_controllers]
    for library, n in before:
        if n != 1:  # to set it keeps other threads from setting theirs, until it is put back
            library.set_num_threads(1)
    # A limit that somebody holds in another thread goes first; then there is nothing to put back.
    return [(library, n) for library, n in before if library.num_threads != n]


def _put_back(limited: list[tuple[Any, int]]) -> None:
    """Give the libraries their threads again, from whatever thread this is."""
    if not limited:
        return
    # From version 3.7 on, threadpoolctl takes a number of threads for OpenBLAS only from the thread
    # that set the last one, and says nothing to others. That thread may have left before this one.
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)
    for library, n in limited:
        if library.num_threads == 1:  # else somebody has set it since
            library.set_num_threads(n)
    # To leave a limit, even one that changes nothing, lets other threads set their own again.
    with _controller().limit(limits=None):
        pass


def _threads() -> int:
    return max((library["num_threads"] for library in _controller().info()), default=1)


def blas_threads() -> int:
    """Number of threads a product would use: what the user set, or the number of cores.

    Inside `single_threaded_blas`, what it was outside: so many blocks are worked on at a time.
    """
    outside = single_threaded_blas.threads_outside
    return _threads() if outside is None else outside


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield function(item) for each item, in order, with up to `workers` calls at a time."""
    if workers <= 1:
        yield from map(function, items)
        return
    with single_threaded_blas, ThreadPoolExecutor(workers) as pool:
        ahead: deque[Future[Result]] = deque()
        for item in items:
            ahead.append(_begun(pool, function, item))
            # A few wait in line, so that no thread idles; no more, so that memory stays small.
            if len(ahead) > 2 * workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _begun(
    pool: ThreadPoolExecutor, function: Callable[[Item], Result], item: Item
) -> Future[Result]:
    """The future function(item): of a thread of the pool or, if none can start, of this one.

    None can start once the main thread has ended, though other threads may go on, nor where the
    system allows no more of them.
    """
    try:
        # In the caller's context, where np.errstate says what NumPy is to warn of.
        return pool.submit(copy_context().run, function, item)
    except RuntimeError:
        done: Future[Result] = Future()
        done.set_result(function(item))
        return done
