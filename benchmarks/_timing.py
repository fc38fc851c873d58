"""Timing side by side."""

import time
from collections.abc import Callable, Sequence

import numpy as np


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(calls: Sequence[Callable[[], object]], repeats: int) -> np.ndarray:
    """Wall times (repeats, len(calls)) of calls that take turns, after one round to warm up."""
    return np.array([[seconds(call) for call in calls] for _ in range(repeats + 1)])[1:]
