"""Would a compiled pass be faster? The products of one pass, in C and in NumPy.

Run from the repository root, with a C compiler (`cc`) at hand:

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.compiled    # half a minute

A pass over the rows of X multiplies them with p directions V and sums their squares, Y = X V, and
multiplies back, Y'X. In C both are one function each, made for this: tiles of four rows, eight
columns of V in vector registers, the mean taken off on the way; the compiler makes versions for
AVX-512, AVX2 and plain processors. In NumPy they are what `torpca._sources.tall` does. Both work on
the same blocks of rows, which stay in a cache between the two products. Gram is X'X, the
most of what PCA does. Seconds, the least of several.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import report
from torpca._sources.base import BLOCK_BYTES, row_squares
from torpca._sources.tall import tall_matmul, tall_rmatmul

SHAPES = ((1_000_000, 50, 8), (200_000, 200, 8), (200_000, 200, 24), (40_000, 1000, 16))
REPEATS = 5
SOURCE = r"""
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef double v8 __attribute__((vector_size(64), aligned(8)));
#if defined(__x86_64__) && defined(__linux__)
#define VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VERSIONS
#endif
#define TILE 4

static inline __attribute__((always_inline)) void
load(double *tile, const double *x, int rows, int d, const double *mean)
{
    for (int r = 0; r < TILE; r++)
        for (int c = 0; c < d; c++)
            tile[r * d + c] = r < rows ? x[(size_t)r * d + c] - mean[c] : 0.0;
}

VERSIONS void
project(const double *x, long n, int d, const double *mean, const double *V, int groups,
        double *Y, double *squares)
{
    double *t = malloc(sizeof(double) * TILE * d);
    for (long i = 0; i < n; i += TILE) {
        int rows = n - i < TILE ? n - i : TILE;
        load(t, x + (size_t)i * d, rows, d, mean);
        for (int g = 0; g < groups; g++) {
            const v8 *v = (const v8 *)(V + (size_t)g * d * 8);
            v8 a[TILE] = {{0}};
            for (int c = 0; c < d; c++)
                for (int r = 0; r < TILE; r++)
                    a[r] += t[r * d + c] * v[c];
            for (int j = 0; j < 8; j++)
                for (int r = 0; r < rows; r++)
                    Y[(size_t)(8 * g + j) * n + i + r] = a[r][j];
        }
        for (int r = 0; r < rows; r++) {
            double s = 0.0;
            for (int c = 0; c < d; c++)
                s += t[r * d + c] * t[r * d + c];
            squares[i + r] = s;
        }
    }
    free(t);
}

VERSIONS void
accumulate(const double *x, long n, int d, const double *mean, const double *Y, int groups,
           double *Z)
{
    double *t = malloc(sizeof(double) * TILE * d);
    for (long i = 0; i < n; i += TILE) {
        int rows = n - i < TILE ? n - i : TILE;
        load(t, x + (size_t)i * d, rows, d, mean);
        for (int g = 0; g < groups; g++) {
            v8 w[TILE] = {{0}};
            for (int j = 0; j < 8; j++)
                for (int r = 0; r < rows; r++)
                    w[r][j] = Y[(size_t)(8 * g + j) * n + i + r];
            v8 *z = (v8 *)(Z + (size_t)g * d * 8);
            for (int c = 0; c < d; c++)
                for (int r = 0; r < TILE; r++)
                    z[c] += t[r * d + c] * w[r];
        }
    }
    free(t);
}
"""


def compiled(folder: Path) -> Any:
    """Return the library with the two functions."""
    (folder / "kernel.c").write_text(SOURCE)
    command = ["cc", "-O3", "-ffast-math", "-shared", "-fPIC", "-o", "kernel.so", "kernel.c"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernel.so"))


def address(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def line(library: Any, n: int, d: int, p: int) -> dict[str, Any]:
    """Least times of both on rows of this shape, and how far apart their results are."""
    rng = np.random.default_rng(0)
    X, V, mean = rng.standard_normal((n, d)), rng.standard_normal((d, p)), np.full(d, 0.1)
    groups = np.ascontiguousarray(V.reshape(d, p // 8, 8).transpose(1, 0, 2))
    step = BLOCK_BYTES // (8 * d)
    blocks = [X[i : i + step] for i in range(0, n, step)]
    Z, W = np.zeros((p // 8, d, 8)), np.zeros((p, d))

    def in_c(block: Any) -> list[Callable[[], Any]]:
        m = len(block)
        Y, squares = np.empty((p, m)), np.empty(m)
        rows = address(block), ctypes.c_long(m), d, address(mean)
        return [
            lambda: library.project(*rows, address(groups), p // 8, address(Y), address(squares)),
            lambda: library.accumulate(*rows, address(Y), p // 8, address(Z)),
        ]

    def in_numpy(block: Any) -> list[Callable[[], Any]]:
        Y = np.empty((len(block), p))

        def project() -> None:
            Y[:] = tall_matmul(np, block, V) - mean @ V
            row_squares(np, block)

        def accumulate() -> None:
            W[:] += tall_rmatmul(np, block, Y) - np.outer(np.sum(Y, axis=0), mean)

        return [project, accumulate]

    times = np.full((REPEATS, 2, 2), 0.0)
    for repeat in range(REPEATS):
        Z[:], W[:] = 0.0, 0.0
        for block in blocks:
            for way, make in enumerate((in_c, in_numpy)):
                for which, function in enumerate(make(block)):
                    start = time.perf_counter()
                    function()
                    times[repeat, way, which] += time.perf_counter() - start
    start = time.perf_counter()
    X.T @ X
    gram = time.perf_counter() - start
    least = times.min(axis=0)
    apart = np.max(np.abs(Z.transpose(0, 2, 1).reshape(p, d) - W)) / np.max(np.abs(W))
    return {
        "n x d, p": f"{n} x {d}, {p}",
        "X V in C": least[0, 0],
        "in NumPy": least[1, 0],
        "Y'X in C": least[0, 1],
        " in NumPy": least[1, 1],
        "both in C": float(least[0].sum()),
        "both in NumPy": float(least[1].sum()),
        "Gram": gram,
        "apart": float(apart),
    }


def main() -> None:
    if shutil.which("cc") is None:
        raise SystemExit("No C compiler: install one so that `cc` runs.")
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        rows = [line(library, *shape) for shape in SHAPES]
    report("compiled", rows, list(rows[0]))


if __name__ == "__main__":
    main()
