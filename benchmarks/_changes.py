"""Changes to the robust fit, one at a time: a part of it switched off, or a number of it changed.

A part is switched off by a value of `Tuning` where there is one, else by a function put in place
of another. A number is halved and doubled. A factor by which one thing must exceed another has its
distance from 1 halved and doubled, and so has the taper; the majority its distance from a half.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from torpca._robust import concentrate, settle, start
from torpca._tuning import Tuning, tuned

# Numbers that are measured from another point than zero.
MEASURED_FROM = {
    "taper": 1.0,
    "majority": 0.5,
    "gap": 1.0,
    "next_variance": 1.0,
    "closer": 1.0,
    "leverage": 1.0,
}


@dataclass(frozen=True)
class Change:
    """What is changed, into what, and how to change it for a while."""

    what: str
    value: str
    made: Callable[[], AbstractContextManager[Any]]

    @property
    def name(self) -> str:
        return f"{self.what}: {self.value}"


@contextmanager
def replaced(module: Any, name: str, other: Any) -> Iterator[None]:
    """A function or a number of a module replaced by another for a while."""
    before = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, before)


def without_strict() -> AbstractContextManager[None]:
    """Least outlying halves without the one by the scale of the tightest half alone."""
    both = start.least_outlying

    def one(*arguments: Any) -> Iterator[tuple[str, Any]]:
        return (half for half in both(*arguments) if half[0] != "strict")

    return replaced(start, "least_outlying", one)


def without_bound() -> AbstractContextManager[None]:
    """Iterations that may draw the subspace away from half of the rows."""
    return replaced(settle, "much_closer", never)


def never(*arguments: Any) -> bool:
    """No, whatever the question."""
    return False


def nothing(*arguments: Any) -> None:
    """Nothing, whatever was asked for."""


def scaled(name: str, factor: float) -> Any:
    """The value of a number of `Tuning` when it, or its distance from a point, is multiplied."""
    value, origin = getattr(Tuning(), name), MEASURED_FROM.get(name, 0.0)
    if isinstance(value, tuple):
        return tuple(int(factor * v) for v in value)
    if isinstance(value, int):
        return max(1, int(factor * value))
    return round(origin + factor * (value - origin), 6)


OFF = (
    Change('candidate "strict"', "off", without_strict),
    Change('candidate "side"', "off", partial(tuned, n_axes=0)),
    Change('candidate "subsets"', "off", partial(tuned, n_subsets=0)),
    Change("end where noise is left", "off", partial(replaced, start, "leaves_noise", never)),
    Change("known candidates", "off", partial(replaced, concentrate, "alike", never)),
    Change("next directions", "off", partial(tuned, n_next=0)),
    Change("choice by tightness", "off", partial(tuned, majority=2.0)),
    Change("three fifths, no gap", "off", partial(replaced, start, "MORE_THAN_A_HALF", 0.0)),
    Change("ellipsoid, no gap", "off", partial(replaced, start, "within_ellipsoid", nothing)),
    Change("bound on iterations", "off", without_bound),
    Change("leverage test", "off", partial(tuned, leverage=np.inf)),
    Change("limit on copies", "off", partial(tuned, most_copies=np.inf)),
)

NUMBERS = tuple(
    Change(
        field.name,
        f"{getattr(Tuning(), field.name)} to {scaled(field.name, factor)}".replace(", ", "-"),
        partial(tuned, **{field.name: scaled(field.name, factor)}),
    )
    for field in fields(Tuning)
    for factor in (0.5, 2.0)
)

CHANGES = {change.name: change for change in (*OFF, *NUMBERS)}
