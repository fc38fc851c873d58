"""Time until Python has `torpca`, its help or its main estimator, beside what it cannot do without.

Run from the repository root, with the extra `cli` installed:

    python -m benchmarks.imports                        # half a minute
    python -m benchmarks.imports --repeats 15

Each line is a fresh interpreter, from its start to its end, and they take turns after one round
to warm up. "beyond NumPy" is the time beyond that of `import numpy` in the same round.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from benchmarks._report import report
from benchmarks._timing import interleaved

NUMPY = "import numpy"
IMPORTS = (
    "pass",
    NUMPY,
    "import torpca",
    "from torpca import metrics",
    "from sklearn.base import BaseEstimator",
    "from torpca import OutlierRobustPCA",
)
COMMANDS = ("--version", "--help", "fit --help")
# `import torpca` and the help may take this much beyond NumPy, in seconds.
LIMIT = 0.3
LIMITED = ("import torpca", *(f"torpca {command}" for command in COMMANDS))


def fresh(*arguments: str) -> Callable[[], object]:
    """A call that runs a fresh interpreter with `arguments`."""
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    calls = {code: fresh("-c", code) for code in IMPORTS}
    calls |= {f"torpca {typed}": fresh("-m", "torpca", *typed.split()) for typed in COMMANDS}
    times = interleaved(list(calls.values()), args.repeats)
    beyond = np.median(times - times[:, [list(calls).index(NUMPY)]], axis=0)
    lines = [
        {
            "what": name,
            "seconds": float(np.median(times[:, j])),
            "beyond NumPy": float(beyond[j]),
            "holds": bool(beyond[j] <= LIMIT) if name in LIMITED else None,
        }
        for j, name in enumerate(calls)
    ]
    report("imports", lines, list(lines[0]))


if __name__ == "__main__":
    main()
