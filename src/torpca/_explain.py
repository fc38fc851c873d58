"""Why rows are flagged: the few features that are off, with what was to be expected of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from torpca._estimators.limits import FittedLimits
from torpca._reconstruct import RowLaw
from torpca._shares import parts_of
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask, to_numpy

# Standard deviations around what is expected of a good row: 99 in 100 are within.
USUAL = 2.576
# Share of Gaussian good rows that have a feature too far from what the others predict.
SELDOM = 1e-3
# Numbers worked on at a time.
AT_A_TIME = 2**21


@dataclass(frozen=True)
class Explanation:
    """The features that make rows unusual, p for each of m rows, the most important first.

    Of the features of a row, the first `count` are its explanation.
    """

    count: npt.NDArray[np.intp]
    """How many features it takes, (m,); p where even p do not make the row ordinary."""
    mended: npt.NDArray[np.bool_]
    """Whether the row is ordinary with these features replaced, or at least its features agree,
    (m,)."""
    in_line: npt.NDArray[np.bool_]
    """Rows (m,) that are far out though their features agree: `expected`, `low` and `high` are
    those of all good rows then, not what the row's other features predict."""
    features: npt.NDArray[np.intp]
    """Numbers of the features, (m, p)."""
    values: Floats
    expected: Floats
    low: Floats
    high: Floats
    shares: Floats
    """Of the squared distance of the row, by which a feature shortens it, (m, p)."""

    @classmethod
    def empty(cls, m: int, p: int) -> Explanation:
        """Room for m rows."""
        none = [np.full((m, p), np.nan) for _ in range(5)]
        count, features = np.zeros(m, dtype=np.intp), np.zeros((m, p), dtype=np.intp)
        return cls(count, np.zeros(m, dtype=bool), np.zeros(m, dtype=bool), features, *none)

    def rows(self) -> Iterator[tuple[list[int], list[float], list[float], list[float]]]:
        """Features, shares, values and expected values of each row."""
        for i, count in enumerate(self.count.tolist()):
            columns = (self.features, self.shares, self.values, self.expected)
            features, shares, values, expected = (c[i, :count].tolist() for c in columns)
            yield features, shares, values, expected

    def keep(
        self,
        rows: npt.NDArray[np.intp],
        cells: npt.NDArray[np.intp],
        Z: Floats,
        features: npt.NDArray[np.intp],
        expected: Floats,
        spreads: Floats,
        shares: Floats,
    ) -> None:
        """What explains some `rows`, the largest share first: `features` (m, s) of `cells`."""
        order = np.argsort(-shares, axis=1, kind="stable")
        at = np.ix_(rows, np.arange(features.shape[1]))
        values = np.take_along_axis(Z, features, axis=1)
        # A zero is often one only up to rounding, and would be written as 1.11e-16.
        expected = np.where(np.abs(expected) < 1e-14 * np.abs(values), 0.0, expected)
        low, high = expected - USUAL * spreads, expected + USUAL * spreads
        self.features[at] = np.take_along_axis(cells[features], order, axis=1)
        for column, found in (
            (self.values, values),
            (self.expected, expected),
            (self.low, low),
            (self.high, high),
            (self.shares, shares),
        ):
            column[at] = np.take_along_axis(found, order, axis=1)


def explanation(model: Any, X: Floats, top: int) -> Explanation:
    """Why rows X (m, d) are as far out as they are; NaN is a cell that is missing.

    A row is explained by the features whose replacement by what the others predict makes it
    ordinary, which is within the limits of the fitted `model`; by the first `top`, if more are
    needed. If that takes most features, or more than `top`, it is explained by those without which
    the others agree, as a fault in a row that is far out by itself. A row whose features all agree
    is explained by those that are far from their means.
    """
    law = RowLaw.of(model.subspace_.completion())
    m, d = X.shape
    made = Explanation.empty(m, min(top, d))
    there = ~np.isnan(X)
    for rows in _alike(there):
        cells = np.flatnonzero(there[rows[0]])
        some = law if len(cells) == d else law.among(cells)
        step = max(1, AT_A_TIME // ((top + 3) * d))
        for i in range(0, len(rows), step):
            _explain_rows(model, some, cells, X, rows[i : i + step], made)
    return made


def far_off(model: Any) -> float:
    """Standard deviations from its prediction beyond which a feature is off.

    Whatever the distances of its row: of many features, one can be off and add little to them. By
    Student's law, as the noise of a feature is known from the rows of the fit.
    """
    d, k = model.subspace_.shape
    freedom = max(model.n_samples_ - k - 1, 1)
    return float(-stdtrit(freedom, SELDOM / (2 * d)))


def unusual(model: Any, source: RowSource) -> Mask:
    """Rows (n,) of a source that are beyond no limit perhaps, but have a feature that is off."""
    law, completion = RowLaw.of(model.subspace_.completion()), model.subspace_.completion()
    limit, found = far_off(model), np.zeros(source.shape[0], dtype=bool)
    for _, rows, block in source.blocks():
        X = np.asarray(to_numpy(block), dtype=np.float64)
        missing = np.isnan(X)
        if missing.any():  # what is not there is as it should be
            X = np.where(missing, completion.in_unit(np, completion.fitted(np, X).values), X)
        with np.errstate(over="ignore"):
            found[rows] = law.largest(X) > limit
    return found


def _alike(there: Mask) -> list[npt.NDArray[np.intp]]:
    """Numbers of the rows that have the same cells, of a mask (m, d) of those that are there."""
    if there.all():
        return [np.arange(len(there))] if len(there) else []
    _, which = np.unique(np.packbits(there, axis=1), axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which.ravel()[order])) + 1)


def _explain_rows(
    model: Any,
    law: RowLaw,
    cells: npt.NDArray[np.intp],
    X: Floats,
    rows: npt.NDArray[np.intp],
    made: Explanation,
) -> None:
    """Explain some `rows` of X (m, d), which have the same `cells`, by the `law` of these."""
    if len(cells) == 0:
        made.count[rows] = 0
        return
    Z = X[np.ix_(rows, cells)]
    judge = Judge(model, X[rows], cells)
    top = min(made.features.shape[1], max(len(cells) - 1, 1))  # given others, of which one is left
    few, count, mended = few_that_mend(judge, law, Z, top)
    beyond = judge.beyond(Z)
    # Of a row with most features replaced, too few are left to say what the others should be.
    hard = ~mended | (2 * count > len(cells))
    off = np.flatnonzero(hard & ((beyond[1] > 1) | (law.largest(Z) > far_off(model))))
    others, fewer, agree = few_that_mend(
        Judge(model, X[rows[off]], cells, agree=True), law, Z[off], top
    )
    found = agree & (2 * fewer <= len(cells))
    off = off[found]
    few[off], count[off], mended[off], hard[off] = others[found], fewer[found], True, False
    in_line = (beyond[0] > 1) & (beyond[1] <= 1) & hard
    made.count[rows], made.mended[rows], made.in_line[rows] = count, mended, in_line
    for s in range(1, few.shape[1] + 1):
        of = np.flatnonzero((count == s) & ~in_line)
        given = law.predicted(Z[of], few[of, :s])
        total = np.maximum(np.sum(given.worth, axis=1), np.finfo(np.float64).tiny)
        parts = given.worth * (given.saved / total)[:, None]
        made.keep(rows[of], cells, Z[of], few[of, :s], given.expected, given.spreads, parts)
    of = np.flatnonzero(in_line)
    far = np.square((Z[of] - law.mean) / law.deviations)
    parts = far / np.maximum(np.sum(far, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    first = np.argsort(-parts, axis=1, kind="stable")[:, : made.features.shape[1]]
    made.count[rows[of]] = first.shape[1]
    parts = np.take_along_axis(parts, first, axis=1)
    made.keep(rows[of], cells, Z[of], first, law.mean[first], law.deviations[first], parts)


class Judge:
    """Whether rows with holes are within the limits of a fitted estimator.

    If their features have only to `agree`, within that on the orthogonal distance.
    """

    def __init__(
        self, model: Any, X: Floats, cells: npt.NDArray[np.intp], *, agree: bool = False
    ) -> None:
        self.model, self.X, self.cells, self.agree = model, X, cells, agree
        self.limits: FittedLimits = model.subspace_.limits

    def beyond(self, Z: Floats, rows: Any = slice(None)) -> tuple[Floats, Floats]:
        """Distances of `rows` with the numbers Z in their cells, in units of their limits."""
        X = self.X[rows].copy()
        X[:, self.cells] = Z
        if len(self.cells) < X.shape[1]:
            X = self.model.subspace_.completion().completed(np, X)
        parts = parts_of(self.model, X)
        return self.limits.relative(parts.score, parts.orthogonal)

    def mended(
        self, law: RowLaw, Z: Floats, rows: npt.NDArray[np.intp], features: npt.NDArray[np.intp]
    ) -> Mask:
        """Which `rows` of Z are ordinary with `features` (m, s) replaced.

        Within the limits, and with no feature far from what the others predict: one with little
        noise can be, and hardly add to a distance.
        """
        new = Z[rows]
        np.put_along_axis(new, features, law.predicted(new, features).expected, axis=1)
        score, orthogonal = self.beyond(new, rows)
        within = (orthogonal <= 1) & (self.agree | (score <= 1))
        return np.asarray(within & (law.largest(new) <= far_off(self.model)))


def few_that_mend(
    judge: Judge, law: RowLaw, Z: Floats, top: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Mask]:
    """Features (m, p) to replace, how many of them (m,), and whether that makes the row ordinary.

    As few as forward selection finds, up to `top`; then without those that are not needed: the
    first ones were chosen while others were still as they are.
    """
    features = law.selected(Z, top)
    m, p = features.shape
    count, mended = np.full(m, p, dtype=np.intp), np.zeros(m, dtype=bool)
    for s in range(1, p + 1):
        rows = np.flatnonzero(~mended)
        rows = rows[judge.mended(law, Z, rows, features[rows, :s])]
        count[rows], mended[rows] = s, True
    for s in range(p, 1, -1):
        for j in range(s):
            rows = np.flatnonzero(mended & (count == s))
            others = np.delete(features[rows, :s], j, axis=1)
            less = judge.mended(law, Z, rows, others)
            features[rows[less], : s - 1], count[rows[less]] = others[less], s - 1
    return features, count, mended
