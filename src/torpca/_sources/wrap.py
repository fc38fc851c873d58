"""The one place that looks at the type of what the user handed in."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from torpca._sources.array import ArraySource
from torpca._sources.base import RowSource
from torpca._sources.dask import DaskSource, is_dask, is_dask_frame
from torpca._sources.entries import ALLOWED, from_objects, of_text, wrong_type
from torpca._sources.frames import from_frame, labels_of, library_of, pandas_numbers_of_dask
from torpca._sources.sparse import SparseSource


def as_source(X: Any, *, block_rows: int | None = None) -> RowSource:
    """Return a row source over `X`, without copying or changing it.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or RowSource, of shape (n_rows, n_features)
        NumPy arrays (read-only, Fortran-ordered, memory-mapped, of any real type), torch tensors
        and other array-API arrays, SciPy CSR and CSC arrays and matrices are used as they are.
        Other sparse formats, data frames and lists are converted first. Dask arrays need whole
        rows in each chunk. Otherwise they are rechunked, with a warning.
    block_rows : int, optional
        Number of rows per block, for arrays in memory. By default blocks fit the cache.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> import numpy as np
    >>> as_source(np.eye(3))
    <ArraySource of 3 rows x 3 features, float64>
    """
    if block_rows is not None and not (isinstance(block_rows, Integral) and block_rows >= 1):
        raise ValueError(f"block_rows={block_rows!r} must be a whole number, at least 1.")
    if isinstance(X, RowSource):
        return X
    if sp.issparse(X):
        return _from_sparse(X)
    if is_dask(X):
        names = None
        if is_dask_frame(X):
            names = labels_of(X)
            X = pandas_numbers_of_dask(X).to_dask_array(lengths=True)
        _check_shape(X.shape)
        return _named(DaskSource(X, _result_dtype(X.dtype)), names)
    names = None
    if library_of(X):
        _check_shape(X.shape)
        names, X = labels_of(X), from_frame(X)
    xp = _namespace(X)
    if xp is None:
        X, xp = _as_numpy(X), np
    if xp is not np and not xp.isdtype(X.dtype, ("bool", "integral", "real floating")):
        raise wrong_type(X.dtype)
    if getattr(X, "is_sparse", False) or getattr(X, "is_sparse_csr", False):
        raise TypeError(
            "X is a sparse tensor, which has no rows to slice. Give it as a scipy.sparse matrix, "
            "or make it dense with X.to_dense()."
        )
    if hasattr(X, "detach"):  # torch: a pass that tracked gradients would hold on to every block
        X = X.detach()
    _check_shape(tuple(X.shape))
    single = X.dtype.newbyteorder("=") == np.float32 if xp is np else X.dtype == xp.float32
    dtype = np.dtype(np.float32 if single else np.float64)
    return _named(ArraySource(X, xp, dtype, block_rows), names)


def _named(source: RowSource, names: tuple[Any, ...] | None) -> RowSource:
    source.feature_names = names
    return source


def _namespace(X: Any) -> Any:
    """Array-API namespace of X: NumPy for its arrays, None when X is no array at all."""
    if isinstance(X, np.ndarray):
        return None  # still to be checked for objects, strings, masks
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__()
    if type(X).__module__.split(".")[0] in {"torch", "cupy", "jax", "jaxlib", "ndonnx"}:
        try:
            from array_api_compat import array_namespace  # noqa: PLC0415 (an extra)
        except ImportError as error:
            raise ImportError(
                f"X is a {type(X).__module__}.{type(X).__name__}, which needs the array-api-compat "
                "package: pip install 'torpca[torch]', or pip install array-api-compat."
            ) from error
        return array_namespace(X)
    return None


def _as_numpy(X: Any) -> np.ndarray[Any, Any]:
    """`X` as a plain numeric NumPy array, not copied when it is one; else an error says why."""
    if isinstance(X, np.ma.MaskedArray):
        X = _unmasked(X)
    try:
        array = np.asarray(X)
    except ValueError as error:  # ragged lists
        raise ValueError(
            f"X could not be read as an array ({error}). {ALLOWED}. Give every row as many entries."
        ) from error
    if array.dtype.kind == "O":
        array = from_objects(array)
    if array.dtype.kind in "US":
        raise of_text(array)
    if array.dtype.kind not in "biuf":
        raise wrong_type(array.dtype)
    return array


def _unmasked(X: Any) -> Any:
    """Entries of a masked array, NaN where masked; not copied where nothing is."""
    if not np.ma.is_masked(X):
        return X.data
    if X.dtype.kind in "biu":
        X = X.astype(np.float64)
    return X.filled(np.nan if X.dtype.kind in "fO" else None)


def _from_sparse(X: Any) -> SparseSource:
    dtype = _result_dtype(X.dtype)
    _check_shape(X.shape)
    if X.format not in {"csr", "csc"}:
        X = X.tocsr()
    if not X.has_canonical_format:  # an entry stored twice would count wrongly in sums of squares
        X = X.copy()
        X.sum_duplicates()
    return SparseSource(X, dtype)


def _result_dtype(dtype: Any) -> np.dtype[Any]:
    """float32 for float32, float64 for every other real type."""
    if np.dtype(dtype).kind not in "biuf":
        raise wrong_type(dtype)
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def _check_shape(shape: tuple[Any, ...]) -> None:
    if len(shape) != 2:
        hint = "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one sample"
        raise ValueError(
            f"X has {len(shape)} dimension(s) (shape={shape}); 2 are needed, one row per sample. "
            + (f"Reshape your data: {hint}." if len(shape) < 2 else "Flatten each sample to a row.")
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )
