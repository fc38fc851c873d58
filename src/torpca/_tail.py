"""How rare a row would be among good ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, fdtri
from sklearn.utils.validation import check_is_fitted

from torpca._estimators.robust import OutlierRobustPCA
from torpca._robust.limits import level_of
from torpca._sources.base import Floats


def tail_probability(model: OutlierRobustPCA, X: Any, *, reference: Any = None) -> Floats:
    """Return the share of good rows that are at least as far out as each row.

    This is a p-value for "this row is good" that combines both distances. It is not the probability
    that the row is bad, which depends on how many bad rows there are and how far out they are. A
    model of the good rows does not know that. Ten in a thousand good rows are below 0.01.

    Parameters
    ----------
    model : OutlierRobustPCA
        A fitted model, or one loaded from a file.
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        Rows to judge.
    reference : array-like of shape (n_reference, n_features), optional
        Rows that are known to be good and did not take part in the fit. With them, nothing is
        assumed about the distribution of good rows: the probability of a row is its rank among
        them. Without them, good rows are assumed to be Gaussian.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between 0 and 1; NaN for rows with too few cells. Without `reference`, exactly the rows
        beyond a limit have less than 1 - .995^2, or less than .01 if there is only one distance
        (for `limit=0.99`). With `reference`, no row has less than 1 / (n_reference + 1).

    See Also
    --------
    OutlierRobustPCA.predict : labels, from the same limits.

    Notes
    -----
    The squared score distance of a new row is a multiple of an F variable, and the squared
    orthogonal distance is approximately a multiple of a chi-squared variable (Box 1954). The two
    are independent. Each multiple is chosen so that the model's limit has its nominal probability.
    That is the share of as many rows of the fit as new ones, so after a fit of few rows new good
    rows are below a given level more often than it says, and rows of the fit less often.
    If p is the smaller of the two tail probabilities, the result is 1 - (1 - p)^2. Far beyond the
    limits, say below 1e-4, it follows from the Gaussian model and should not be taken literally.

    With `reference` the result is (1 + number of reference rows that are as far out) /
    (1 + n_reference). Good rows have values below p with probability at most p, whatever their
    distribution (Vovk, Gammerman and Shafer 2005, conformal prediction).

    Examples
    --------
    >>> import numpy as np
    >>> from torpca import OutlierRobustPCA, tail_probability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 8)) * [9, 6, 1, 1, 1, 1, 1, 1]
    >>> model = OutlierRobustPCA(2).fit(X)
    >>> later = rng.standard_normal((1000, 8)) * [9, 6, 1, 1, 1, 1, 1, 1]
    >>> p = tail_probability(model, later)
    >>> [bool(abs(np.mean(p < level) - level) < 0.03) for level in (0.05, 0.25, 0.5)]
    [True, True, True]
    >>> later[0, 5] += 8
    >>> bool(tail_probability(model, later)[0] < 1e-6)
    True
    """
    if not isinstance(model, OutlierRobustPCA):
        raise TypeError(
            f"tail_probability needs an OutlierRobustPCA, but got {type(model).__name__}. Limits "
            "of other estimators are largest distances and have no probability."
        )
    check_is_fitted(model)
    p = gaussian_tail(model, *distances(model, X))
    if reference is None:
        return p
    known = gaussian_tail(model, *distances(model, reference))
    known = np.sort(known[~np.isnan(known)])
    if len(known) == 0:
        raise ValueError(
            "reference has no row that can be judged. Give a hundred or more good rows that did "
            "not take part in the fit."
        )
    rank = (1.0 + np.searchsorted(known, p, side="right")) / (1.0 + len(known))
    return np.where(np.isnan(p), np.nan, rank)


def distances(model: OutlierRobustPCA, X: Any) -> tuple[Floats, Floats]:
    """Score and orthogonal distances (n,) in float64, whatever X is."""
    return model._distances(*model._check(X))


def gaussian_tail(model: OutlierRobustPCA, score: Floats, orthogonal: Floats) -> Floats:
    """Share of Gaussian good rows that are as far out, (n,), given both distances (n,)."""
    d, k = model.subspace_.shape
    beyond = d > k
    fitted, share = model.subspace_, 1.0 - model.limit
    out, off = fitted.limits.relative(score, orthogonal)
    with np.errstate(over="ignore"):
        p_off = chi_squared_tail(np.square(off), fitted.freedom, level_of(k > 0, share))
        p_out = score_tail(np.square(out), k, fitted.n_good, level_of(beyond, share))
    if k == 0 or not beyond:
        return p_off if k == 0 else p_out
    p = np.minimum(p_out, p_off)
    return p * (2.0 - p)


def chi_squared_tail(squares: Floats, freedom: float, level: float) -> Floats:
    """Tail (n,) of squared distances, in units of the squared limit that has this level."""
    return np.asarray(chdtrc(freedom, squares * chdtri(freedom, level)))


def score_tail(squares: Floats, k: int, n: float, level: float) -> Floats:
    """Tail (n,) of squared score distances in units of the squared limit; see `hotelling`."""
    if k == 0 or not k + 1 < n < np.inf:
        return chi_squared_tail(squares, max(k, 1), level)
    return np.asarray(fdtrc(k, n - k, squares * fdtri(k, n - k, 1 - level)))
