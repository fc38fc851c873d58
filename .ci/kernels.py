"""Print the BLAS kernels on which results can be checked here, one to a line.

    .venv/bin/python .ci/kernels.py  # where torpca is installed

The first is the one that this processor gets by itself. The others are OpenBLAS's, asked for by
OPENBLAS_CORETYPE: those that run here and whose products have other last digits. With another BLAS,
such as Accelerate or MKL, there is only the first.
"""

import os
import subprocess
import sys

# Those that most computers have come first, for x86-64 and for ARM: the first that differs from the
# usual one is the one to check on.
CANDIDATES = ["Haswell", "SkylakeX", "Sandybridge", "NEOVERSEN1", "ARMV8"]
# The name of the kernel and the last digits of what it makes of a few numbers. It loads SciPy's
# BLAS too, which may be another one.
LOOK = """
import hashlib
import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info
found = [i for i in threadpool_info() if i["user_api"] == "blas"]
names = sorted({i.get("architecture") or i["internal_api"] for i in found})
digits = hashlib.sha256()
for n, d in [(300, 77), (41, 300), (1000, 12)]:
    X = np.random.default_rng(0).standard_normal((n, d))
    for part in (X.T @ X, X @ X[0], *scipy.linalg.svd(X, full_matrices=False)):
        digits.update(part.tobytes())
print("+".join(names) or "unknown", digits.hexdigest())
"""


def look(kernel: str | None) -> list[str] | None:
    """The name and the digits of a kernel, None for the usual one; None if it does not run here."""
    # Alone in a process: one made for another processor ends it with an illegal instruction.
    here = {**os.environ, "OMP_NUM_THREADS": "1"}
    if kernel is not None:
        here["OPENBLAS_CORETYPE"] = kernel
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env=here, capture_output=True, text=True, timeout=120
    )
    return done.stdout.split() if done.returncode == 0 else None


def main() -> None:
    """Print the usual kernel, and those that are not like any before them."""
    usual = look(None)
    if usual is None:
        raise SystemExit("NumPy, SciPy and threadpoolctl must be installed to ask for kernels")
    print(usual[0])
    seen = [usual]
    for kernel in CANDIDATES:
        found = look(kernel)
        # OpenBLAS takes the usual kernel if it has none of that name: then the digits are the same.
        if found is not None and all(found[1] != other[1] for other in seen):
            print(kernel)
            seen.append(found)


if __name__ == "__main__":
    main()
