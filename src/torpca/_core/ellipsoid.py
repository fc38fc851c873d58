"""Projection of points onto an ellipsoid inside a subspace (FAST-PR, the paper's Algorithm 5).

The ellipsoid is ``{V diag(s) z : ||z|| <= b}``. With y = V'x the projection of x is V diag(s) z,

    z = (lambda I + S^2)^{-1} S y,    lambda = 0 where ||S^{-1} y|| <= b, else ||z(lambda)|| = b,

so each point costs one root of a monotone function of one number. The paper bisects; here Newton's
method is applied to 1/||z(lambda)|| - 1/b, which is increasing, concave and nearly a straight line.
A tangent of a concave function lies above it, so every step from the left lands left of the root:
the iterates climb to it and need no bracket.

The radius is absorbed into the semi-axes a = b s, which turns the equation into
||(mu I + A^2)^{-1} A y|| = 1 with mu = b^2 lambda. Inside, points are the *columns* of an array, so
that every operation runs over long contiguous rows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Numbers per block. Points are multiplied by V in large blocks of 32 MiB, because each product may
# have to wake up all threads; their coordinates are worked on in blocks of 1 MiB, near the cache.
_LARGE_BLOCK = 2**22
_SMALL_BLOCK = 2**17

# Exponents of two that keep every square below in range. Once the longest axis is scaled to one,
# an axis shorter than 2^-250 (5e-76) counts as zero, and a point farther out than 2^500 is pulled
# in to there along its own direction. Such a point has mu > 2^248, beside which A^2 <= 1 vanishes,
# so that its projection depends on the direction alone.
_SHORTEST_AXIS = -250
_FARTHEST_POINT = 500

# Newton stops after a step this small relative to the distance from the nearest pole. The next
# one would be about the square of it, which is below rounding (see `_multipliers`).
_LAST_STEP = 1e-8

# 3 to 6 steps are typical. The worst cases found need about 50: a coordinate must shrink to
# sqrt(eps) while another holds all the rest of ||z||, and each step multiplies mu by only 1.5.
_MAX_STEPS = 100

# Larger entries could overflow in V'x.
_LARGEST_ENTRY = 1e300


def project_to_ellipsoid(
    points: ArrayLike, basis: ArrayLike, scales: ArrayLike, radius: float
) -> NDArray[np.floating]:
    """Closest point of the ellipsoid ``{V diag(s) z : ||z|| <= b}`` to each row of `points`.

    A row whose projection V V'x onto the subspace lies in the ellipsoid goes to V V'x. Any other
    row goes to the boundary. If a scale is zero, the ellipsoid is flat, and the result has no
    component along that axis.

    Parameters
    ----------
    points : array-like of shape (n, d)
        One point per row, real and finite, entries at most 1e300 in size.
    basis : array-like of shape (d, k)
        V, with orthonormal columns: the directions of the axes.
    scales : array-like of shape (k,)
        s >= 0. The semi-axes are ``radius * scales``. A scale below 2^-250 (5e-76) of the largest
        counts as zero.
    radius : float
        b >= 0. Zero leaves only the origin.

    Returns
    -------
    ndarray of shape (n, d)
        The projections: float32 when `points` is float32, float64 otherwise. The computation is
        in float64 either way.

    Notes
    -----
    This is Algorithm 5 (FAST-PR) of [1]_ with three departures. Newton's method replaces bisection.
    It reaches full precision in a few steps, so there is no accuracy to choose. Points inside the
    ellipsoid are found first (lambda = 0, which bisection never reaches). Projected points are
    feasible, ``||z|| <= b``, even after rounding, because they are placed a few units in the last
    place inside the boundary.

    References
    ----------
    .. [1] Cherapanamjeri, Jain, Netrapalli: Thresholding based Efficient Outlier Robust PCA,
       arXiv:1702.05571 (COLT 2017, PMLR 65:593-628), Algorithm 5 and Theorem 8.

    Examples
    --------
    The ellipse with semi-axes 2 and 1 in the plane of the first two coordinates:

    >>> import numpy as np
    >>> V = np.eye(3)[:, :2]
    >>> project_to_ellipsoid([[5.0, 0.0, 7.0], [1.0, 0.5, 7.0]], V, [2.0, 1.0], 1.0).round(12)
    array([[2. , 0. , 0. ],
           [1. , 0.5, 0. ]])
    """
    points = _real_array(points, "points", "(n, d)", hint="For one point x pass x[None, :].")
    basis = _real_array(basis, "basis", "(d, k)", hint="For one direction v pass v[:, None].")
    scales = _real_array(scales, "scales", "(k,)", hint="Give one scale per column of basis.")
    _check_basis(basis, n_features=points.shape[1])
    _check_scales(scales, n_axes=basis.shape[1])
    _check_radius(radius)

    ellipsoid = _scaled_ellipsoid(scales.astype(np.float64), float(radius))
    V = basis[:, ellipsoid.axes].astype(np.float64)
    out = np.empty(points.shape, np.float32 if points.dtype == np.float32 else np.float64)
    for rows in _blocks(len(points), _LARGE_BLOCK // max(points.shape[1], 1)):
        X = points[rows].astype(np.float64, copy=False)
        _check_entries(X, first_row=rows.start)
        Y = V.T @ X.T
        _project_columns(Y, ellipsoid)
        np.matmul(Y.T, V.T, out=out[rows], casting="same_kind")
    return out


def project_coordinates(y: Array, scales: Array, radius: float) -> Array:
    """Coordinates of the projections of points whose coordinates along the axes are `y`.

    The body of `project_to_ellipsoid` without V and without validation.

    Parameters
    ----------
    y : ndarray of shape (n, k)
        V'x for each point x.
    scales : ndarray of shape (k,)
        s >= 0.
    radius : float
        b >= 0.

    Returns
    -------
    ndarray of shape (n, k)
        diag(s) z for each point, a new array.
    """
    ellipsoid = _scaled_ellipsoid(scales, radius)
    axes = ellipsoid.axes
    out = np.zeros(y.shape)
    for rows in _blocks(len(y), _LARGE_BLOCK // max(axes.size, 1)):
        Y = y[rows].T[axes].astype(np.float64, copy=False)
        _project_columns(Y, ellipsoid)
        out[rows].T[axes] = Y
    return out


class _Ellipsoid(NamedTuple):
    """An ellipsoid without its zero axes, with scales and radius brought near one."""

    axes: NDArray[np.intp]  # the axes that are not zero
    scales: Array  # along those axes; the largest is in [1/2, 1)
    radius: float  # in [1/2, 1)
    exponent: int  # the true semi-axes are 2**exponent * radius * scales


def _scaled_ellipsoid(scales: Array, radius: float) -> _Ellipsoid:
    """The given ellipsoid, with powers of two, which are exact, taken out of its size."""
    scaled_radius, radius_exponent = np.frexp(radius)
    _, exponent = np.frexp(scales.max(initial=0.0))
    scaled = np.ldexp(scales, -exponent)
    axes = np.flatnonzero((scaled >= 2.0**_SHORTEST_AXIS) & (radius > 0))
    return _Ellipsoid(axes, scaled[axes], float(scaled_radius), int(exponent + radius_exponent))


@np.errstate(over="ignore", under="ignore")  # the norm of a point far out; what is far below one
def _project_columns(Y: Array, ellipsoid: _Ellipsoid) -> None:
    """Project the columns of Y (k, m), coordinates along the axes that are not zero, in place."""
    k, m = Y.shape
    if k == 0:
        return
    size = min(m, max(_SMALL_BLOCK // k, 64))
    # Temporaries of this size go back to the operating system when freed, and fetching them anew
    # in every step would double the run time. So all blocks share theirs.
    work = np.empty((3, k, size))
    for columns in _blocks(m, size):
        _project_block(Y[:, columns], ellipsoid, work)


def _project_block(Y: Array, ellipsoid: _Ellipsoid, work: Array) -> None:
    """Project the columns of Y (k, m) in place, with `work` (3, k, m or more) as scratch space."""
    s, b, exponent = ellipsoid.scales[:, None], ellipsoid.radius, ellipsoid.exponent
    T, P, R = work[:, :, : Y.shape[1]]
    _scale_columns(Y, -exponent, out=T)
    np.divide(T, s, out=P)
    outside = np.flatnonzero(_column_norms(P) > b)
    if outside.size == Y.shape[1]:
        _project_to_boundary(T, b * s, (P, R))
        _restore(T, exponent, out=Y, work=R)
    elif outside.size:
        spare, P, R = work[:, :, : outside.size]
        np.take(T, outside, axis=1, out=P, mode="clip")  # the default mode goes through a copy
        _project_to_boundary(P, b * s, (spare, R))
        np.take(Y, outside, axis=1, out=spare, mode="clip")
        Y[:, outside] = _restore(P, exponent, out=spare, work=R)


def _project_to_boundary(T: Array, a: Array, work: tuple[Array, Array]) -> None:
    """Project the columns of T (k, m), all outside the semi-axes `a` (k, 1), in place."""
    a2 = a * a
    Z = np.multiply(T, a, out=T)
    Z /= np.add(a2, _multipliers(Z, a2, work), out=work[0])
    # Rounding leaves ||z|| = 1 up to a few eps. Aim just below one: then the result is feasible
    # however ||z|| is computed from it, and it is its own projection.
    Z *= (1.0 - _rounding(len(a))) / _column_norms(Z)
    Z *= a


def _multipliers(C: Array, a2: Array, work: tuple[Array, Array]) -> Array:
    """Roots mu of ||C / (a2 + mu)|| = 1, one per column of C (k, m) with ||C / a2|| > 1.

    Newton on g(mu) = 1/||z|| - 1 with z = C / (a2 + mu). Write q_i for the mean of (a2 + mu)^-i
    with weights z^2. At the root g' = q_1 and g'' = 3 (q_1^2 - q_2), and both q_1 and q_2 / q_1
    are at most 1 / (min(a2) + mu). So a step of relative size t = step / (min(a2) + mu) is
    followed by one of at most about 1.5 t^2.
    """
    mu = _lower_bound(C, a2, work[0])
    active, mu_active = np.arange(mu.size), mu
    for _ in range(_MAX_STEPS):
        R, Z2 = (buffer[:, : active.size] for buffer in work)
        np.add(a2, mu_active, out=R)
        np.divide(1.0, R, out=R)
        np.multiply(C, R, out=Z2)
        np.square(Z2, out=Z2)
        norm2 = Z2.sum(axis=0)
        norm = np.sqrt(norm2)
        Z2 *= R
        # The iterates only climb: a step backwards is rounding, at the root. That ends the search
        # too where one long axis holds nearly all of ||z||, and rounding in ||z|| hides what is
        # left to gain on the short ones.
        step = np.maximum((norm - 1.0) * norm2 / Z2.sum(axis=0), 0.0)
        left = np.flatnonzero(step > _LAST_STEP * (a2.min() + mu_active))
        mu_active = mu_active + step
        mu[active] = mu_active
        if not left.size:
            break
        if left.size <= active.size // 2:  # gathering columns pays only now
            active, mu_active, C = active[left], mu_active[left], C.take(left, axis=1)
    return mu


def _lower_bound(C: Array, a2: Array, work: Array) -> Array:
    """A number left of the root of ||C / (a2 + mu)|| = 1, where that norm is at most sqrt(k).

    The largest of three bounds. One axis alone, |c_j| / (a2_j + mu) <= ||z||, is good where axes
    differ a lot; the tangent at infinity, 1/||z|| <= (mu + mean of a2 with weights c^2) / ||c||,
    where they do not or where the point is far out; and zero always holds.
    """
    np.abs(C, out=work)
    work -= a2
    one_axis = work.max(axis=0)
    norm = _column_norms(C)
    np.divide(C, norm, out=work)
    np.square(work, out=work)
    tangent = norm - np.einsum("i,ij->j", a2[:, 0], work)  # not @, which would wake up threads
    return np.maximum(np.maximum(one_axis, tangent), 0.0)


def _scale_columns(Y: Array, exponent: int, out: Array) -> None:
    """Y * 2**exponent, except that columns beyond 2**_FARTHEST_POINT are brought there."""
    _, top = np.frexp(max(Y.max(), -Y.min()))
    if top + exponent <= _FARTHEST_POINT:
        _times_power_of_two(Y, exponent, out)
    else:
        _, tops = np.frexp(np.abs(Y).max(axis=0))
        np.ldexp(Y, np.minimum(exponent, _FARTHEST_POINT - tops), out=out)


def _restore(P: Array, exponent: int, out: Array, work: Array) -> Array:
    """Write P * 2**exponent to `out`, but no entry larger than that of `out` was.

    Coordinates so small that they lost digits in the unit of the ellipsoid may have grown.
    """
    most = np.abs(out, out=work)
    _times_power_of_two(P, exponent, out=out)
    np.minimum(out, most, out=out)
    return np.maximum(out, np.negative(most, out=most), out=out)


def _times_power_of_two(Y: Array, exponent: int, out: Array) -> Array:
    """Y * 2**exponent, exact unless it underflows."""
    # ldexp is ten times slower than a product, but the power by itself may not be a float.
    if abs(exponent) <= 1000:
        return np.multiply(Y, 2.0**exponent, out=out)
    return np.ldexp(Y, exponent, out=out)


def _column_norms(Z: Array) -> Array:
    """Euclidean norms of the columns."""
    norms: Array = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    return norms


def _rounding(k: int) -> float:
    """Bound on the rounding error of ||z|| = 1, from scaling z to recomputing ||z|| from S z.

    Two norms of k terms at (k/2 + 1) roundings each, and at most 8 roundings between them.
    """
    return (k + 10) * float(np.finfo(np.float64).eps) / 2


def _blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` items, or one, that cover n items."""
    size = max(size, 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _real_array(values: ArrayLike, name: str, shape: str, hint: str) -> NDArray[np.floating]:
    """`values` as an array of real numbers with the dimensions that `shape` names."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold real numbers, but its dtype is {array.dtype}. "
            f"Convert it to a dense float array first."
        )
    if array.ndim != len(shape.strip("(,)").split(",")):
        raise ValueError(f"{name} must have shape {shape}, but has shape {array.shape}. {hint}")
    return array


def _check_basis(basis: NDArray[np.floating], n_features: int) -> None:
    """Raise unless the columns are orthonormal vectors in the space of the points."""
    d, k = basis.shape
    if d != n_features:
        raise ValueError(
            f"basis has {d} rows, but points have {n_features} columns: they must agree. The axes "
            f"are the columns of basis; for scikit-learn's components_ pass components_.T."
        )
    V = basis.astype(np.float64)
    tolerance = 1e-5 if basis.dtype == np.float32 else 1e-8
    with np.errstate(all="ignore"):  # whatever is not finite fails the comparison
        gap = np.abs(V.T @ V - np.eye(k)).max(initial=0.0)
    if not gap <= tolerance:
        raise ValueError(
            f"basis must have orthonormal columns, but V'V is {gap:.1e} away from the identity "
            f"(allowed: {tolerance:.0e}). For an orthonormal basis of the same subspace try "
            f"numpy.linalg.qr(basis)[0]."
        )


def _check_scales(scales: NDArray[np.floating], n_axes: int) -> None:
    """Raise unless there is one finite scale >= 0 per axis."""
    if len(scales) != n_axes:
        raise ValueError(
            f"scales has {len(scales)} entries, but basis has {n_axes} columns: give one scale "
            f"per column."
        )
    bad = np.flatnonzero(~((scales >= 0) & (scales < np.inf)))
    if bad.size:
        raise ValueError(
            f"scales must be finite and >= 0, but scales[{bad[0]}] is {scales[bad[0]]}. For an "
            f"axis along which the ellipsoid is flat use 0."
        )


def _check_radius(radius: float) -> None:
    """Raise unless the radius is one finite number >= 0."""
    if np.ndim(radius) != 0 or not 0 <= radius < np.inf:
        raise ValueError(
            f"radius must be one finite number >= 0, but is {radius!r}. For a different length "
            f"along each axis use scales."
        )


def _check_entries(X: Array, first_row: int) -> None:
    """Raise, naming the row, unless all entries are finite and V'X cannot overflow."""
    # Extremes and not isfinite: they need no temporary, and carry NaN along.
    if X.size and not max(X.max(), -X.min()) <= _LARGEST_ENTRY:
        row = first_row + int(np.argmin(np.abs(X).max(axis=1) <= _LARGEST_ENTRY))
        raise ValueError(
            f"points must be finite and at most {_LARGEST_ENTRY:.0e} in size, but row {row} is "
            f"not. Remove or impute such rows, or divide points and radius by a common factor."
        )
