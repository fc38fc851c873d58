"""What is wrong with the flagged rows: in words for one row, and by cause for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from torpca._bands import bands, main_bands
from torpca._explain import Explanation
from torpca._times import one_time, span_of_times
from torpca._words import figures, interval, whole

if TYPE_CHECKING:
    from torpca._answer import Answer

# Beside the largest share, a feature with a smaller one than this part of it is no main cause.
WORTH = 0.2
# Bands are the same cause if they share this part of the shorter one.
OVERLAP = 0.5
# Rows of one cause that follow each other, with few others between them, are told apart from the
# rest: at least so many, and this share of them all.
RUN, MOST, DENSE = 5, 0.5, 1.2
MANY, IN_LINE = "many features at once", "far out, but in line with the others"
NOT_EXPLAINED = "not looked at, as others are more extreme"


@dataclass(frozen=True)
class Cause:
    """What some flagged rows have in common."""

    words: str
    """Such as "rpm too low"."""
    rows: npt.NDArray[np.intp]
    """Numbers of the rows, ascending."""
    features: tuple[str, ...] = ()
    """The features that are off; none if there are too many, or they agree."""
    low: float = np.nan
    """Smallest value of the first feature in these rows, ..."""
    high: float = np.nan
    """... the largest, ..."""
    expected: float = np.nan
    """... and what was to be expected, the middle one of the rows."""


def reason_words(
    found: Explanation, i: int, names: Sequence[str], cut: Callable[[str], str]
) -> list[str]:
    """What is unusual about each feature that explains row i of `found`.

    Such as "rpm 0, usually 1,390 to 1,510 given the others".
    """
    given = "" if found.in_line[i] else " given the others"
    return [f"{what}, usually {usual}{given}" for what, usual in _reasons(found, i, names, cut)]


def brief_reasons(answer: Answer, i: int, cut: Callable[[str], str]) -> str:
    """The same in few words, for a table: "rpm 0 (1,390 to 1,510)"."""
    if answer.profile:
        return because_of(answer, i, cut).replace(" of the distance", "")
    found = _reasons(answer.explanation, i, answer.names, cut)
    in_line = "in line, but far out: " * bool(answer.explanation.in_line[i])
    return in_line + ", ".join(f"{what} ({usual})" for what, usual in found)


def _reasons(
    found: Explanation, i: int, names: Sequence[str], cut: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Each feature that explains row i with its value, and its usual range."""
    return [
        (
            f"{cut(names[found.features[i, s]])} {figures(found.values[i, s])}",
            interval(found.low[i, s], found.high[i, s]),
        )
        for s in range(int(found.count[i]))
    ]


def because_of(answer: Answer, i: int, cut: Callable[[str], str]) -> str:
    """What explains the flagged row that is number i among the most extreme; `cut` shortens names.

    Shares of a distance are written as such: they are not deviations.
    """
    if not answer.profile:
        return "; ".join(reason_words(answer.explanation, i, answer.names, cut))
    found = main_bands(answer.contributions[i], answer.names, 3, cut)
    return ", ".join(
        f"{name} too {'high' if share > 0 else 'low'} ({abs(share):.0%} of the distance)"
        for name, share in found
    )


def causes(answer: Answer) -> tuple[Cause, ...]:
    """The flagged rows of an answer by cause, the commonest first; the rest at the end."""
    groups: dict[tuple[tuple[str, str], ...] | str, list[int]] = {}
    found = answer.explanation
    keys = (
        _bands_of_rows(answer)
        if answer.profile
        else [_key(found, i, answer.names) for i in range(len(found.count))]
    )
    keys += [NOT_EXPLAINED] * (len(answer.extreme) - len(keys))
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    made = [
        _cause(answer, key, part)
        for key, members in groups.items()
        for part in (_runs(answer, members) if isinstance(key, tuple) else [members])
    ]
    # Rows of which nothing simple can be said come last, however many they are.
    return tuple(sorted(made, key=lambda cause: (not cause.features, -len(cause.rows))))


def _runs(answer: Answer, members: list[int]) -> list[list[int]]:
    """The members of a group that follow each other, and the rest; all, if most do not.

    A sensor that is off for an hour is one cause, and a chance alarm for the same sensor another.
    """
    members = sorted(members, key=lambda i: answer.extreme[i])
    rows = answer.extreme[members]
    ends = np.flatnonzero(np.diff(rows) > RUN) + 1
    first, last = max(
        zip([0, *ends.tolist()], [*ends.tolist(), len(rows)], strict=True),
        key=lambda run: run[1] - run[0],
    )
    n, rest = last - first, members[:first] + members[last:]
    if not rest or n < max(RUN, MOST * len(rows)) or not _dense(rows[first:last]):
        return [members]
    return [members[first:last], rest]


def _dense(rows: npt.NDArray[np.intp]) -> bool:
    """Whether ascending rows follow each other; a few others may be between them."""
    return bool(rows[-1] - rows[0] + 1 <= DENSE * len(rows))


def _key(found: Explanation, i: int, names: Sequence[str]) -> tuple[tuple[str, str], ...] | str:
    """What row i has in common with others of its cause."""
    if found.in_line[i]:
        return IN_LINE
    if not found.mended[i]:
        return MANY
    main = [
        s for s in range(int(found.count[i])) if found.shares[i, s] >= WORTH * found.shares[i, 0]
    ]
    return tuple(
        sorted(
            (
                names[found.features[i, s]],
                "too high" if found.values[i, s] > found.expected[i, s] else "too low",
            )
            for s in main
        )
    )


def _bands_of_rows(answer: Answer) -> list[tuple[tuple[str, str], ...] | str]:
    """The main band of each flagged row of spectra; bands that overlap are one."""
    known: list[tuple[int, int, float, str]] = []
    keys: list[tuple[tuple[str, str], ...] | str] = []
    for shares in answer.contributions:
        found = sorted(bands(shares, 5), key=lambda band: -abs(band[2]))
        if not found:
            keys.append(MANY)
            continue
        first, last, share = found[0]
        same = [
            name
            for start, end, sign, name in known
            if sign * share > 0
            and min(last, end) - max(first, start) + 1
            >= OVERLAP * (min(last - first, end - start) + 1)
        ]
        if not same:
            same = [main_bands(shares, answer.names, 1)[0][0]]
            known.append((first, last, share, same[0]))
        keys.append(((same[0], "too high" if share > 0 else "too low"),))
    return keys


def _cause(answer: Answer, key: tuple[tuple[str, str], ...] | str, members: list[int]) -> Cause:
    rows = np.sort(answer.extreme[members])
    if isinstance(key, str):
        return Cause(key, rows)
    words = " and ".join(f"{name} {how}" for name, how in key)
    names = tuple(name for name, _ in key)
    if answer.profile:
        return Cause(words, rows, names)
    found, at = answer.explanation, answer.names.index(names[0])
    place = np.argmax(found.features[members] == at, axis=1)
    values, expected = found.values[members, place], found.expected[members, place]
    return Cause(
        words, rows, names, float(np.min(values)), float(np.max(values)), float(np.median(expected))
    )


def span_words(answer: Answer, rows: npt.NDArray[np.intp]) -> str:
    """Where rows are: by their times or labels if they follow each other, else by the first few."""
    times = answer.times_of_rows
    if _dense(rows) and times is not None:
        return span_of_times(times[rows[0]], times[rows[-1]])
    if _dense(rows):
        ends = dict.fromkeys((str(answer.ids[rows[0]]), str(answer.ids[rows[-1]])))
        return " to ".join(ends)
    first = (answer.ids[row] if times is None else one_time(times[row]) for row in rows[:3])
    shown = ", ".join(map(str, first))
    return f"{shown} and {whole(len(rows) - 3)} more" if len(rows) > 3 else shown


def wrong_words(cause: Cause, cut: Callable[[str], str]) -> str:
    """What is wrong with some rows; `cut` shortens names.

    Such as "rpm too low (0 to 3, about 1,440 expected)".
    """
    if not np.isfinite(cause.expected) or len(cause.features) != 1:
        return cut(cause.words)
    low, high = figures(cause.low), figures(cause.high)
    values = low if low == high else f"{low} to {high}"
    return f"{cut(cause.words)} ({values}, about {figures(cause.expected)} expected)"


def cause_words(answer: Answer, cause: Cause, cut: Callable[[str], str]) -> str:
    """What is wrong with some rows, and where they are: "rpm too low, 02:00 to 02:59"."""
    where = "" if answer.times_of_rows is not None else "row " if len(cause.rows) == 1 else "rows "
    return f"{wrong_words(cause, cut)}, {where}{cut(span_words(answer, cause.rows))}"


def kinds_words(answer: Answer) -> str:
    """How many flagged rows are off the model, and how many only far out in it."""
    extreme = int(np.count_nonzero(answer.types[answer.extreme] == "good leverage"))
    off = len(answer.extreme) - extreme
    if not extreme:
        return "all off the model" if off > 1 else "off the model"
    if not off:
        return "all merely extreme" if extreme > 1 else "merely extreme"
    return f"{whole(off)} off the model, {whole(extreme)} merely extreme"
