"""How close OutlierRobustPCA comes to the oracle, cell by cell, beside other methods.

Run from the repository root:

    python -m benchmarks.recovery            # all parts, about three hours on two cores
    python -m benchmarks.recovery families   # or shapes, hard, clean, rank, same, real, near,
                                             # leverage, scaled, textbook
    python -m benchmarks.recovery near --cache rivals.json   # figures of others are kept there
    python -m benchmarks.recovery near --only ours           # others are not run
    python -m benchmarks.recovery --methods all   # every rival: see benchmarks/_cells.py

The error is the sine of the largest angle to the true subspace, and every figure of the planted
parts is its ratio to the error of the oracle, ordinary PCA on the true good rows: the median over
the seeds, the largest of them in brackets. Without noise an error below 1e-10 counts as ratio 1.
The last column says whether the claim of the line holds ("-": none is made). ROBPCA is PcaHubert
of R's rrcov with alpha = 0.5, shown where R is installed.

The parts near, leverage and scaled are those of `benchmarks/_second.py`, with their own table and
claims (`benchmarks/_beside.py`); textbook is `benchmarks/_textbook.py`.
"""

import argparse
import csv
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks import _beside, _textbook
from benchmarks._cache import Cache
from benchmarks._cells import COLUMNS, table
from benchmarks._families import FAMILIES, HARD, Planted
from benchmarks._report import report
from benchmarks._rivals import METHODS
from torpca import OutlierRobustPCA, as_source
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

Line = dict[str, Any]
Array = NDArray[np.float64]

NOISE = 0.01
EXACT = 1e-10
QUICK = ("PCA", "spherical", "TORP, told")
ALL = tuple(name for name in METHODS if name != "ours")
DATA = Path(os.environ.get("TORPCA_DATA", Path(__file__).parents[2] / "shared" / "data"))


def planted(
    family: str, n: int, d: int, r: int, fraction: float, noise: float, seed: int, mean: float = 0.0
) -> Planted:
    """Rows of a family of `make_outlier_subspace`, by its letter, or of a hard one, by name."""
    if family in HARD:
        return HARD[family](np.random.default_rng(seed), n, d, r, fraction, noise)
    made = make_outlier_subspace(
        n, d, r, fraction, outliers=family, noise=noise, mean=mean, random_state=seed
    )
    return Planted(made.X, made.basis, made.outliers)


def error(method: str, X: Array, rank: int, fraction: float, basis: Array) -> float | None:
    """Sine of the largest angle to the truth; 1 if the method fails, None if it is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            V = METHODS[method](X, rank, fraction)
        except (ValueError, np.linalg.LinAlgError):
            if method == "ours":  # no exception is one of the claims
                raise
            return 1.0
    if V is None:
        return None
    found = V.shape[1] == rank and np.linalg.matrix_rank(V) == rank
    return float(subspace_error(np.linalg.qr(V)[0], basis)) if found else 1.0


def cell(
    part: str,
    family: str,
    size: tuple[int, int, int],
    fraction: float,
    noise: float,
    seeds: int,
    rivals: Sequence[str],
    limit: float | None,
    mean: float = 0.0,
) -> Line:
    """One line: the ratio of every method to the oracle."""
    n, d, r = size
    ratios: dict[str, list[float]] = {name: [] for name in ("ours", *rivals)}
    for seed in range(seeds):
        X, basis, bad = planted(family, n, d, r, fraction, noise, seed, mean)
        oracle = error("PCA", X[~bad], r, 0.0, basis)
        for name in ratios:
            e = error(name, X, r, fraction, basis)
            if e is not None:
                ratios[name].append(1.0 if e < EXACT else e / max(oracle, EXACT))
    medians = {name: float(np.median(v)) if v else None for name, v in ratios.items()}
    ours = medians["ours"]
    others = [v for name, v in medians.items() if name != "ours" and v is not None]
    holds = None
    if limit is not None:
        holds = ours <= limit
    elif others:  # no rival may be nearer the true subspace by more than a hundredth
        holds = ours <= 1.01 * min(others)
    shown = {
        name: "-" if medians[name] is None else f"{medians[name]:.3g} ({max(ratios[name]):.3g})"
        for name in ratios
    }
    size_text = f"{n} x {d}, r = {r}" + (f", mean {mean:g} x" if mean else "")
    return {
        "part": part,
        "data": FAMILIES.get(family, family),
        "size": size_text,
        "bad": f"{fraction:.0%}",
        "noise": noise,
        **{name: shown.get(name, "-") for name in METHODS},
        "holds": holds,
        "ratios": ratios,
    }


# ---- planted parts ---------------------------------------------------------------------------


def families(
    seeds: int = 5, letters: str = "abcde", rivals: Sequence[str] = QUICK
) -> Iterator[Line]:
    """Families a to e up to 45 %, known rank."""
    for noise in (0.0, NOISE):
        for family in letters:
            for fraction in (0.05, 0.2, 0.4, 0.45):
                yield cell("families", family, (2000, 50, 5), fraction, noise, seeds, rivals, 1.05)


SHAPES = (
    ((2000, 50, 5), 10.0),
    ((2000, 50, 10), 0.0),
    ((2000, 50, 20), 0.0),
    ((10_000, 200, 5), 0.0),
    ((200, 2000, 3), 0.0),
)


def shapes(seeds: int = 5, which: Sequence[Any] = SHAPES) -> Iterator[Line]:
    """The same families with a mean, at other ranks and sizes, up to 40 %."""
    for size, mean in which:
        for noise in (0.0, NOISE):
            for family in FAMILIES:
                for fraction in (0.05, 0.2, 0.4):
                    rivals = ("PCA",) if size[0] > 2000 else QUICK
                    yield cell("shapes", family, size, fraction, noise, seeds, rivals, 1.05, mean)


def hard(
    seeds: int = 25, names: Sequence[str] = tuple(HARD), rivals: Sequence[str] = ALL
) -> Iterator[Line]:
    """Families that are hard in other ways: no rival may do better.

    Of two methods near the oracle either may be ahead in the median of five seeds by chance.
    """
    for family in names:
        for fraction in (0.2, 0.4):
            yield cell("hard", family, (2000, 50, 5), fraction, NOISE, seeds, rivals, None)


# ---- clean data --------------------------------------------------------------------------------


def clean_rows(law: str, n: int, d: int, r: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Clean rows whose coefficients follow `law`, and their basis."""
    V = np.linalg.qr(rng.standard_normal((d, r)))[0]
    if law == "Gaussian":
        C = rng.standard_normal((n, r))
    elif law == "t5":
        C = rng.standard_normal((n, r)) / np.sqrt(rng.chisquare(5, (n, 1)) / 3)
    else:
        C = rng.uniform(-np.sqrt(3), np.sqrt(3), (n, r))
    noise = NOISE * rng.standard_normal((n, d))
    return (C / np.sqrt(np.arange(1, r + 1))) @ V.T + noise, V


def clean(seeds: int = 5, laws: Sequence[str] = ("Gaussian", "t5", "uniform")) -> Iterator[Line]:
    """Data without bad rows: nothing may be lost, and few rows flagged."""
    for law in laws:
        for n, d, r in ((5000, 50, 5), (1000, 20, 2), (20_000, 10, 3)):
            ratio, variance, flagged = [], [], []
            for seed in range(seeds):
                X, V = clean_rows(law, n, d, r, np.random.default_rng(seed))
                model, plain = OutlierRobustPCA(r).fit(X), PCA(r, svd_solver="full").fit(X)
                ratio.append(
                    subspace_error(model.components_.T, V) / subspace_error(plain.components_.T, V)
                )
                change = model.explained_variance_ / plain.explained_variance_
                variance.append(float(change[np.argmax(np.abs(np.log(change)))]))
                flagged.append(float(np.mean(model.predict(X) == -1)))
            middle = [float(np.median(v)) for v in (ratio, variance, flagged)]
            holds = middle[0] <= 1.02
            if law == "Gaussian":
                holds &= middle[2] <= 0.015 and (n < 5000 or abs(middle[1] - 1) <= 0.03)
            yield {
                "part": "clean",
                "data": law,
                "size": f"{n} x {d}, r = {r}",
                "bad": "0%",
                "noise": NOISE,
                **dict.fromkeys(METHODS, "-"),
                "ours": f"{middle[0]:.3f}",
                "PCA": "1",
                "more": f"variance {middle[1]:.3f} of PCA's, {middle[2]:.2%} flagged (1% nominal)",
                "holds": holds,
            }


# ---- rank ----------------------------------------------------------------------------------------


def rank(
    seeds: int = 5,
    letters: str = "abcde",
    fractions: tuple[float, ...] = (0.05, 0.2, 0.4, 0.45),
) -> Iterator[Line]:
    """n_components="auto" on the cells of the first part with noise."""
    for family in letters:
        for fraction in fractions:
            found = [
                OutlierRobustPCA()
                .fit(planted(family, 2000, 50, 5, fraction, NOISE, seed).X)
                .n_components_
                for seed in range(seeds)
            ]
            yield {
                "part": "rank",
                "data": FAMILIES[family],
                "size": "2000 x 50, r = 5",
                "bad": f"{fraction:.0%}",
                "noise": NOISE,
                **dict.fromkeys(METHODS, "-"),
                "ours": f"{found.count(5)} of {seeds}",
                "more": f"n_components='auto' found {sorted(set(found))}",
                "holds": found.count(5) == seeds,
            }


# ---- what must not matter ---------------------------------------------------------------------


def same(seeds: int = 5, letters: str = "abcde") -> Iterator[Line]:
    """Seed and row order, on the cells of the first part; chunks and threads with the same seed."""
    for noise in (0.0, NOISE):
        for family in letters:
            for fraction in (0.05, 0.2, 0.4, 0.45):
                X = planted(family, 2000, 50, 5, fraction, noise, 0).X
                model = OutlierRobustPCA(5).fit(X)
                apart, rows = {"seed and order": 0.0, "chunks and threads": 0.0}, 0
                for seed in range(1, seeds + 1):
                    order = np.random.default_rng(seed).permutation(len(X))
                    other = OutlierRobustPCA(5, random_state=seed).fit(X[order])
                    rows += int(np.sum(model.support_[order] != other.support_))
                    angle = subspace_error(model.components_.T, other.components_.T)
                    apart["seed and order"] = max(apart["seed and order"], angle)
                for threads, chunk in ((1, 64), (2, 333)):
                    with threadpool_limits(threads):
                        other = OutlierRobustPCA(5).fit(as_source(X, block_rows=chunk))
                    rows += int(np.sum(model.support_ != other.support_))
                    angle = subspace_error(model.components_.T, other.components_.T)
                    apart["chunks and threads"] = max(apart["chunks and threads"], angle)
                yield {
                    "part": "same",
                    "data": FAMILIES[family],
                    "size": "2000 x 50, r = 5",
                    "bad": f"{fraction:.0%}",
                    "noise": noise,
                    **dict.fromkeys(METHODS, "-"),
                    "more": ", ".join(f"{name} {angle:.0e}" for name, angle in apart.items())
                    + f", {rows} kept rows differ",
                    "holds": rows == 0
                    and apart["seed and order"] <= 1e-6
                    and apart["chunks and threads"] <= 1e-8,
                }


# ---- real data -----------------------------------------------------------------------------------


def no_data() -> bool:
    """Whether there is no real data, which is then said."""
    absent = not (DATA / "baselines.csv").exists()
    if absent:
        print(f"no real data at {DATA}: set TORPCA_DATA to their folder")
    return absent


def load(name: str) -> tuple[Array, NDArray[np.int_], NDArray[np.bool_]]:
    """Rows, labels (1: documented outlier) and the rows that count of a set of real data."""
    with np.load(DATA / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(int)
        doubtful = file["y_borderline"] if "y_borderline" in file else np.zeros(len(y))
    return X, y, ~doubtful.astype(bool)


def baselines() -> dict[tuple[str, str, str], tuple[float, float]]:
    """(set, method, scaling) -> ROC-AUC and average precision, as measured by others."""
    out = {}
    with (DATA / "baselines.csv").open() as file:
        for row in csv.DictReader(file):
            if row["roc_auc"]:
                out[row["dataset"], row["method"], row["scaling"]] = (
                    float(row["roc_auc"]),
                    float(row["avg_precision"]),
                )
    with (DATA / "robpca.csv").open() as file:
        for row in csv.DictReader(file):
            out[row["dataset"], "robpca", row["scaling"]] = (
                float(row["auc_od"]),
                float(row["ap_od"]),
            )
    return out


REAL_COLUMNS = (
    "oracle",
    "ours",
    "PCA",
    "spherical",
    "pyod PCA",
    "MCD",
    "ROBPCA",
    "ECOD",
    "IForest",
)
REAL_SEEDS = 5
# Columns of baselines.csv; those with "center" see the same numbers as we do.
SOURCES = {
    "oracle": ("oracle_pca_recon", "center"),
    "PCA": ("pca_recon", "center"),
    "spherical": ("spherical_pca_recon", "center"),
    "pyod PCA": ("pyod_pca", "standard"),
    "MCD": ("mcd", "standard"),
    "ROBPCA": ("robpca", "center"),
    "ECOD": ("ecod", "standard"),
    "IForest": ("iforest", "standard"),
}


def real(names: Sequence[str] | None = None) -> list[Line]:
    """ROC-AUC and average precision of -score_samples on real data, default settings.

    Means over REAL_SEEDS values of random_state: where most rows agree on no subspace, as in donors
    and internetads, it is chance on which of them the start settles.
    """
    if no_data():
        return []
    known = baselines()
    lines = []
    for name in names or sorted({key[0] for key in known}):
        X, y, counts = load(name)
        found, models = [], []
        for seed in range(REAL_SEEDS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = OutlierRobustPCA(random_state=seed).fit(X)
            score = -fitted.score_samples(X)[counts]
            found.append(
                (roc_auc_score(y[counts], score), average_precision_score(y[counts], score))
            )
            models.append((fitted.n_components_, np.mean(fitted.predict(X) == -1)))
        ours = np.mean(found, axis=0)
        line: Line = {
            "set": name,
            "n x d": f"{X.shape[0]} x {X.shape[1]}",
            "k": models[0][0],
            "flagged": f"{models[0][1]:.1%}",
        }
        for column in REAL_COLUMNS:
            pair = ours if column == "ours" else known.get((name, *SOURCES.get(column, ("", ""))))
            line[column] = "-" if pair is None else f"{pair[0]:.3f} {pair[1]:.3f}"
        line["figures"] = {
            c: [float(v) for v in line[c].split()] for c in REAL_COLUMNS if line[c] != "-"
        }
        lines.append(line)
    return [*lines, *means(lines)]


def known_answers() -> None:
    """Print the rows, counted from 1, that are flagged where the right answer is known."""
    X, _, _ = load("hbk")
    flagged = np.flatnonzero(OutlierRobustPCA().fit_predict(X) == -1) + 1
    print(f"\nhbk, default settings: flagged {' '.join(map(str, flagged))}")
    X, _, _ = load("octane")
    model = OutlierRobustPCA(2).fit(X)
    far = np.sort(np.argsort(-model.orthogonal_distances_)[:6]) + 1
    flagged = np.flatnonzero(model.predict(X) == -1) + 1
    print(
        f"octane, 2 components: six largest orthogonal distances {' '.join(map(str, far))}; ",
        end="",
    )
    print(f"flagged {' '.join(map(str, flagged))}")


def means(lines: Sequence[Line]) -> Iterator[Line]:
    """Means over the sets where the oracle beats PCA, for methods that ran on all of them."""
    sets = [
        line["figures"]
        for line in lines
        if line["figures"]["oracle"][0] > line["figures"]["PCA"][0]
    ]
    for title, against in (
        ("mean", "ours"),
        ("mean, where MCD ran", "MCD"),
        ("mean, where ROBPCA ran", "ROBPCA"),
    ):
        chosen = [figures for figures in sets if against in figures]
        line: Line = {"set": title, "n x d": f"{len(chosen)} sets", "k": None, "flagged": "-"}
        for column in REAL_COLUMNS:
            there = [figures[column] for figures in chosen if column in figures]
            full = len(there) == len(chosen) > 0
            line[column] = " ".join(f"{v:.3f}" for v in np.mean(there, axis=0)) if full else "-"
        yield line


PARTS = {
    "families": families,
    "shapes": shapes,
    "hard": hard,
    "clean": clean,
    "rank": rank,
    "same": same,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*PARTS, *_beside.PARTS, "real", "textbook"]
    parser.add_argument("parts", nargs="*", choices=[*every, []], help="default: all")
    parser.add_argument("--seeds", type=int, help="default: 5; 25 for hard, 10 for textbook")
    parser.add_argument("--methods", nargs="+", help="rivals, or all, on the cells of _cells.py")
    parser.add_argument(
        "--cache",
        type=Path,
        help="file for figures of others in near, leverage, scaled and textbook",
    )
    parser.add_argument("--only", choices=["ours"], help="run no others in these four parts")
    args = parser.parse_args()
    if args.methods:
        report("recovery_methods", table(args.methods), COLUMNS)
        return
    chosen = args.parts or every
    seeds = {} if args.seeds is None else {"seeds": args.seeds}
    alone, cache = args.only == "ours", Cache(args.cache)
    lines: list[Line] = []
    for part in PARTS:
        if part in chosen:
            lines += [{"more": "", **line} for line in PARTS[part](**seeds)]
    suffix = "" if not args.parts else "_" + "_".join(args.parts)
    if lines:
        columns = ["part", "data", "size", "bad", "noise", *METHODS, "more", "holds"]
        report(f"recovery{suffix}", lines, columns)
    for part, cells in _beside.PARTS.items():
        if part in chosen:
            found = list(_beside.lines(cells, cache, alone=alone, **seeds))
            report(f"recovery_{part}", found, _beside.COLUMNS)
            lines += found
    if "textbook" in chosen and not no_data():
        found = list(_textbook.lines(DATA, cache, alone=alone, **seeds))
        report("recovery_textbook", found, _textbook.COLUMNS)
        lines += found
    if "real" in chosen:
        found = real()
        if found:
            print("\nReal data: ROC-AUC and average precision")
            report("recovery_real", found, ["set", "n x d", "k", "flagged", *REAL_COLUMNS])
            known_answers()
    missed = [line for line in lines if line["holds"] is False]
    print(f"\n{len(lines)} lines, {len(missed)} missed")
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
