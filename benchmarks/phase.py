"""How few good rows each method can do with: share of exact recoveries against the SNR.

Run from the repository root:

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.phase                 # five minutes
    python -m benchmarks.phase --methods ste tyler --seeds 20         # some methods
    python -m benchmarks.phase --plots docs/phase                     # and a picture

Good rows are Gaussian in a random subspace of dimension r, bad ones Gaussian in all d dimensions,
without noise: the haystack model. What makes it hard is the dimension-scaled signal-to-noise ratio
(n_good / r) / (n_bad / (d - r)), as in Lerman and Zhang (arXiv:2606.06782): the number of good rows
for each dimension of the subspace, over that of bad rows for each dimension beyond it. Above 1
Tyler's estimator finds the subspace of rows in general position (Zhang 2016), and below 1 finding
it among bad rows of any kind is as hard as small set expansion (Hardt and Moitra 2013). Bad rows
are "isotropic", or "elongated": their standard deviation along the j-th of d random directions is
1/j. "share of good rows" is what the ratio comes to. An error below 1e-6, the sine of the largest
angle to the true subspace, counts as exact. All methods know that the rows are about zero. Those
marked with * are told the share of bad rows, or 0.49 where they take no more.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._report import report
from benchmarks._rivals import Method, asks, of_package
from torpca import OutlierRobustPCA, rivals, torp
from torpca.metrics import subspace_error

Line = dict[str, Any]
Array = NDArray[np.float64]

N, D = 600, 20
RANKS = (5, 10)
RATIOS = (0.2, 0.3, 0.5, 0.7, 0.9, 1.1, 1.5, 2.0, 3.0, 5.0)
KINDS: dict[str, Callable[[int], Array]] = {
    "isotropic": np.ones,
    "elongated": lambda d: 1.0 / np.arange(1, d + 1),
}
SEEDS, EXACT, LARGEST_SHARE = 5, 1e-6, 0.49
GOOD = "share of good rows"
NAMES = ("tyler", "ste", "fms", "reaper", "ggd", "dpcp", "ransac", "ransac_plus", "robpca")


def ours(X: Array, rank: int, fraction: float) -> Array:
    return OutlierRobustPCA(rank, center=False).fit(X).components_.T


def torp_told(X: Array, rank: int, fraction: float) -> Array:
    rho = min(max(fraction, 1 / len(X)), LARGEST_SHARE)
    return torp(X, rank, rho=rho, max_iter=50).components.T


def pca(X: Array, rank: int, fraction: float) -> Array:
    return np.linalg.svd(X, full_matrices=False)[2][:rank].T


def about_zero(name: str) -> Method:
    """A rival of the package, told at most the largest share of bad rows it takes."""
    method = of_package(name, center=False)
    if name == "ransac_plus":
        return lambda X, rank, fraction: method(X, rank, min(fraction, LARGEST_SHARE))
    return method


METHODS: dict[str, Method] = {
    "OutlierRobustPCA": ours,
    "torp": torp_told,
    **{name: about_zero(name) for name in NAMES},
    "ste, from tyler": of_package("ste", center=False, start="tyler"),
    "spherical_pca": about_zero("spherical_pca"),
    "PCA": pca,
}


def label(name: str) -> str:
    """Name of a method, with a star if it is told the share of bad rows."""
    told = name == "torp" or (name in rivals.__all__ and asks(name))
    return f"{name} *" if told else name


def good_rows(rank: int, ratio: float) -> int:
    """How many of the N rows are good at a ratio of (n_good / rank) / (n_bad / (D - rank))."""
    return round(N * ratio * rank / (ratio * rank + D - rank))


def haystack(kind: str, rank: int, ratio: float, seed: int) -> tuple[Array, Array, float]:
    """Rows, the basis of the good ones, and the share of bad ones."""
    rng = np.random.default_rng(seed)
    n_good = good_rows(rank, ratio)
    V = np.linalg.qr(rng.standard_normal((D, rank)))[0]
    axes = np.linalg.qr(rng.standard_normal((D, D)))[0]
    good = rng.standard_normal((n_good, rank)) @ V.T
    bad = (rng.standard_normal((N - n_good, D)) * KINDS[kind](D)) @ axes.T
    # Rows of either kind are equally long on the whole: length alone tells nothing.
    bad *= np.sqrt(rank / np.sum(KINDS[kind](D) ** 2))
    return rng.permutation(np.vstack([good, bad])), V, 1 - n_good / N


def error(method: Method, X: Array, rank: int, fraction: float, basis: Array) -> float:
    """Sine of the largest angle to the truth; 1 if the method fails or finds less."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            V = method(X, rank, fraction)
        except (ValueError, np.linalg.LinAlgError):
            return 1.0
    return float(subspace_error(V, basis)) if V.shape[1] == rank else 1.0


def cells(
    kinds: Sequence[str], ranks: Sequence[int], methods: Sequence[str], seeds: int
) -> Iterator[Line]:
    """Share of exact recoveries, a record for each kind, rank, ratio and method."""
    for kind in kinds:
        for rank in ranks:
            for ratio in RATIOS:
                made = [haystack(kind, rank, ratio, seed) for seed in range(seeds)]
                for name in methods:
                    errors = [error(METHODS[name], X, rank, bad, V) for X, V, bad in made]
                    yield {
                        "bad rows": kind,
                        "rank": rank,
                        "ratio": ratio,
                        "good": good_rows(rank, ratio) / N,
                        "method": label(name),
                        "exact": float(np.mean(np.array(errors) < EXACT)),
                        "median log10 error": float(np.median(np.log10(np.maximum(errors, 1e-16)))),
                    }


def table(records: Sequence[Line]) -> Iterator[Line]:
    """A line for each kind, rank and method: shares of exact recoveries against the ratio."""
    panel = None
    for key in dict.fromkeys((r["bad rows"], r["rank"], r["method"]) for r in records):
        mine = [r for r in records if (r["bad rows"], r["rank"], r["method"]) == key]
        if key[:2] != panel:
            panel = key[:2]
            shares = {f"{r['ratio']:g}": f"{r['good']:.0%}" for r in mine}
            yield {"bad rows": key[0], "rank": key[1], "method": GOOD, **shares}
        yield {
            **dict(zip(("bad rows", "rank", "method"), key, strict=True)),
            **{f"{r['ratio']:g}": f"{r['exact']:.0%}" for r in mine},
            "cells": mine,
        }


def plot(lines: Sequence[Line], folder: Path) -> None:
    """A picture of the table, as SVG: shades of the share of exact recoveries."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit('pictures need matplotlib: pip install "torpca[plot]"') from None

    panels = list(dict.fromkeys((line["bad rows"], line["rank"]) for line in lines))
    figure = Figure(figsize=(3.4 * len(panels) + 1.2, 3.8))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)
    for axis, (kind, rank) in zip(axes[0], panels, strict=True):
        mine = [line for line in lines if (line["bad rows"], line["rank"]) == (kind, rank)]
        shares = [[cell["exact"] for cell in line["cells"]] for line in mine]
        image = axis.imshow(shares, vmin=0, vmax=1, cmap="cividis", aspect="auto")
        points = mine[0]["cells"]
        axis.set_xticks(range(len(points)), [f"{p['ratio']:g}" for p in points], fontsize=7)
        axis.set_yticks(range(len(mine)), [line["method"] for line in mine], fontsize=8)
        half = np.interp(0.5, [p["good"] for p in points], np.arange(len(points)))
        axis.axvline(half, color="tab:red", linestyle=":", linewidth=1.5)
        axis.set_title(f"{kind}, d = {D}, r = {rank}", fontsize=9)
        axis.set_xlabel("(n_good / r) / (n_bad / (d - r))", fontsize=8)
    figure.colorbar(image, ax=axes[0], label="share of exact recoveries", pad=0.01)
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "torpca"}):  # the same picture is the same file
        figure.savefig(folder / "phase.svg", metadata={"Date": None}, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--ranks", nargs="+", type=int, default=list(RANKS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--plots", type=Path, help="folder for the picture")
    args = parser.parse_args()
    lines = list(table(list(cells(args.kinds, args.ranks, args.methods, args.seeds))))
    report("phase", lines, ["bad rows", "rank", "method", *(f"{ratio:g}" for ratio in RATIOS)])
    if args.plots:
        plot([line for line in lines if line["method"] != GOOD], args.plots)


if __name__ == "__main__":
    main()
