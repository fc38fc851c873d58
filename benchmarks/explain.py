"""Which feature of a row is faulty: reconstruction beside contribution plots and Shapley values.

Run from the repository root:

    python -m benchmarks.explain                # 200 instances of each case, a few minutes
    python -m benchmarks.explain --instances 20

Each instance is a table of 300 rows with a faulty sensor or two in 20 of them, and the first of
these rows that is flagged is explained. A method is right if the faulty features, and no others,
come first. At least .95 of the instances must be.

ours           `OutlierRobustPCA.explain`
contributions  the largest parts of the distance that is farther beyond its limit
Shapley        features by their Shapley value for that distance in units of its limit, by 50
               random orders in which the features of a good row become those of the row
               (permutation SHAP)
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks._report import report
from torpca import OutlierRobustPCA

Array = npt.NDArray[np.float64]

N, BAD, ORDERS, BAR = 300, 20, 50, 0.95
# A fault is so many standard deviations of what the other sensors leave open, at least and most.
FAULT = (8.0, 40.0)


class Table(NamedTuple):
    """Rows, of which some have faulty features."""

    X: Array
    faulty: dict[int, frozenset[int]]
    rank: int
    scale: bool


def motor(rng: np.random.Generator, scale: bool) -> Table:
    """Flow, temperature and speed follow the load of a motor; the speed falls to zero."""
    load = rng.standard_normal(N)
    X = np.column_stack([50 + 8 * load, 80 + 5 * load, 1450 + 30 * load])
    X += rng.standard_normal((N, 3)) * [0.5, 0.5, 2]
    rows = rng.choice(N, BAD // 2, replace=False)
    X[rows, 2] = 0.0
    return Table(X, {int(row): frozenset({2}) for row in rows}, 1, scale)


def sensors(
    rng: np.random.Generator,
    d: int,
    rank: int,
    faults: int,
    *,
    groups: bool = False,
    units: bool = False,
    scale: bool = False,
) -> Table:
    """Sensors that follow common factors, all of them or each group its own one."""
    loadings = rng.standard_normal((rank, d))
    if groups:
        own = np.arange(d) * rank // d
        loadings = np.zeros((rank, d))
        loadings[own, np.arange(d)] = rng.uniform(0.7, 1.3, d) * rng.choice([-1, 1], d)
    noise = 0.2
    X = rng.standard_normal((N, rank)) @ loadings + noise * rng.standard_normal((N, d))
    precision = np.linalg.inv(loadings.T @ loadings + noise**2 * np.eye(d))
    spread = 1 / np.sqrt(np.diag(precision))  # of each sensor, given the others
    rows = rng.choice(N, BAD, replace=False)
    faulty = {}
    for row in rows.tolist():
        which = rng.choice(d, faults, replace=False)
        faulty[row] = frozenset(which.tolist())
        X[row, which] += rng.choice([-1, 1], faults) * rng.uniform(*FAULT, faults) * spread[which]
    unit = 10 ** rng.uniform(-2, 2, d) if units else np.ones(d)
    X = X * unit + unit * rng.uniform(-5, 5, d)
    return Table(X, faulty, rank, scale)


CASES: dict[str, Callable[[np.random.Generator], Table]] = {
    "motor, speed 0": lambda rng: motor(rng, scale=False),
    "motor, speed 0, scaled": lambda rng: motor(rng, scale=True),
    "1 of 10 sensors, 2 factors": lambda rng: sensors(rng, 10, 2, 1),
    "2 of 12 sensors, 2 factors": lambda rng: sensors(rng, 12, 2, 2),
    "1 of 20 sensors in 4 groups": lambda rng: sensors(rng, 20, 4, 1, groups=True),
    "2 of 20 sensors in 4 groups": lambda rng: sensors(rng, 20, 4, 2, groups=True),
    "1 of 10 in other units": lambda rng: sensors(rng, 10, 2, 1, units=True),
    "1 of 10 in other units, scaled": lambda rng: sensors(rng, 10, 2, 1, units=True, scale=True),
    "2 of 12 in other units, scaled": lambda rng: sensors(rng, 12, 2, 2, units=True, scale=True),
}


def by_reconstruction(model: Any, X: Array, row: int) -> list[int]:
    """Features that explain a row, the most important first."""
    why = model.explain(X)
    return [int(name[1:]) for name in why["feature"][why["row"] == row]]


def by_contributions(model: Any, X: Array, row: int) -> list[int]:
    """Features by their part of the distance that is farther beyond its limit."""
    parts, distances = model.contributions(X[[row]]), model.distances(X[[row]])
    far = [d[0] / model.cutoffs_[name] for d, name in zip(distances, parts._fields, strict=True)]
    return np.argsort(-parts[int(np.argmax(far))][0], kind="stable").tolist()


def by_shapley(model: Any, X: Array, row: int, rng: np.random.Generator) -> list[int]:
    """Features by their Shapley values, from random orders and random good rows."""
    good, d = np.flatnonzero(model.predict(X) > 0), X.shape[1]
    orders = np.argsort(rng.random((ORDERS, d)), axis=1)
    turned = np.arange(d + 1)[None, :, None] > np.argsort(orders, axis=1)[:, None, :]
    rows = np.where(turned, X[row], X[rng.choice(good, ORDERS)][:, None, :])
    far = -model.score_samples(rows.reshape(-1, d)).reshape(ORDERS, d + 1)
    values = np.zeros((ORDERS, d))
    np.put_along_axis(values, orders, np.diff(far, axis=1), axis=1)
    return np.argsort(-values.mean(axis=0), kind="stable").tolist()


def line(name: str, instances: int) -> dict[str, Any]:
    """Shares of the instances of a case in which each method is right."""
    right = np.zeros((instances, 3), dtype=bool)
    for i in range(instances):
        rng = np.random.default_rng([list(CASES).index(name), i])
        X, faulty, rank, scale = CASES[name](rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column with zeros, for instance
            model = OutlierRobustPCA(rank, scale=scale, random_state=0).fit(X)
        flagged = model.predict(X) < 0
        row = next(row for row in faulty if flagged[row])
        orders = (
            by_reconstruction(model, X, row),
            by_contributions(model, X, row),
            by_shapley(model, X, row, rng),
        )
        right[i] = [frozenset(order[: len(faulty[row])]) == faulty[row] for order in orders]
    ours, contributions, shapley = (float(share) for share in right.mean(axis=0))
    return {
        "case": name,
        "ours": ours,
        "at least": BAR,
        "contributions": contributions,
        "Shapley": shapley,
        "holds": ours >= BAR,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=200)
    args = parser.parse_args()
    rows = [line(name, args.instances) for name in CASES]
    report("explain", rows, ("case", "ours", "at least", "contributions", "Shapley", "holds"))
    print(f"\n{len(rows)} lines, {sum(not row['holds'] for row in rows)} missed")


if __name__ == "__main__":
    main()
