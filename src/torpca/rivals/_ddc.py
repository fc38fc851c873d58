"""DetectDeviatingCells: cells that do not match the correlated columns of their row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from torpca._core.problem import check_count, check_real
from torpca._missing.neighbours import predictors
from torpca._missing.one_step import one_step_locations, one_step_scales, robust_slopes
from torpca._missing.tuning import ROUNDING
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats
from torpca.rivals._gaps import check_cells

# With fewer rows neither scales nor correlations mean much.
MIN_ROWS = 10
# Standardised cells farther out are brought here, so that their squares are numbers.
FARTHEST = 1e100


@dataclass(frozen=True)
class CellOutliers:
    """Cells that deviate, the values expected in their place, and the rows with many of them."""

    cells: npt.NDArray[np.bool_] = field(repr=False)
    """Mask of the cells that deviate, (n_rows, n_features), boolean. Missing cells do not."""
    residuals: npt.NDArray[Any] = field(repr=False)
    """Standardised distances of cells from what was predicted, (n_rows, n_features); about
    Gaussian for good cells, NaN where the cell is missing."""
    imputed: npt.NDArray[Any] = field(repr=False)
    """The table with predictions in place of deviating and missing cells,
    (n_rows, n_features)."""
    rows: npt.NDArray[np.bool_] = field(repr=False)
    """Mask of the rows that deviate as a whole, (n_rows,), boolean."""
    row_scores: npt.NDArray[Any] = field(repr=False)
    """Standardised mean of F(residual^2) over the cells of each row, (n_rows,), where F is the
    distribution function of chi-square with one degree of freedom."""
    location: npt.NDArray[Any]
    """Robust location of each column, (n_features,)."""
    scale: npt.NDArray[Any]
    """Robust scale of each column, (n_features,); zero where at least half of its cells are
    equal."""


def ddc(
    X: Any,
    *,
    quantile: float = 0.99,
    min_correlation: float = 0.5,
    n_neighbours: int = 100,
) -> CellOutliers:
    """Cells that deviate from what their column and the rest of their row predict.

    Columns are standardised by a robust location and scale. A cell z_ij is predicted from the cells
    of its row that are not far out in their columns,

        zhat_ij = a_j sum_h |c_jh| b_jh z_ih / sum_h |c_jh|,

    over the columns h with a robust correlation |c_jh| of at least `min_correlation`, j itself
    among them. The b_jh are robust slopes through zero. a_j, another robust slope, undoes the
    shrinkage caused by averaging. Cells with |z_ij - zhat_ij| beyond sqrt(chi2 quantile) times the
    scale of these differences in their column deviate. A row deviates if the mean of F((z_ij -
    zhat_ij)^2) over its cells is far out, where F is the chi-square distribution function.

    Cost: O(n d^2) for rough correlations and O(n d m log n) for the final ones, with m = min(d,
    `n_neighbours`), and memory for O(d^2 + n (d + m)) numbers. Prefer it if single cells are bad in
    almost every row and columns are correlated in pairs. It does not look for a subspace: see
    `macropca`.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. NaN is a missing cell. Every row and every column needs an observed
        cell, and there must be at least 10 rows.
    quantile : float between 0 and 1
        Share of good cells, of good rows and of points in ellipses that lie within the cut-offs.
    min_correlation : float between 0 and 1
        Columns less correlated than this do not predict each other.
    n_neighbours : int
        Largest number of columns that predict another.

    Returns
    -------
    CellOutliers
        `cells`, `residuals`, `imputed`, `rows`, `row_scores`, `location` and `scale`.

    See Also
    --------
    macropca : principal subspace of a table with bad cells, bad rows and missing cells.

    Notes
    -----
    Departures from the paper. The paper first computes the correlation of Gnanadesikan and
    Kettenring for a pair of columns. Here it is the correlation of wrapped columns (Raymaekers and
    Rousseeuw 2021), one matrix product for all pairs. As in the paper, it defines an ellipse, and
    the points inside give the final correlation. Here that is measured about zero, the location of
    standardised columns. The paper does not bound the number of columns that predict another, and
    the authors' program does so only for more than 750 columns. Pairs of columns with fewer than
    ten rows in common count as uncorrelated.

    The authors' program leaves out columns with few different values or a scale of zero, and rows
    and columns in which most cells are missing. Here all stay. In a column with a scale of zero no
    cell deviates, and missing cells get its median.

    References
    ----------
    Rousseeuw, Van den Bossche: Detecting deviating data cells, Technometrics 60 (2018), section 3.

    Raymaekers, Rousseeuw: Fast robust correlation for high-dimensional data, Technometrics 63
    (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.rivals import ddc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) + 0.3 * rng.standard_normal((200, 5))
    >>> X[7, 2] = X[7, 1] + 4.0  # not unusual in its column
    >>> X[8, 3] = np.nan
    >>> found = ddc(X)
    >>> bool(found.cells[7, 2])
    True
    >>> bool(abs(found.imputed[8, 3] - X[8, :3].mean()) < 0.5)
    True
    """
    quantile = check_fraction("quantile", quantile)
    min_correlation = check_fraction("min_correlation", min_correlation)
    n_neighbours = check_count("n_neighbours", n_neighbours)
    source = as_source(X)
    rows = cells_of(source)
    found = deviating_cells(rows, quantile, min_correlation, n_neighbours)
    return CellOutliers(**{name: source.export(value) for name, value in vars(found).items()})


def check_fraction(name: str, value: Any) -> float:
    """Check that `value` is more than 0 and less than 1."""
    value = check_real(name, value, 0.0)
    if not 0.0 < value < 1.0:
        raise ValueError(
            f"{name}={value:g} must be more than 0 and less than 1. Leave {name} out for its "
            "default."
        )
    return value


def cells_of(source: RowSource) -> Floats:
    """Rows of a source (n, d), checked; NaN where a cell is missing."""
    n = source.shape[0]
    rows = np.asarray(source.take(np.arange(n)), dtype=float)
    check_cells(rows)
    check_enough_rows(n)
    return rows


def check_enough_rows(n: int) -> None:
    """Check that there are rows enough for scales and correlations."""
    if n < MIN_ROWS:
        raise ValueError(
            f"Input X has {n} rows, but at least {MIN_ROWS} are needed to know scales and "
            "correlations of columns. Give more rows."
        )


def deviating_cells(
    X: Floats, quantile: float = 0.99, min_correlation: float = 0.5, n_neighbours: int = 100
) -> CellOutliers:
    """Body of `ddc` for checked rows X (n, d), NaN where missing. Inside, columns are rows."""
    cut = float(np.sqrt(chi2.ppf(quantile, 1)))
    location, scale = standards(X.T)
    Z = standardised(X.T, location, scale)
    U = np.where(np.abs(Z) <= cut, Z, np.nan)
    weights, slopes = predictors(U, min_correlation, n_neighbours, quantile)
    expected = predictions(U, weights, slopes)
    # A column without others is not predicted by itself: its cells are measured from its location.
    alone = np.count_nonzero(weights, axis=1) == 1
    expected[alone] = 0.0
    expected *= np.where(alone, 1.0, robust_slopes(Z, expected, cut))[:, None]
    away = Z - expected
    R = (away / np.maximum(one_step_scales(away), ROUNDING)[:, None]).T
    cells = np.abs(R) > cut
    scores = row_scores(R)
    return CellOutliers(
        cells=cells,
        residuals=R,
        imputed=np.where(cells | np.isnan(R), location + scale * expected.T, X),
        rows=scores > cut,
        row_scores=scores,
        location=location,
        scale=scale,
    )


def standards(P: Floats) -> tuple[Floats, Floats]:
    """One-step location and scale (d,) of the rows of P (d, n)."""
    location = one_step_locations(P)
    with np.errstate(over="ignore"):
        away = P - location[:, None]
    return location, one_step_scales(away)


def standardised(P: Floats, location: Floats, scale: Floats) -> Floats:
    """Rows of P (d, n) about their location, in units of their scale; zeros if that is zero."""
    with np.errstate(over="ignore"):
        Z = (P - location[:, None]) / np.where(scale > 0, scale, np.inf)[:, None]
    return np.clip(Z, -FARTHEST, FARTHEST)


def predictions(U: Floats, weights: Floats, slopes: Floats) -> Floats:
    """Weighted means (d, n) of what each row of U (d, n) says about each other; zero if none."""
    seen = ~np.isnan(U)
    total = weights @ seen.astype(float)
    sums = (weights * slopes) @ np.where(seen, U, 0.0)
    expected: Floats = np.where(total > 0, sums / np.where(total > 0, total, 1.0), 0.0)
    return expected


def row_scores(R: Floats) -> Floats:
    """How far out the rows of standardised residuals R (n, d) are, (n,)."""
    shares = chi2.cdf(R**2, 1)
    there = ~np.isnan(shares)
    mean = np.sum(shares, axis=1, where=there) / np.count_nonzero(there, axis=1)
    location, scale = standards(mean[None])
    return standardised(mean[None], location, scale)[0]
