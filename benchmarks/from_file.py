"""Time and memory of `torpca fit` on a Parquet file, beside reading it and fitting it in memory.

Run from the repository root, with the extra `cli` installed:

    python -m benchmarks.from_file                      # 1 000 000 x 50: a minute
    python -m benchmarks.from_file --shape 100000 20

Both are processes of their own, imports included, and take turns. "memory" is the largest resident
size of the command, in gigabytes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._report import report

# In a process of its own: a child's largest size counts from that of the parent it was split from.
WRITE = """
import sys
import pyarrow as pa
import pyarrow.parquet as pq
from torpca.datasets import make_outlier_subspace
n, d = map(int, sys.argv[2:])
X = make_outlier_subspace(n, d, 5, 0.05, outliers="mixed", noise=0.01, mean=3, random_state=0).X
pq.write_table(pa.table({f"f{j}": X[:, j] for j in range(d)}), sys.argv[1])
"""

IN_MEMORY = """
import sys
import numpy as np
import pyarrow.parquet as pq
from torpca import OutlierRobustPCA
table = pq.read_table(sys.argv[1])
OutlierRobustPCA().fit(np.column_stack([column.to_numpy() for column in table.columns]))
"""


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and largest resident size, in GB, of a process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command[:4]} failed")
    return time.perf_counter() - start, used.ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=int, nargs=2, default=(1_000_000, 50))
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    n, d = args.shape
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "rows.parquet", Path(folder) / "out"
        run([sys.executable, "-c", WRITE, str(path), str(n), str(d)])
        fit = [sys.executable, "-m", "torpca", "fit", str(path), "--out", str(out), "--force"]
        plain = [sys.executable, "-c", IN_MEMORY, str(path)]
        times = np.array([[*run(fit), run(plain)[0]] for _ in range(args.repeats)])
        size = (out / "report.html").stat().st_size / 1e6
    line = {
        "n x d": f"{n} x {d}",
        "torpca fit, s": float(np.median(times[:, 0])),
        "read and fit, s": float(np.median(times[:, 2])),
        "ratio": float(np.median(times[:, 0] / times[:, 2])),
        "memory": float(np.max(times[:, 1])),
        "report, MB": float(size),
    }
    report("from_file", [line], list(line))


if __name__ == "__main__":
    main()
