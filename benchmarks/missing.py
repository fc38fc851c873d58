"""Tables with holes and bad cells: subspace, filled cells, labels and time beside an oracle.

Run from the repository root:

    python -m benchmarks.missing                    # all parts, about a quarter of an hour
    python -m benchmarks.missing holes --seeds 1    # or patterns, cells, impute, real, overhead,
                                                    # time

holes     subspace error over that of the oracle: the same estimate from the good rows, with the
          same holes, told which rows are good. Cells are missing at random. At most 1.1.
patterns  the same where a sensor is off for a stretch, and where large values are missing more;
          there, with noise .5 in 8 features, also how far off the oracle itself is.
cells     bad cells at random, six standard deviations off, of the noise or of their column: error
          over that of the oracle told the rows and cells, at most 1.3; precision and recall of the
          flagged cells in good rows, at least .9. Beside it cells=False and MacroPCA.
impute    root mean square error of the filled cells of good rows, 10 % of the rows bad, over that
          of the oracle, at most 1.05, beside other imputers; also where single cells are bad, with
          cells=True, beside cells=False.
real      share of the rows that have another label with 10 % of the cells removed, at most 3 %.
overhead  time of what a fit does for holes and cells where there are none, over the rest: 1.02.
time      200000 x 200 with 10 % missing over the same without, at most 8; memory beyond the table,
          as a share of it, at most 1. Default threads, the two in turn.
"""

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from benchmarks._changes import replaced
from benchmarks._report import report
from benchmarks._timing import interleaved
from benchmarks.recovery import DATA
from torpca import OutlierRobustPCA, as_source
from torpca._estimators import doubts
from torpca._estimators.holes import Holes
from torpca._missing.completion import Completion
from torpca._missing.em import settled
from torpca._missing.impute import imputed
from torpca._missing.start import first_completion
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals import macropca

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

N, D, R = 2000, 50, 5
COLUMNS = ("part", "data", "missing or bad", "ours", "at most", "beside it", "holds")


def oracle(X: Array, rank: int) -> Completion:
    """EM for PCA of rows that are all good, NaN where a cell is missing, until nothing moves."""
    source, weights = as_source(X), np.ones(len(X))
    begun = first_completion(source, weights, rank, np.random.default_rng(0), center=True)
    begun = replace(begun, V=begun.V[:, :rank], deviations=begun.deviations[:rank])
    return settled(source, begun, weights, center=True, share=1e-3)


def planted(family: str, bad: float, noise: float, seed: int) -> Any:
    return make_outlier_subspace(
        N, D, R, bad or 1 / N, outliers=family, noise=noise, random_state=seed
    )


def at_random(X: Array, share: float, rng: np.random.Generator) -> Array:
    return np.where(rng.random(X.shape) < share, np.nan, X)


def by_blocks(X: Array, share: float, rng: np.random.Generator) -> Array:
    """Every sensor is off for one stretch of the rows."""
    X, length = X.copy(), round(share * len(X))
    for column in X.T:
        start = rng.integers(len(X) - length)
        column[start : start + length] = np.nan
    return X


def where_large(X: Array, share: float, rng: np.random.Generator) -> Array:
    """Values above the 80th percentile of their column are missing four times as often."""
    chance = np.where(np.quantile(X, 0.8, axis=0) < X, 2.5 * share, 0.625 * share)
    return np.where(rng.random(X.shape) < chance, np.nan, X)


def line(part: str, data: str, what: str, ours: float, most: float, beside: str = "-") -> Line:
    values = (part, data, what, float(ours), most, beside, bool(ours <= most))
    return dict(zip(COLUMNS, values, strict=True))


def quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


# ---- parts --------------------------------------------------------------------------------------


def ratios(make: Callable[..., Array], family: str, bad: float, share: float, seeds: int) -> float:
    """Median error over that of the oracle."""
    found = []
    for seed in range(seeds):
        made = planted(family, bad, 0.01, seed)
        X = make(made.X, share, np.random.default_rng(seed))
        told = subspace_error(oracle(X[~made.outliers], R).V, made.basis)
        model = quietly(lambda X=X: OutlierRobustPCA(R).fit(X))
        found.append(subspace_error(model.components_.T, made.basis) / told)
    return float(np.median(found))


def holes(seeds: int) -> Iterator[Line]:
    for family in "abcde":
        for bad in (0.2, 0.4):
            for share in (0.05, 0.2, 0.4):
                ratio = ratios(at_random, family, bad, share, seeds)
                yield line("holes", f"{family}, {bad:.0%} bad", f"{share:.0%}", ratio, 1.1)


def patterns(seeds: int) -> Iterator[Line]:
    for name, make in (("stretches", by_blocks), ("large ones more", where_large)):
        for bad in (0.0, 0.2, 0.4):
            for share in (0.1, 0.3):
                ratio = ratios(make, "e", bad, share, seeds)
                yield line("patterns", f"e, {bad:.0%} bad", f"{share:.0%}, {name}", ratio, 1.1)
    yield from few_noisy(seeds)


def few_noisy(seeds: int) -> Iterator[Line]:
    """How far off the oracle is where there is little to go by: not a claim."""
    for name, make in (("at random", at_random), ("large ones more", where_large)):
        angles, means = [], []
        for seed in range(seeds):
            made = make_outlier_subspace(
                N, 8, 2, 1 / N, outliers="e", noise=0.5, mean=5.0, random_state=seed
            )
            X = made.X[~made.outliers]
            model = oracle(make(X, 0.3, np.random.default_rng(seed)), 2)
            full = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2].T
            angles.append(subspace_error(model.V, made.basis) / subspace_error(full, made.basis))
            means.append(np.mean(np.abs(model.mean - X.mean(axis=0)) / X.std(axis=0)))
        beside = f"mean off by {np.median(means):.2f} standard deviations"
        data = f"{N} x 8, noise .5: oracle over PCA of all cells"
        ratio = float(np.median(angles))
        found = line("patterns", data, f"30%, {name}", ratio, np.inf, beside)
        yield {**found, "at most": None, "holds": True}


def cells(seeds: int) -> Iterator[Line]:
    for unit in ("noise", "column"):
        for bad in (0.0, 0.2):
            for share in (0.01, 0.05, 0.1):
                many = [one_of_cells(unit, bad, share, seed) for seed in range(seeds)]
                ours, plain, macro, precision, recall = np.median(many, axis=0)
                beside = f"cells=False {plain:.3g}, MacroPCA {macro:.3g}"
                beside += f", precision {precision:.3f}, recall {recall:.3f}"
                what = f"{share:.0%} by 6 sd of the {unit}"
                found = line("cells", f"e, {bad:.0%} bad", what, ours, 1.3, beside)
                found["holds"] = found["holds"] and bool(min(precision, recall) >= 0.9)
                yield found


def one_of_cells(unit: str, bad: float, share: float, seed: int) -> tuple[float, ...]:
    """Error of three methods over the oracle's; precision and recall of the flagged cells."""
    made, rng = planted("e", bad, 0.1, seed), np.random.default_rng(seed)
    good = ~made.outliers
    X, wrong = with_bad_cells(made, unit, share, rng)
    told = subspace_error(oracle(np.where(wrong, np.nan, X)[good], R).V, made.basis)
    models = [quietly(lambda c=c: OutlierRobustPCA(R, cells=c).fit(X)) for c in (True, False)]
    errors = [subspace_error(m.components_.T, made.basis) / told for m in models]
    macro = quietly(lambda: macropca(X, R))
    errors.append(subspace_error(np.asarray(macro.components).T, made.basis) / told)
    flagged = (models[0].cell_outliers_.toarray() != 0) & good[:, None]
    right = np.count_nonzero(flagged & wrong)
    return (
        *errors,
        right / max(np.count_nonzero(flagged), 1),
        right / max(np.count_nonzero(wrong), 1),
    )


def with_bad_cells(
    made: Any, unit: str, share: float, rng: np.random.Generator
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Rows with that share of the cells of good ones off by six deviations, and which these are."""
    good = ~made.outliers
    wrong = (rng.random(made.X.shape) < share) & good[:, None]
    size = np.std(made.X[good], axis=0) if unit == "column" else 0.1
    return made.X + np.where(wrong, 6 * size * rng.choice([-1, 1], made.X.shape), 0.0), wrong


def impute(seeds: int) -> Iterator[Line]:
    # Their imports are slow, and scikit-learn wants to be asked for the first.
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer

    for share in (0.05, 0.2, 0.4):
        errors, times = [], []
        for seed in range(seeds):
            made = planted("e", 0.1, 0.1, seed)
            X = at_random(made.X, share, np.random.default_rng(seed))
            good = ~made.outliers
            told = oracle(X[good], R)
            ways: list[Callable[[], Array]] = [
                lambda X=X: OutlierRobustPCA(R).fit(X).impute(X),
                lambda X=X: imputed(as_source(X), oracle(X, R))[0],
                lambda X=X: KNNImputer().fit_transform(X),
                lambda X=X: IterativeImputer(random_state=0).fit_transform(X),
            ]
            tables = [imputed(as_source(X), told)[0]]
            spent = []
            for way in ways:
                start = time.perf_counter()
                tables.append(quietly(way))
                spent.append(time.perf_counter() - start)
            where = np.isnan(X) & good[:, None]
            errors.append([np.sqrt(np.mean(np.square((T - made.X)[where]))) for T in tables])
            times.append(spent)
        best, ours, em, knn, iterative = np.median(errors, axis=0)
        t = np.median(times, axis=0)
        beside = f"EM-PCA {em / best:.3g} in {t[1] / t[0]:.2g} of our time, "
        beside += f"KNN {knn / best:.3g} in {t[2] / t[0]:.2g}, "
        beside += f"iterative {iterative / best:.3g} in {t[3] / t[0]:.2g}"
        yield line("impute", "e, 10% bad", f"{share:.0%}", ours / best, 1.05, beside)
    for unit in ("noise", "column"):
        many = [impute_beside_bad_cells(unit, seed) for seed in range(seeds)]
        ours, plain = np.median(many, axis=0)
        what = f"10%, 5% bad by 6 sd of the {unit}"
        yield line("impute", "e, 10% bad", what, ours, 1.05, f"cells=False {plain:.3g}")


def impute_beside_bad_cells(unit: str, seed: int) -> tuple[float, float]:
    """Error of the filled cells of good rows over the oracle's, with cells=True and without."""
    made, rng = planted("e", 0.1, 0.1, seed), np.random.default_rng(seed)
    good = ~made.outliers
    dirty, wrong = with_bad_cells(made, unit, 0.05, rng)
    X = at_random(dirty, 0.1, rng)
    clean = np.where(wrong, np.nan, X)
    tables = [imputed(as_source(clean), oracle(clean[good], R))[0]]
    for cells in (True, False):
        model = quietly(lambda c=cells: OutlierRobustPCA(R, cells=c).fit(X))
        tables.append(model.impute(X))
    where = np.isnan(X) & good[:, None]
    best, ours, plain = (np.sqrt(np.mean(np.square((T - made.X)[where]))) for T in tables)
    return float(ours / best), float(plain / best)


REAL = (
    ("octane", 1, False),
    ("octane", 3, True),
    ("philips", 5, True),
    ("mortality_fr", 2, False),
    ("mortality_fr", 3, True),
    ("pbmc_myeloid_nk", 20, False),
    ("pbmc_myeloid_nk", 20, True),
)


def real(seeds: int) -> Iterator[Line]:
    for name, k, standard in REAL:
        path = DATA / f"{name}.npz"
        if not path.exists():
            print(f"{path} is not there: {name} is left out")
            continue
        X = np.load(path)["X"].astype(float)
        X = StandardScaler().fit_transform(X) if standard else X
        full = quietly(lambda X=X, k=k: OutlierRobustPCA(k).fit(X)).predict(X)
        changed = []
        for seed in range(seeds):
            Z = at_random(X, 0.1, np.random.default_rng(seed))
            model = quietly(lambda Z=Z, k=k: OutlierRobustPCA(k).fit(Z))
            changed.append(float(np.mean(model.predict(Z) != full)))
        flagged = f"{np.count_nonzero(full < 0)} of {len(X)} flagged in the full table"
        data = f"{name}, {'standard' if standard else 'raw'}, k = {k}"
        yield line("real", data, "10%", float(np.median(changed)), 0.03, flagged)


def timing(seeds: int) -> Iterator[Line]:
    n, d = 200_000, 200
    X = make_outlier_subspace(n, d, 5, 0.05, outliers="e", noise=0.01, random_state=0).X
    Z, rng = X.copy(), np.random.default_rng(0)
    for rows in np.split(Z, 200):
        rows[rng.random(rows.shape) < 0.1] = np.nan
    tracemalloc.start()
    OutlierRobustPCA(5).fit(Z)
    more = tracemalloc.get_traced_memory()[1] / Z.nbytes
    tracemalloc.stop()
    calls = [lambda: OutlierRobustPCA(5).fit(X), lambda: OutlierRobustPCA(5).fit(Z)]
    times = interleaved(calls, 3 + 2 * (seeds > 1))
    ratio = float(np.median(times[:, 1] / times[:, 0]))
    beside = f"{np.median(times[:, 0]):.2f} s without holes"
    yield line("time", f"{n} x {d}", "10%", ratio, 8.0, beside)
    yield line("memory", f"{n} x {d}", "10%", more, 1.0, f"table of {Z.nbytes / 2**20:.0f} MB")


def overhead(seeds: int) -> Iterator[Line]:
    """What a table without holes pays for them."""
    for n, d in ((2000, 50), (10_000, 200), (200_000, 50), (200, 2000)):
        X = make_outlier_subspace(n, d, 5, 0.05, outliers="e", noise=0.01, random_state=0).X
        spent: list[float] = []

        def timed(call: Callable[..., Any], spent: list[float] = spent) -> Callable[..., Any]:
            def inside(*args: Any) -> Any:
                start = time.perf_counter()
                try:
                    return call(*args)
                finally:
                    spent[-1] += time.perf_counter() - start

            return inside

        def fit(X: Array = X, spent: list[float] = spent) -> None:
            spent.append(0.0)
            OutlierRobustPCA(5).fit(X)

        with (
            replaced(OutlierRobustPCA, "_keep_noise", timed(OutlierRobustPCA._keep_noise)),
            replaced(OutlierRobustPCA, "_warn_of_sentinels", timed(Holes._warn_of_sentinels)),
            replaced(doubts, "single_cells", timed(doubts.single_cells)),
        ):
            times = interleaved([fit], 8 + seeds)[:, 0]
        share = float(np.median(np.array(spent)[1:] / (times - np.array(spent)[1:])))
        yield line("overhead", f"{n} x {d}", "none", 1 + share, 1.02, "time over that without")


PARTS = {f.__name__: f for f in (holes, patterns, cells, impute, real, overhead)} | {"time": timing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    rows = [row for name in args.parts or PARTS for row in PARTS[name](args.seeds)]
    report("missing", rows, COLUMNS)
    print(f"\n{len(rows)} lines, {sum(not row['holds'] for row in rows)} missed")


if __name__ == "__main__":
    main()
