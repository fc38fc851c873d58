"""Figures of other methods, kept in a JSON file: they do not change when our code does."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Cache:
    """Figures by key, each with the sum of squares of the rows it was found from.

    A figure whose rows have changed since is found again. Without a path nothing is kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.known: dict[str, list[Any]] = {}
        if path is not None and path.exists():
            self.known = json.loads(path.read_text())

    def has(self, key: str, X: NDArray[Any]) -> bool:
        return key in self.known and bool(np.isclose(self.known[key][0], _size(X), rtol=1e-9))

    def get(self, key: str, X: NDArray[Any], find: Callable[[], Any]) -> Any:
        """The figure under `key`, found from the rows X by `find` if it is not known."""
        if not self.has(key, X):
            self.put(key, X, find())
        return self.known[key][1]

    def put(self, key: str, X: NDArray[Any], figure: Any) -> None:
        self.known[key] = [_size(X), figure]
        if self.path is not None:  # all or nothing, should it end here
            new = self.path.with_name(self.path.name + ".new")
            new.write_text(json.dumps(self.known, indent=0) + "\n")
            os.replace(new, self.path)


def _size(X: NDArray[Any]) -> float:
    return float(np.sum(np.square(X, dtype=np.float64)))
