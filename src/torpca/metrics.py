"""Measures of how far a result is from the truth: subspaces, residuals, incoherence, supports.

A subspace is given by any (d, k) matrix whose columns span it. The columns need not be orthonormal
or even independent, because each function first finds an orthonormal basis of their span. Rows are
samples, so a data matrix is (n, d).

Two numerical rules hold throughout. A small sine is computed as the norm of a difference of
vectors, never as sqrt(1 - cos^2), which loses everything below 1e-8. Numbers are scaled by a power
of two, which is exact, before they are squared, so data of size 1e160 or 1e-160 is measured as
accurately as data of size 1.
"""

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "frobenius_residual",
    "incoherence",
    "principal_angles",
    "spectral_residual",
    "subspace_error",
    "support_precision",
    "support_recall",
]

Array = NDArray[np.float64]


def subspace_error(V: ArrayLike, V_true: ArrayLike) -> float:
    """Sine of the largest principal angle from span(V_true) to span(V).

    This is ``||(I - V V') V_true||_2`` for orthonormal `V` and `V_true`. It is 0 if span(V)
    contains span(V_true), and 1 if some direction of span(V_true) is orthogonal to all of span(V).
    It is not symmetric: extra directions in `V` cost nothing, and a missing one costs 1.

    Parameters
    ----------
    V : array-like of shape (d, k)
        Columns spanning the subspace found. For a scikit-learn estimator, ``components_.T``.
    V_true : array-like of shape (d, r)
        Columns spanning the true subspace. Every subspace contains the zero subspace.

    Returns
    -------
    float
        The sine, in [0, 1]. It is exactly 1.0 if span(V) has a smaller dimension than
        span(V_true).

    See Also
    --------
    principal_angles : All angles between the two subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> tiny = 1e-14
    >>> V_true = [[1.0], [0.0], [0.0]]
    >>> V = [[np.cos(tiny)], [np.sin(tiny)], [0.0]]
    >>> f"{subspace_error(V, V_true):.3e}"
    '1.000e-14'
    >>> subspace_error(np.eye(3)[:, :1], np.eye(3)[:, :2])
    1.0
    """
    Q, Q_true = _orthonormal_pair(V, V_true)
    if Q.shape[1] < Q_true.shape[1]:
        return 1.0
    return min(_spectral_norm(_outside(Q_true, Q)), 1.0)


def principal_angles(V: ArrayLike, V_true: ArrayLike) -> Array:
    """Principal angles between span(V) and span(V_true), in radians, ascending.

    The sine of the j-th angle is the j-th smallest singular value of ``(I - V V') V_true``, and its
    cosine is the j-th largest singular value of ``V' V_true`` (for orthonormal `V` and `V_true`;
    the smaller space is projected).

    Parameters
    ----------
    V : array-like of shape (d, k)
        Columns spanning one subspace.
    V_true : array-like of shape (d, r)
        Columns spanning the other.

    Returns
    -------
    ndarray of shape (min(k, r),)
        Angles in [0, pi/2]. Here k and r are the dimensions of the two spans, which are smaller
        than the numbers of columns if these are dependent.

    See Also
    --------
    subspace_error : The sine of the largest angle, one-sided.

    Examples
    --------
    >>> import numpy as np
    >>> V = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> np.degrees(principal_angles(V, np.eye(3)[:, :2])).round(6)
    array([ 0., 45.])
    """
    small, large = sorted(_orthonormal_pair(V, V_true), key=lambda Q: Q.shape[1])
    if small.shape[1] == 0:
        return np.zeros(0)
    cosines = np.linalg.svd(small.T @ large, compute_uv=False)
    sines = np.linalg.svd(_outside(small, large), compute_uv=False)[::-1]
    # arctan2 takes each angle from whichever of the two is accurate there: the sine near 0, the
    # cosine near pi/2. (scipy.linalg.subspace_angles 1.17 chooses with a mask in the wrong order,
    # and so loses half the digits of a tiny angle whenever another one exceeds 45 degrees.)
    angles: Array = np.arctan2(sines, cosines)
    return angles


def frobenius_residual(V: ArrayLike, L: ArrayLike, *, relative: bool = False) -> float:
    """Frobenius norm of the part of the rows of `L` outside span(V).

    This is ``||L - L V V'||_F`` for orthonormal `V`, the quantity bounded by Theorems 1 and 2 of
    the paper (which has samples as columns: ``||(I - V V') L||_F``).

    Parameters
    ----------
    V : array-like of shape (d, k)
        Columns spanning the subspace.
    L : array-like of shape (n, d)
        Rows to measure.
    relative : bool, default=False
        Whether to divide by ``||L||_F``. The residual of a zero `L` is 0 either way.

    Returns
    -------
    float
        The norm.

    Examples
    --------
    >>> frobenius_residual([[1.0], [0.0]], [[5.0, 3.0], [2.0, 4.0]])
    5.0
    """
    outside, L, exponent = _rows_outside(V, L)
    return _restore(_frobenius_norm(outside), _frobenius_norm(L), exponent, relative)


def spectral_residual(V: ArrayLike, L: ArrayLike, *, relative: bool = False) -> float:
    """Operator norm of the part of the rows of `L` outside span(V).

    This is ``||L - L V V'||_2`` for orthonormal `V`, the quantity bounded by Theorem 3 of the
    paper.

    Parameters
    ----------
    V : array-like of shape (d, k)
        Columns spanning the subspace.
    L : array-like of shape (n, d)
        Rows to measure.
    relative : bool, default=False
        Whether to divide by ``||L||_2``. The residual of a zero `L` is 0 either way.

    Returns
    -------
    float
        The norm.

    Examples
    --------
    >>> spectral_residual([[1.0], [0.0], [0.0]], [[5.0, 3.0, 0.0], [2.0, 0.0, 4.0]])
    4.0
    """
    outside, L, exponent = _rows_outside(V, L)
    return _restore(_spectral_norm(outside), _spectral_norm(L), exponent, relative)


def incoherence(L: ArrayLike, rank: int | None = None) -> float:
    """Incoherence mu of the rows of `L`: how much a single row can determine a direction.

    With U (n, r) the left singular vectors of `L`, ``mu = sqrt(n / r) * max_i ||e_i' U||``, so
    the largest leverage of a row is ``mu^2 r / n`` (Assumption 1 of the paper). It lies between 1
    (all rows have the same leverage) and ``sqrt(n / r)`` (one row has a direction to itself).

    Parameters
    ----------
    L : array-like of shape (n, d)
        Rows. n counts all of them, including zero rows: the paper has a zero row for each bad row.
    rank : int, optional
        Number of singular vectors to use, at most the numerical rank of `L`. By default it is
        the numerical rank: the number of singular values above ``max(n, d) * eps`` times the
        largest.

    Returns
    -------
    float
        mu.

    Examples
    --------
    >>> import numpy as np
    >>> round(incoherence(np.vstack([np.eye(2), np.eye(2)])), 12)
    1.0
    >>> round(incoherence([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), 12)
    2.0
    """
    L, _ = _scaled(_as_matrix(L, "L", "(n, d), one sample per row"))
    U, rank_found = _left_singular(L)
    if rank_found == 0:
        raise ValueError(
            f"L of shape {L.shape} is zero or empty, but incoherence needs a nonzero row. Check "
            "that not all good rows were masked."
        )
    r = rank_found if rank is None else _check_rank(rank, rank_found, L.shape)
    leverage = np.linalg.norm(U[:, :r], axis=1)
    return float(np.sqrt(len(L) / r) * leverage.max())


def support_precision(found: ArrayLike, true: ArrayLike) -> float:
    """Share of the rows called outliers that are outliers.

    Parameters
    ----------
    found : array-like of bool of shape (n,)
        Rows called outliers.
    true : array-like of bool of shape (n,)
        Rows that are outliers.

    Returns
    -------
    float
        Precision in [0, 1]; 1.0 if no row was called an outlier.

    Examples
    --------
    >>> support_precision([True, True, False, False], [True, False, True, False])
    0.5
    """
    found, true = _as_masks(found, true)
    return _share(found & true, found)


def support_recall(found: ArrayLike, true: ArrayLike) -> float:
    """Share of the outliers that were called outliers.

    Parameters
    ----------
    found : array-like of bool of shape (n,)
        Rows called outliers.
    true : array-like of bool of shape (n,)
        Rows that are outliers.

    Returns
    -------
    float
        Recall in [0, 1]; 1.0 if there are no outliers.

    Examples
    --------
    >>> support_recall([True, False, False, False], [True, False, True, False])
    0.5
    """
    found, true = _as_masks(found, true)
    return _share(found & true, true)


def _orthonormal_pair(V: ArrayLike, V_true: ArrayLike) -> tuple[Array, Array]:
    """Orthonormal bases of span(V) and span(V_true), checked to live in the same space."""
    V = _as_matrix(V, "V", "(d, k), one basis vector per column")
    V_true = _as_matrix(V_true, "V_true", "(d, r), one basis vector per column")
    if V.shape[0] != V_true.shape[0]:
        raise ValueError(
            f"V has shape {V.shape} and V_true has shape {V_true.shape}, but both need the same "
            "number of rows d: basis vectors are columns. For components stored as rows, as in "
            "scikit-learn, pass components_.T."
        )
    return _orthonormal(V), _orthonormal(V_true)


def _rows_outside(V: ArrayLike, L: ArrayLike) -> tuple[Array, Array, int]:
    """``(L - L V V', L, exponent)``, both matrices divided by 2**exponent."""
    V = _as_matrix(V, "V", "(d, k), one basis vector per column")
    L = _as_matrix(L, "L", "(n, d), one sample per row")
    if V.shape[0] != L.shape[1]:
        raise ValueError(
            f"V has shape {V.shape} and L has shape {L.shape}, but V needs one row for each of "
            f"the {L.shape[1]} columns of L: samples are rows, basis vectors are columns. "
            "For components stored as rows, as in scikit-learn, pass components_.T."
        )
    L, exponent = _scaled(L)
    return _outside(L.T, _orthonormal(V)).T, L, exponent


def _orthonormal(V: Array) -> Array:
    """Orthonormal basis of span(V), of shape (d, numerical rank)."""
    # Each column is scaled on its own, so that a short basis vector is not taken for a dependent
    # one: only its direction matters.
    _, exponents = np.frexp(np.abs(V).max(axis=0, initial=0.0))
    U, rank = _left_singular(np.ldexp(V, -exponents))
    return U[:, :rank]


def _left_singular(A: Array) -> tuple[Array, int]:
    """Left singular vectors of A and its numerical rank."""
    if A.size == 0:
        return np.zeros((A.shape[0], 0)), 0
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return U, int(np.count_nonzero(s > s[0] * max(A.shape) * np.finfo(s.dtype).eps))


def _outside(A: Array, Q: Array) -> Array:
    """Columns of A less their projection on the orthonormal columns of Q."""
    A = A - Q @ (Q.T @ A)
    # Once more: most of the rounding error of the first time lies in span(Q).
    return A - Q @ (Q.T @ A)


def _scaled(A: Array) -> tuple[Array, int]:
    """``(A / 2**exponent, exponent)`` with the largest entry in [1/2, 1); exact."""
    _, exponent = np.frexp(np.abs(A).max(initial=0.0))
    return np.ldexp(A, -exponent), int(exponent)


def _frobenius_norm(A: Array) -> float:
    """Frobenius norm whose squares neither overflow nor vanish."""
    A, exponent = _scaled(A)
    return float(np.ldexp(np.linalg.norm(A), exponent))


def _spectral_norm(A: Array) -> float:
    """Operator norm; LAPACK's SVD does its own scaling."""
    return float(np.linalg.norm(A, 2)) if A.size else 0.0


def _restore(norm: float, norm_L: float, exponent: int, relative: bool) -> float:
    """Norm of a residual of rows divided by 2**exponent, as it was or relative to the rows'."""
    if relative:
        return norm / norm_L if norm_L > 0 else 0.0
    # inf is the right answer where the norm itself is out of range.
    with np.errstate(over="ignore"):
        return float(np.ldexp(norm, exponent))


def _share(part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> float:
    """Number of rows in part over number in whole; 1.0 for an empty whole."""
    size = np.count_nonzero(whole)
    return float(np.count_nonzero(part) / size) if size else 1.0


def _as_matrix(A: ArrayLike, name: str, meaning: str) -> Array:
    """Finite real float64 matrix, or a ValueError that says what was given."""
    given = np.asarray(A)
    if given.ndim != 2:
        raise ValueError(
            f"{name} must be a 2-dimensional array of shape {meaning}; got {type(A).__name__} "
            f"of {given.ndim} dimensions. Reshape a single vector, and make a sparse matrix dense."
        )
    if np.iscomplexobj(given):
        raise ValueError(f"{name} must be real; got dtype {given.dtype}. Pass its real part.")
    try:
        matrix = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numeric; got dtype {given.dtype}. Convert its entries to float."
        ) from error
    if not np.isfinite(matrix).all():
        raise ValueError(
            f"{name} must be finite; got NaN or infinity. Drop or fill those entries first."
        )
    return matrix


def _as_masks(found: ArrayLike, true: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two boolean masks of one length, or a ValueError that says what was given."""
    masks = np.asarray(found), np.asarray(true)
    for name, mask in zip(("found", "true"), masks, strict=True):
        if mask.dtype != np.bool_ or mask.ndim != 1:
            raise ValueError(
                f"{name} must be a boolean mask of shape (n,), True at outliers; got dtype "
                f"{mask.dtype} and shape {mask.shape}. For labels of +1 and -1 pass labels == -1."
            )
    if masks[0].shape != masks[1].shape:
        raise ValueError(
            f"found has {masks[0].size} rows and true has {masks[1].size}, but both must be masks "
            "of the same n rows. Give both for all rows of X, not only for the kept ones."
        )
    return masks


def _check_rank(rank: int, rank_found: int, shape: tuple[int, ...]) -> int:
    """The rank asked for, when L has that many well-defined singular vectors."""
    if isinstance(rank, bool) or not isinstance(rank, Integral) or not 1 <= rank <= rank_found:
        raise ValueError(
            f"rank must be an integer from 1 to {rank_found}, the numerical rank of L with shape "
            f"{shape}; got {rank!r}. Leave rank out to use all {rank_found}."
        )
    return int(rank)
