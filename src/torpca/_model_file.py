"""A fitted model as a file: numbers and text, no code. The format is in docs/model_file.md."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from hashlib import blake2b
from io import BytesIO
from math import inf, isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from torpca._atomic import atomic_write
from torpca._core.loop import Iteration
from torpca._estimators.robust import OutlierRobustPCA
from torpca._estimators.stability import Refit, Stability
from torpca._select.rank import RankChoice
from torpca._sources.base import Floats, to_numpy
from torpca._stats.limits import NewRows

FORMAT, VERSION = "torpca model", 3
# Fitted attributes that are stored as they are, one array of (n_components,) each.
SPECTRUM = ("explained_variance", "explained_variance_ratio", "singular_values")
ARRAYS = {"mean", "basis", "deviations", "rank_variances", *SPECTRUM}
NOT_NEGATIVE = {
    "deviations",
    "feature_noise",
    "feature_scale",
    "rank_variances",
    "seen",
    *SPECTRUM,
}
NEW_ROWS = ("score", "orthogonal", "n")
DTYPES = ("float32", "float64")
# What zipfile and NumPy raise on bytes that are not theirs.
DAMAGE = (
    ValueError,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)

FROM_WHERE = "Give the model.npz that `torpca fit` or save_model wrote."

Arrays = dict[str, npt.NDArray[Any]]


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or comes from a newer version of torpca."""


def save_model(
    model: OutlierRobustPCA, path: str | os.PathLike[str], *, force: bool = True
) -> Path:
    """Path of a file with all that a fitted model needs for new rows.

    Parameters
    ----------
    model : OutlierRobustPCA
        Fitted. Its training rows are not stored. Of fewer than 10 000, one or two numbers for each
        are, by which it is known again: such rows have other limits than new ones.
    path : path
        Where the file shall be, by custom with the ending .npz.
    force : bool, default=True
        Whether to replace a file that is there. It is left alone until the new one is complete.

    Returns
    -------
    Path

    See Also
    --------
    load_model : the way back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from torpca import OutlierRobustPCA, load_model, save_model
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(300, 10, 2, 0.2, noise=0.01, random_state=0).X
    >>> model = OutlierRobustPCA().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, Path(folder) / "model.npz"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if type(model) is not OutlierRobustPCA:
        raise TypeError(
            f"save_model stores an OutlierRobustPCA, and got {type(model).__name__}. Use "
            "to_sklearn() for the coordinates of another estimator, or pickle it."
        )
    check_is_fitted(model)
    arrays = {"header": _as_bytes(_header(model)), **_arrays(model)}
    arrays["checksum"] = _checksum(arrays)
    return atomic_write(path, lambda file: np.savez(file, **arrays), force=force)  # type: ignore[arg-type]


def load_model(path: str | os.PathLike[str]) -> OutlierRobustPCA:
    """Fitted model from a file of `save_model`. No code in the file is run, as it holds none.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    OutlierRobustPCA
        It judges new rows exactly as the model that was saved, and can be fitted again. What
        the training rows had one by one (`support_`, `weights_`, `score_distances_`,
        `orthogonal_distances_`, `outlier_type_`, `start_`, `route_`, `stability_`) it does not
        have.

    Raises
    ------
    ModelFileError
        The file is no model, was damaged or changed, or needs a newer torpca.

    See Also
    --------
    save_model : makes the file.

    Examples
    --------
    >>> import tempfile
    >>> from torpca import OutlierRobustPCA, load_model, save_model
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, *_ = make_outlier_subspace(200, 8, 2, 0.1, noise=0.01, random_state=0)
    >>> model = OutlierRobustPCA().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, folder + "/model.npz"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    arrays = _read(path)
    header = _parse(path, arrays)
    try:
        _check_shapes(header, arrays)
        return _restore(header, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # The checksum holds, so this was written by something else than `save_model`.
        raise ModelFileError(
            f"{path} has the form of a model, but its contents make none: {error}. Save the model "
            "again with torpca's save_model."
        ) from error


# ---- a model as a header and arrays -------------------------------------------------------------


def _header(model: OutlierRobustPCA) -> dict[str, Any]:
    """All of the model that is not an array."""
    from torpca import __version__  # noqa: PLC0415 (torpca imports this module)

    rank = model.rank_
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "torpca_version": __version__,
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "dtype": str(to_numpy(model.components_).dtype),
        "n_features": int(model.n_features_in_),
        "n_components": int(model.n_components_),
        "n_samples": int(model.n_samples_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())] or None,
        "cutoffs": {name: _plain(float(limit)) for name, limit in model.cutoffs_.items()},
        "new_rows": None if model._new_rows is None else asdict(model._new_rows),
        "stability": None if model._stability is None else asdict(model._stability),
        "offset": _plain(float(model.offset_)),
        "noise_variance": _plain(float(model.noise_variance_)),
        "freedom": float(model._freedom),
        "rank": {
            "rank": int(rank.rank),
            "rule": rank.rule,
            "gap": _plain(float(rank.gap)),
            "explained": _plain(float(rank.explained)),
        },
        "converged": bool(model.converged_),
        "history": [
            {
                "iteration": int(record.iteration),
                "rank": int(record.rank),
                "dropped": {name: int(count) for name, count in record.dropped.items()},
                "n_kept": int(record.n_kept),
                "subspace_change": _plain(float(record.subspace_change)),
                "objective": _plain(float(record.objective)),
            }
            for record in model.history_
        ],
    }


def _arrays(model: OutlierRobustPCA) -> Arrays:
    """All of the model that is arrays, in this machine's or any other's little-endian floats."""
    arrays = {
        "mean": model._mean,
        "basis": model._basis,
        "deviations": model._deviations,
        "feature_noise": model._feature_noise,
        "rank_variances": model.rank_.variances,
        **{name: to_numpy(getattr(model, f"{name}_")) for name in SPECTRUM},
    }
    if model._feature_scale is not None:
        arrays["feature_scale"] = model._feature_scale
    if model._new_rows is not None:
        arrays["seen"] = model._seen
    return {name: _packed(np.asarray(array)) for name, array in arrays.items()}


def _packed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Without gaps, little-endian, and in the order of axes it has."""
    # Products of the same numbers in another order round differently.
    columns = array.ndim == 2 and abs(array.strides[0]) < abs(array.strides[1])
    return np.array(array, dtype=array.dtype.newbyteorder("<"), order="F" if columns else "C")


def _restore(header: Mapping[str, Any], arrays: Arrays) -> OutlierRobustPCA:
    """Return the model of a header and arrays that fit together."""
    model = OutlierRobustPCA(**header["parameters"])
    model._validate_params()
    dtype = np.dtype(header["dtype"])

    model._mean, model._basis, model._deviations = (
        _floats(arrays[name]) for name in ("mean", "basis", "deviations")
    )
    scale = arrays.get("feature_scale")
    model._feature_scale = None if scale is None else _floats(scale)
    model._training = _NotStored()  # type: ignore[assignment]
    d, k = model._basis.shape
    if "feature_noise" in arrays:
        model._feature_noise, model._freedom = _floats(arrays["feature_noise"]), header["freedom"]
    else:  # before version 3: the same in all features
        left_over = np.sqrt(_number(header["noise_variance"]) * max(d - k, 0) / d)
        model._feature_noise, model._freedom = np.full(d, left_over), float(max(d - k, 1))

    model.components_ = np.ascontiguousarray(model._basis.T).astype(dtype)
    model.mean_ = model._mean.astype(dtype)
    model.scale_ = None if scale is None else scale.astype(dtype)
    for name in SPECTRUM:
        setattr(model, f"{name}_", arrays[name].astype(dtype))
    model.noise_variance_ = _number(header["noise_variance"])

    model.n_features_in_, model.n_components_ = header["n_features"], header["n_components"]
    model.n_samples_ = int(header["n_samples"])
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)

    model.cutoffs_ = {name: _number(header["cutoffs"][name]) for name in ("score", "orthogonal")}
    limits = header.get("new_rows")  # version 1 has none
    if limits is not None:
        model._new_rows = NewRows(**{name: _number(limits[name]) for name in NEW_ROWS})
        model._seen = _floats(arrays["seen"])
    model.offset_ = _number(header["offset"])
    model._probe, model._stability = None, _stability(header.get("stability"))

    rank = header["rank"]
    model.rank_ = RankChoice(
        rank=int(rank["rank"]),
        rule=str(rank["rule"]),
        variances=_floats(arrays["rank_variances"]),
        gap=_number(rank["gap"]),
        explained=_number(rank["explained"]),
    )
    model.history_ = tuple(
        Iteration(
            iteration=int(record["iteration"]),
            rank=int(record["rank"]),
            dropped={str(name): int(count) for name, count in record["dropped"].items()},
            n_kept=int(record["n_kept"]),
            subspace_change=_number(record["subspace_change"]),
            objective=_number(record["objective"]),
        )
        for record in header["history"]
    )
    model.n_iter_, model.converged_ = len(model.history_), bool(header["converged"])
    return model


def _stability(found: Any) -> Stability | None:
    """What a header says of other fits; None if it says nothing."""
    if found is None:
        return None
    refits = tuple(Refit(**refit) for refit in found["refits"])
    return Stability(**{**found, "refits": refits})


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it: infinity is null, and so is a random generator."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, int | float | str) else None


def _number(value: Any) -> float:
    """A float from JSON."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"{value!r} is not a number")
    return inf if value is None else float(value)


def _floats(array: npt.NDArray[Any]) -> Floats:
    """In this machine's byte order, and in the order of axes it has."""
    return array.astype(np.float64, order="K")


class _NotStored:
    """In place of the distances of the training rows."""

    def __iter__(self) -> Iterator[NoReturn]:
        raise AttributeError(
            "this model was read from a file, which holds nothing about single training rows. Give "
            "the rows to distances, outlier_types or predict, or fit again."
        )


# ---- the file -----------------------------------------------------------------------------------


def _read(path: Path) -> Arrays:
    """All arrays of a file, whatever they mean."""
    try:
        with path.open("rb") as file:
            data = file.read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise type(error)(f"could not read the model {path}: {reason}. {FROM_WHERE}") from error
    if not data.startswith(b"PK"):
        raise ModelFileError(f"{path} is not a model of torpca. {FROM_WHERE}")
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in archive.infolist()
            }
    except DAMAGE as error:
        raise ModelFileError(
            f"{path} is damaged or cut short: {_short(error)}. Copy it again from where it was "
            "made, or save the model again."
        ) from error


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array of the archive."""
    # Uncompressed, so that a small file cannot ask for a large part of the memory.
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"the part {entry.filename!r} is compressed, which torpca never does")
    array: npt.NDArray[Any] = np.lib.format.read_array(
        BytesIO(archive.read(entry)), allow_pickle=False
    )
    return array


def _parse(path: Path, arrays: Arrays) -> dict[str, Any]:
    """Header of a file that is a model, whole, unchanged, and of a version we know."""
    try:
        header = json.loads(arrays["header"].tobytes())
        is_model = header["format"] == FORMAT
        version, written_by = header["format_version"], str(header["torpca_version"])
    except (*DAMAGE, TypeError, RecursionError):
        is_model = False
    if not is_model:
        raise ModelFileError(
            f"{path} is an archive of arrays, but not a model of torpca. {FROM_WHERE}"
        )
    # Before the checksum: another version may compute it in another way.
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"{path} says that its format has version {version!r:.40}, and versions are numbers "
            "from 1. Save the model again."
        )
    if version > VERSION:
        from torpca import __version__  # noqa: PLC0415 (torpca imports this module)

        raise ModelFileError(
            f"{path} has version {version} of the format, and torpca {__version__} reads versions "
            f"up to {VERSION}. Install torpca {written_by:.40}, which wrote it, or a newer one: "
            "pip install --upgrade torpca."
        )
    stored = arrays.pop("checksum", np.zeros(0))
    if stored.tobytes() != _checksum(arrays).tobytes():
        raise ModelFileError(
            f"{path} was changed after it was written: its checksum does not fit its contents. "
            "Copy it again from where it was made, or save the model again."
        )
    return dict(header)


def _check_shapes(header: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise unless all arrays are there, finite, and of the sizes that the header gives."""
    d, k = header["n_features"], header["n_components"]
    if type(d) is not int or type(k) is not int or not 0 <= k <= d or d < 1:
        raise ValueError(f"{k!r} components of {d!r} features")
    if header["dtype"] not in DTYPES:
        raise ValueError(f"numbers of type {header['dtype']!r}")
    shapes = {"mean": (d,), "feature_scale": (d,), "basis": (d, k), "deviations": (k,)}
    shapes["feature_noise"] = (d,)
    shapes |= {name: (k,) for name in SPECTRUM}
    wanted = ARRAYS | ({"feature_scale"} if header["parameters"]["scale"] else set())
    if header.get("new_rows") is not None:
        wanted = wanted | {"seen"}
    if header["format_version"] >= 3:
        wanted = wanted | {"feature_noise"}
        if not _number(header["freedom"]) >= 1:
            raise ValueError(f"{header['freedom']!r} degrees of freedom")
    if set(arrays) - {"header"} != wanted:
        raise ValueError(f"it holds the arrays {sorted(arrays)}, and not {sorted(wanted)}")
    for name in sorted(wanted):
        array = arrays[name]
        if array.dtype.kind != "f" or array.shape != shapes.get(name, (array.size,)):
            raise ValueError(f"{name} has type {array.dtype} and shape {array.shape}")
        # Variances of very long rows are beyond the largest float; what places rows never is.
        if np.any(np.isnan(array) if name in SPECTRUM else ~np.isfinite(array)):
            raise ValueError(f"{name} has an entry that is not finite")
        if name in NOT_NEGATIVE and np.any(array < 0):
            raise ValueError(f"{name} has a negative entry")
    if np.any(np.diff(arrays.get("seen", np.zeros(1))) < 0):
        raise ValueError("seen is not in ascending order")
    names = header["feature_names"]
    if names is not None and (len(names) != d or not all(isinstance(n, str) for n in names)):
        raise ValueError(f"the names of the features are not {d} texts")


def _checksum(arrays: Arrays) -> npt.NDArray[np.uint8]:
    """BLAKE2b digest (32,) of the names, types, shapes and contents of arrays."""
    digest = blake2b(digest_size=32)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode() + b"\n")
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _as_bytes(header: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(header, allow_nan=False).encode("ascii"), dtype=np.uint8)


def _short(error: BaseException) -> str:
    """First line of an error's message, without its full stop."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:120].rstrip(".")
