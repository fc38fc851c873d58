"""Changes to the robust fit, one at a time: a part of it switched off, or a number of it changed.

A part is switched off by a value of `Tuning` where there is one, else by a function put in place
of another. A number is halved and doubled. A factor by which one thing must exceed another has its
distance from 1 halved and doubled, and so has the taper; shares that are majorities have their
distance from a half.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from torpca._robust import algorithm, choice, loop, start
from torpca._robust.concentration import Candidate
from torpca._robust.leverage import Leverage
from torpca._robust.subspace import Subspace
from torpca._robust.tuning import Tuning, tuned

# Numbers that are measured from another point than zero.
MEASURED_FROM = {
    "taper": 1.0,
    "majority": 0.5,
    "gap": 1.0,
    "next_variance": 1.0,
    "closer": 1.0,
    "tilt": 1.0,
    "inside": 0.5,
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
def replaced(holder: Any, name: str, other: Any) -> Iterator[None]:
    """A function or a number of a module or a class replaced by another for a while."""
    before = getattr(holder, name)
    setattr(holder, name, other)
    try:
        yield
    finally:
        setattr(holder, name, before)


def without_strict() -> AbstractContextManager[None]:
    """Least outlying halves without the one by the scale of the tightest half alone."""
    both = start.least_outlying
    return replaced(start, "least_outlying", lambda *arguments: both(*arguments)[:1])


@contextmanager
def without_line(applies: Callable[[Candidate, Candidate], bool]) -> Iterator[None]:
    """A choice in which candidates that a line of it `applies` to are never tighter."""
    tighter = choice.tighter

    def other(a: Candidate, b: Candidate) -> bool:
        return not applies(a, b) and tighter(a, b)

    with replaced(choice, "tighter", other), replaced(start, "tighter", other):
        yield


def both_exact(a: Candidate, b: Candidate) -> bool:
    """Whether most rows lie in either subspace up to rounding."""
    return a.exact and b.exact


def with_gap(a: Candidate, b: Candidate) -> bool:
    """Whether there is a gap behind either of two subspaces."""
    return not both_exact(a, b) and choice.has_gap(a, b)


def all_that_agree(part: Any, best: Candidate, rng: Any) -> Any:
    """Rows of the best candidate, however far out inside the subspace."""
    return best.keep, Leverage(np.zeros(len(best.keep)))


def never(*arguments: Any) -> bool:
    """No, whatever the question."""
    return False


def as_it_is(fit: Subspace, keep: Any) -> Subspace:
    """A fit that says nothing of what squared residuals have in common."""
    return fit


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
    Change("choice", "off", partial(tuned, majority=2.0)),
    Change("choice: majority", "off", partial(tuned, majority=0.0)),
    Change("choice: both exact", "off", partial(without_line, both_exact)),
    Change("choice: with a gap", "off", partial(without_line, with_gap)),
    Change(
        "leverage",
        "off",
        partial(replaced, algorithm, "tested_for_leverage", all_that_agree),
    ),
    Change("tilt", "off", partial(tuned, tilt=np.inf)),
    Change("anchor", "off", partial(replaced, loop, "draws_away", never)),
    Change("common square", "off", partial(replaced, Subspace, "with_common", as_it_is)),
    Change("next directions", "off", partial(tuned, n_next=0)),
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
