"""Fits in a process of their own, as BLAS picks its kernel and its threads when it is loaded.

`python -m benchmarks._fits JOB` reads a list of fits from the JSON file JOB, and writes what each
says of its rows to a file: see `Fit`. With `--kernel` it only prints the kernel and the threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info

from benchmarks._operations import OPERATIONS
from benchmarks._parting import Fitted, fitted
from torpca import OutlierRobustPCA

ROOT = Path(__file__).parents[1]
ARRAYS = ("flagged", "weights", "distances")
# A process takes a second or two to begin; with so many fits each, all end at about the same time.
FITS_EACH = 60


@dataclass(frozen=True)
class Process:
    """How BLAS is to work in a process."""

    kernel: str
    """Value of OPENBLAS_CORETYPE; empty for the machine's own choice."""
    threads: int = 1

    def run(self, *arguments: str) -> str:
        """What `python -m benchmarks._fits` prints in such a process."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _paths()))}
        environment.pop("OPENBLAS_CORETYPE", None)
        if self.kernel:
            environment["OPENBLAS_CORETYPE"] = self.kernel
        for library in ("OMP", "OPENBLAS", "MKL"):
            environment[f"{library}_NUM_THREADS"] = str(self.threads)
        command = [sys.executable, "-m", "benchmarks._fits", *arguments]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"OPENBLAS_CORETYPE={self.kernel} {' '.join(command)} ended with "
                f"{done.returncode}: {done.stderr[-2000:]}"
            )
        return done.stdout


def _paths() -> list[str]:
    """The package's sources and those of the benchmarks, wherever this process has them from."""
    given = os.environ.get("PYTHONPATH", "")
    return [str(ROOT), *(given.split(os.pathsep) if given else ())]


@dataclass(frozen=True)
class Fit:
    """A fit to make: of the table in a NPY file, after an operation, into a NPZ file."""

    process: Process
    table: str
    operation: str
    number: int
    """By which an operation that draws something draws it."""
    result: str


def run_all(fits: Sequence[Fit], jobs: int, folder: Path) -> None:
    """Make all fits, `jobs` processes at a time."""
    shards = []
    for process in dict.fromkeys(fit.process for fit in fits):
        those = [fit for fit in fits if fit.process == process]
        count = -(-len(those) // FITS_EACH)
        shards += [(process, those[i::count]) for i in range(count)]

    def run(number: int) -> None:
        process, those = shards[number]
        job = folder / f"job{number}.json"
        job.write_text(json.dumps([asdict(fit) for fit in those]))
        process.run(str(job))

    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(run, range(len(shards))):
            pass


def make(fit: Fit) -> list[Fitted] | str:
    """What a model with default options says of the rows, or its error.

    In the order and unit of the table, once for each copy of its rows.
    """
    X = np.load(fit.table)
    changed = OPERATIONS[fit.operation].apply(X, np.random.default_rng(fit.number))
    model = OutlierRobustPCA()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(changed.X, sample_weight=changed.weights)
        except Exception as error:  # another processor may get further
            return f"{type(error).__name__}: {error}"
    said = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    found = fitted(model, len(changed.rows), said)
    return [found.of_rows(places, 1 / changed.unit) for places in changed.places]


def save(found: list[Fitted] | str, path: str) -> None:
    if isinstance(found, str):
        np.savez(path, known=json.dumps({"error": found}))
        return
    values = {field.name: getattr(found[0], field.name) for field in fields(Fitted)}
    arrays = {name: values.pop(name) for name in ARRAYS}
    stacks = {
        name: np.stack([getattr(copy, name) for copy in found])
        for name, array in arrays.items()
        if array is not None
    }
    np.savez(path, known=json.dumps(values), **stacks)


def load(path: str) -> list[Fitted] | str:
    with np.load(path) as file:
        known = json.loads(str(file["known"]))
        stacks = {name: file[name] for name in ARRAYS if name in file}
    if "error" in known:
        return str(known["error"])
    known["history"] = tuple(map(tuple, known["history"]))
    for name in ("units", "warned"):
        known[name] = tuple(known[name])
    return [
        Fitted(**known, **{name: stack[c] for name, stack in stacks.items()})
        for c in range(len(stacks["flagged"]))
    ]


def kernel() -> tuple[str, int]:
    """Kernel and threads of the BLAS of NumPy and of SciPy, once it has worked."""
    A = np.random.default_rng(0).standard_normal((60, 60))
    np.linalg.svd(A @ A)
    scipy.linalg.eigh(A + A.T)
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = {library.get("architecture", library["internal_api"]) for library in blas}
    threads = max((library["num_threads"] for library in blas), default=1)
    return " and ".join(sorted(names)) or "unknown", threads


def main(argument: str) -> None:
    if argument == "--kernel":
        print(*kernel(), sep="\n")
        return
    for entry in json.loads(Path(argument).read_text()):
        fit = Fit(**{**entry, "process": Process(**entry["process"])})
        save(make(fit), fit.result)


if __name__ == "__main__":
    main(sys.argv[1])
