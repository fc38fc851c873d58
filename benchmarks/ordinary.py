"""Tables as people have them, without a bad row: how many rows are flagged, and who is told.

Run from the repository root:

    python -m benchmarks.ordinary              # about two minutes on two cores

Nothing is planted, so every flagged row is a false alarm. Where rows fall into groups, or are not
alike for other reasons, a method that looks for the rows of one subspace flags some of them; then
a warning should say why. "flagged" is the mean share of the rows over all seeds, "most" the
largest, and "silent" counts fits that flag more than one row in ten without a warning. The model
has default settings, or scale=True.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._report import report
from torpca import OutlierRobustPCA

Array = npt.NDArray[np.float64]
COLUMNS = ("rows", "n x d", "scale", "flagged", "most", "warned", "silent")
SIZES = (300, 2000)
FEATURES, RANK, NOISE = 8, 3, 0.5
# Share of the rows that are more false alarms than a user expects without a word.
MANY = 0.1


def gaussian(rng: np.random.Generator, n: int) -> Array:
    signal = rng.standard_normal((n, RANK)) @ rng.standard_normal((RANK, FEATURES))
    return signal + NOISE * rng.standard_normal((n, FEATURES))


def groups(count: int) -> Callable[[np.random.Generator, int], Array]:
    def rows(rng: np.random.Generator, n: int) -> Array:
        centres = 4 * rng.standard_normal((count, FEATURES))
        return 0.3 * gaussian(rng, n) + centres[rng.integers(0, count, n)]

    return rows


def parts_of_a_whole(rng: np.random.Generator, n: int) -> Array:
    amounts = np.exp(0.5 * gaussian(rng, n))
    return amounts / np.sum(amounts, axis=1, keepdims=True)


def with_answers(rng: np.random.Generator, n: int) -> Array:
    return np.column_stack([gaussian(rng, n), rng.random(n) < 0.3])


def yes_or_no(share: float) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: (rng.random((n, FEATURES)) < share).astype(np.float64)


KINDS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "Gaussian": gaussian,
    "uniform": lambda rng, n: rng.random((n, FEATURES)),
    "log-normal": lambda rng, n: np.exp(0.7 * gaussian(rng, n)),
    "Student's t, 3": lambda rng, n: rng.standard_t(3, (n, FEATURES)),
    "parts of a whole": parts_of_a_whole,
    "counts about 1": lambda rng, n: rng.poisson(1.0, (n, FEATURES)).astype(np.float64),
    "counts about 10": lambda rng, n: rng.poisson(10.0, (n, FEATURES)).astype(np.float64),
    "answers 1 to 5": lambda rng, n: np.clip(np.rint(3 + gaussian(rng, n) / 2), 1, 5),
    "answers yes or no, half yes": yes_or_no(0.5),
    "answers yes or no, a tenth yes": yes_or_no(0.1),
    "Gaussian and one answer": with_answers,
    "two groups": groups(2),
    "five groups": groups(5),
    "random walks": lambda rng, n: np.cumsum(rng.standard_normal((n, FEATURES)), axis=0),
}


def line(kind: str, n: int, scale: bool, seeds: int) -> dict[str, Any]:
    """One kind of rows, over `seeds` tables."""
    shares, told = [], []
    for seed in range(seeds):
        X = KINDS[kind](np.random.default_rng(seed), n)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = OutlierRobustPCA(scale=scale).fit(X)
        shares.append(float(np.mean(model.outlier_type_ != "regular")))
        told.append(any(issubclass(w.category, RuntimeWarning) for w in caught))
    silent = sum(share > MANY and not warned for share, warned in zip(shares, told, strict=True))
    return {
        "rows": kind,
        "n x d": f"{n} x {X.shape[1]}",
        "scale": scale,
        "flagged": f"{np.mean(shares):.1%}",
        "most": f"{np.max(shares):.1%}",
        "warned": f"{sum(told)} of {seeds}",
        "silent": silent,
    }


def lines(seeds: int) -> Iterator[dict[str, Any]]:
    for kind in KINDS:
        for n in SIZES:
            for scale in (False, True):
                yield line(kind, n, scale, seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    args = parser.parse_args()
    found = list(lines(args.seeds))
    report("ordinary", found, COLUMNS)
    fits = args.seeds * len(found)
    print(f"\n{sum(row['silent'] for row in found)} of {fits} fits are silent")


if __name__ == "__main__":
    main()
