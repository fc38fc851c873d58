"""What travels between passes, as bytes: to another machine, or to a file and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from io import BytesIO
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

T = TypeVar("T")


def to_bytes(value: Any) -> bytes:
    """A `Reference` or a `Summary`, or any dataclass of numbers, arrays and such, as bytes."""
    file = BytesIO()
    np.savez(file, allow_pickle=False, **dict(_arrays(value, "")))
    return file.getvalue()


def from_bytes(kind: type[T], data: bytes) -> T:
    """The value of this `kind` that `to_bytes` gave."""
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return _value(kind, dict(arrays), "")


def _arrays(value: Any, prefix: str) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for f in fields(value):
        part, name = getattr(value, f.name), prefix + f.name
        if is_dataclass(part):
            yield from _arrays(part, f"{name}.")
        elif part is not None:
            yield name, np.asarray(part)


def _value(kind: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Any:
    found = {}
    for name, hint in get_type_hints(kind).items():
        kinds = [k for k in (*get_args(hint), hint) if is_dataclass(k)]
        key = prefix + name
        if kinds:
            there = any(k.startswith(f"{key}.") for k in arrays)
            found[name] = _value(kinds[0], arrays, f"{key}.") if there else None
        elif key in arrays:
            # A number is stored as an array without axes.
            found[name] = arrays[key] if arrays[key].ndim else arrays[key].item()
        else:
            found[name] = None
    return kind(**found)
