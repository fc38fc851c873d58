"""A fitted model as a file: numbers and text, no code. The format is in docs/model_file.md."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from io import BytesIO
from math import inf, isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from torpca import __version__
from torpca._atomic import atomic_write
from torpca._core.loop import Iteration
from torpca._estimators.robust import OutlierRobustPCA
from torpca._estimators.stability import Refit, Stability
from torpca._robust.limits import error_of_fit
from torpca._robust.rank import RankChoice
from torpca._sources.base import to_numpy

FORMAT, VERSION = "torpca model", 5
# Fitted attributes that are stored as they are, one array of (n_components,) each.
SPECTRUM = ("explained_variance", "explained_variance_ratio", "singular_values")
# Arrays with entries below zero.
SIGNED = ("mean", "basis")

FROM_WHERE = "Give the model.npz that `torpca fit` or save_model wrote."
AGAIN = "Copy it again from where it was made, or save the model again."

Arrays = dict[str, npt.NDArray[Any]]


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or comes from a newer version of torpca."""


def save_model(
    model: OutlierRobustPCA, path: str | os.PathLike[str], *, force: bool = True
) -> Path:
    """Save what a fitted model needs to judge rows, and return the path of the file.

    Parameters
    ----------
    model : OutlierRobustPCA
        A fitted model. Nothing about single training rows is stored.
    path : path
        Name of the file. It usually ends in .npz.
    force : bool, default=True
        Whether to replace an existing file. It stays in place until the new one is complete.

    Returns
    -------
    Path

    See Also
    --------
    load_model : loads the file.

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
            f"save_model stores an OutlierRobustPCA, but got {type(model).__name__}. Use "
            "to_sklearn() for the coordinates of another estimator, or pickle it."
        )
    check_is_fitted(model)
    text = json.dumps(_plain(_header(model)), allow_nan=False).encode()
    arrays = {"header": np.frombuffer(text, np.uint8), **_arrays(model)}
    return atomic_write(path, lambda file: np.savez(file, **arrays), force=force)  # type: ignore[arg-type]


def load_model(path: str | os.PathLike[str]) -> OutlierRobustPCA:
    """Load a fitted model from a file of `save_model`. The file contains no code.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    OutlierRobustPCA
        It judges new rows exactly as the saved model does, and can be fitted again. It does not
        have `support_`, `weights_`, `score_distances_`, `orthogonal_distances_`, `outlier_type_`,
        `start_` and `route_`, and has `stability_` only if that was computed before saving.

    Raises
    ------
    ModelFileError
        The file is not a model, is damaged, or needs a newer torpca.

    See Also
    --------
    save_model : writes the file.

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
    header = _read_header(path, arrays)
    try:
        _check(header, arrays)
        return _restore(header, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # Nothing is damaged, so this was written by something else than `save_model`.
        raise ModelFileError(
            f"{path} has the form of a model, but its contents are wrong: {error}. Save the model "
            "again with torpca's save_model."
        ) from error


# ---- a model as a header and arrays -------------------------------------------------------------


def _header(model: OutlierRobustPCA) -> dict[str, Any]:
    """All of the model that is not an array."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "torpca_version": __version__,
        "parameters": model.get_params(),
        "dtype": str(to_numpy(model.components_).dtype),
        "n_features": model.n_features_in_,
        "n_components": model.n_components_,
        "n_samples": model.n_samples_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())] or None,
        "cutoffs": model.cutoffs_,
        "n_good": model._n_good,
        "stability": model._stability,
        "offset": model.offset_,
        "noise_variance": model.noise_variance_,
        "freedom": model._freedom,
        "rank": model.rank_,
        "converged": model.converged_,
        "history": model.history_,
        "rows_by_type": model._types_at_fit(),
    }


def _arrays(model: OutlierRobustPCA) -> Arrays:
    """All of the model that is arrays."""
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
    # Without gaps, and with the order of axes they have (K), which NumPy does not keep if there
    # are gaps: products of the same numbers in another order round differently.
    return {name: np.array(array, order="K") for name, array in arrays.items()}


def _restore(header: Mapping[str, Any], arrays: Arrays) -> OutlierRobustPCA:
    """Return the model of a header and arrays that fit together."""
    model = OutlierRobustPCA(**header["parameters"])
    model._validate_params()
    dtype = np.dtype(header["dtype"])
    # In this machine's byte order, and in the order of axes they have.
    arrays = {name: array.astype(np.float64, order="K") for name, array in arrays.items()}

    model._mean, model._basis, model._deviations = (
        arrays[name] for name in ("mean", "basis", "deviations")
    )
    model._feature_scale = scale = arrays.get("feature_scale")
    model._training = _NotStored()  # type: ignore[assignment]
    model.offset_ = _number(header, "offset")
    model.noise_variance_ = _number(header, "noise_variance")
    d, k = model._basis.shape
    if "feature_noise" in arrays:
        model._feature_noise, model._freedom = arrays["feature_noise"], header["freedom"]
    else:  # before version 3: the same in all features
        left_over = np.sqrt(model.noise_variance_ * max(d - k, 0) / d)
        model._feature_noise, model._freedom = np.full(d, left_over), float(max(d - k, 1))

    model.components_ = np.ascontiguousarray(model._basis.T).astype(dtype)
    model.mean_ = model._mean.astype(dtype)
    model.scale_ = None if scale is None else scale.astype(dtype)
    for name in SPECTRUM:
        setattr(model, f"{name}_", arrays[name].astype(dtype))

    model.n_features_in_, model.n_components_ = d, k
    model.n_samples_ = int(header["n_samples"])
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)

    model.cutoffs_, model._n_good = _limits(header, k)
    model._probe, model._stability = None, None
    if (found := header.get("stability")) is not None:
        refits = tuple(Refit(**refit) for refit in found["refits"])
        model._stability = Stability(**{**found, "refits": refits})
    model._rows_by_type = _counts(header.get("rows_by_type"))

    rank = {**header["rank"], **_numbers(header["rank"], "gap", "explained")}
    model.rank_ = RankChoice(**rank, variances=arrays["rank_variances"])
    model.history_ = tuple(
        Iteration(**{**record, **_numbers(record, "subspace_change", "objective")})
        for record in header["history"]
    )
    model.n_iter_, model.converged_ = len(model.history_), bool(header["converged"])
    return model


def _limits(header: Mapping[str, Any], k: int) -> tuple[dict[str, float], float]:
    """Limits on both distances, and the weight of the rows behind them."""
    limits = _numbers(header["cutoffs"], "score", "orthogonal")
    if header["format_version"] >= 5:
        return limits, _number(header, "n_good")
    # Before, rows of the fit had limits of their own, if they were few. Labels by a share of the
    # rows were counted in these.
    new = header.get("new_rows")  # version 1 has none
    if new is None:
        return limits, inf
    new = _numbers(new, "score", "orthogonal", "n")
    n = new["n"]
    if header["parameters"]["contamination"] == "auto":
        off = new["orthogonal"] * error_of_fit(n, k)
        limits = {"score": new["score"], "orthogonal": off}
    return limits, n


def _counts(found: Any) -> dict[str, int] | None:
    """Numbers of rows by type; None if a header has none."""
    if found is None:
        return None
    counts = {str(kind): count for kind, count in found.items()}
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError(f"numbers of rows of each type are {found!r:.80}")
    return counts


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it: infinity is null, and so is a random generator."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if is_dataclass(value):  # its arrays are stored beside the header
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        value = {k: v for k, v in held.items() if not isinstance(v, np.ndarray | None)}
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, int | float | str) else None


def _number(values: Mapping[str, Any], name: str) -> float:
    """A float from JSON."""
    value = inf if values[name] is None else values[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}, and not a number")
    return float(value)


def _numbers(values: Mapping[str, Any], *names: str) -> dict[str, float]:
    return {name: _number(values, name) for name in names}


class _NotStored:
    """In place of the distances of the training rows."""

    def __iter__(self) -> Iterator[NoReturn]:
        raise AttributeError(
            "this model was loaded from a file, which has no data about single training rows. Pass "
            "the rows to distances, outlier_types or predict, or fit again."
        )


# ---- the file -----------------------------------------------------------------------------------


def _read(path: Path) -> Arrays:
    """All arrays of a file, whatever they mean."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise type(error)(f"could not read the model {path}: {reason}. {FROM_WHERE}") from error
    if not data.startswith(b"PK"):
        raise ModelFileError(f"{path} is not a model of torpca. {FROM_WHERE}")
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            # Uncompressed, so that a small file cannot ask for a large part of the memory.
            if any(entry.compress_type for entry in archive.infolist()):
                raise ValueError("it is compressed, which torpca never does")
            # Each to its last byte, also if it says that it is shorter: then zip checks its CRC.
            contents = {name: BytesIO(archive.read(name)) for name in archive.namelist()}
        return {
            name.removesuffix(".npy"): np.lib.format.read_array(content, allow_pickle=False)
            for name, content in contents.items()
        }
    except Exception as error:  # zipfile and NumPy raise many kinds on bytes that are not theirs
        reason = " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__
        raise ModelFileError(f"{path} is damaged or cut short: {reason}. {AGAIN}") from error


def _read_header(path: Path, arrays: Arrays) -> dict[str, Any]:
    """Header of a file that is a model of a version we know, taken from the arrays."""
    try:
        header: dict[str, Any] = json.loads(arrays.pop("header").tobytes())
        version, written_by = header["format_version"], str(header["torpca_version"])
        is_model = header["format"] == FORMAT
    except (KeyError, TypeError, ValueError, RecursionError):
        is_model = False
    if not is_model:
        raise ModelFileError(
            f"{path} is an archive of arrays, but not a model of torpca. {FROM_WHERE}"
        )
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"{path} has format version {version!r:.40}, but versions are whole numbers from 1. "
            "Save the model again."
        )
    if version > VERSION:
        raise ModelFileError(
            f"{path} has format version {version}, but torpca {__version__} reads only versions "
            f"up to {VERSION}. Install torpca {written_by:.40}, which wrote it, or a newer one: "
            "pip install --upgrade torpca."
        )
    if version < 4:
        arrays.pop("checksum", None)  # zip has one of its own
    return header


def _check(header: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise unless all arrays are there, finite, and of the sizes that the header gives."""
    d, k = header["n_features"], header["n_components"]
    if type(d) is not int or type(k) is not int or not 0 <= k <= d or d < 1:
        raise ValueError(f"{k!r} components of {d!r} features")
    if header["dtype"] not in ("float32", "float64"):
        raise ValueError(f"numbers of type {header['dtype']!r}")
    names = header["feature_names"]
    if names is not None and (len(names) != d or not all(isinstance(n, str) for n in names)):
        raise ValueError(f"the names of the features are not {d} texts")

    shapes: dict[str, Any] = {"mean": (d,), "basis": (d, k), "deviations": (k,)}
    shapes |= {"rank_variances": None, **dict.fromkeys(SPECTRUM, (k,))}  # None: of any length
    if header["parameters"]["scale"]:
        shapes["feature_scale"] = (d,)
    if header["format_version"] < 5 and header.get("new_rows") is not None:
        shapes["seen"] = None
    if header["format_version"] >= 3:
        shapes["feature_noise"] = (d,)
        if not _number(header, "freedom") >= 1:
            raise ValueError(f"{header['freedom']!r} degrees of freedom")
    if set(arrays) != set(shapes):
        raise ValueError(f"it holds the arrays {sorted(arrays)}, and not {sorted(shapes)}")
    for name, array in arrays.items():
        if array.dtype.kind != "f" or array.shape != (shapes[name] or (array.size,)):
            raise ValueError(f"{name} has type {array.dtype} and shape {array.shape}")
        # Variances of very long rows are beyond the largest float; what places rows never is.
        if np.any(np.isnan(array) if name in SPECTRUM else ~np.isfinite(array)):
            raise ValueError(f"{name} has an entry that is not finite")
        if name not in SIGNED and np.any(array < 0):
            raise ValueError(f"{name} has a negative entry")
