"""What the answer says, in sentences."""

from __future__ import annotations

import math

import numpy as np

from torpca._answer import Answer
from torpca._causes import (
    IN_LINE,
    MANY,
    NOT_EXPLAINED,
    because_of,
    cause_words,
    kinds_words,
    span_words,
    wrong_words,
)
from torpca._estimators.labels import UNKNOWN
from torpca._estimators.settled import still_moving
from torpca._estimators.words import stability_words
from torpca._names import FROM_ONE
from torpca._report.encode import short
from torpca._report.rows import Detail, Drawn
from torpca._words import counted, degrees, figures, percent, whole

# Angles in degrees up to which ordinary PCA is nearly, or roughly, what the good rows say.
NEARLY, ROUGHLY = 5.0, 45.0
# A drop in variance of fewer times than this leaves open which directions come before it.
UNCLEAR = 1.5
# Extreme rows described in a sentence.
DESCRIBED = 3

MODEL_OF_OTHERS = "The model and its limits come from other rows, and were left as they are."
NEW = f"{MODEL_OF_OTHERS} Ordinary PCA, where it is shown, is that of the new rows alone."

KIND_WORDS = {
    "regular": "Within both limits: like most rows.",
    "good leverage": "Merely extreme: far from the centre, but in line with the good rows.",
    "orthogonal": "Off the model: the values do not go together as in the good rows.",
    "bad leverage": "Off the model, and far from the centre too.",
    UNKNOWN: "Too few cells to be judged: in no picture.",
}


def headline(answer: Answer) -> str:
    """The answer in one sentence."""
    n, m = len(answer.ids), len(answer.extreme)
    if answer.new:
        share = f" ({percent(m / n)})" if m > 1 else ""
        which = f"{whole(m)} of {counted(n, 'new row')}{share} {'is' if m == 1 else 'are'}"
        which = which if m else f"None of {whole(n)} new rows is"
        then = "" if answer.baseline is None else f"; at the fit {percent(answer.baseline.share)}"
        how = "flagged" if set_by_hand(answer) else "beyond the limits of the model"
        return f"{which} {how}{then}{' were' if then else ''}."
    if m == 0 and set_by_hand(answer):
        return f"None of {counted(n, 'row')} is flagged, by the share that was set."
    if m == 0:
        judged = " that can be judged" if len(answer.unknown) else ""
        rows = counted(answer.n_judged, "row")
        return f"All {rows}{judged} agree: none is farther out than the limits allow."
    if by_chance(answer):
        return (
            f"{whole(m)} of {counted(n, 'row')} {'is' if m == 1 else 'are'} beyond a limit, about "
            "as many as chance alone would put there."
        )
    if m == 1:
        return f"One of {counted(n, 'row')} is unlike the others: {kinds_words(answer)}."
    kinds = kinds_words(answer)
    return f"{whole(m)} of {counted(n, 'row')} ({percent(m / n)}) are unlike the others: {kinds}."


def second_sentence(answer: Answer) -> str:
    """What to know beside the headline before looking at the map."""
    m = len(answer.extreme)
    if m == 0:
        return MODEL_OF_OTHERS if answer.new else variance_words(answer)
    if by_chance(answer):
        return (
            f"About {percent(1 - answer.limit)} of good rows are beyond a limit: look at the most "
            "extreme rows before you call any row bad."
        )
    explained = [cause for cause in answer.causes if cause.words != NOT_EXPLAINED]
    if not explained:
        return variance_words(answer)
    first = max(explained, key=lambda cause: len(cause.rows))
    n, looked_at = len(first.rows), sum(len(cause.rows) for cause in explained)
    of_which = f"of {'these' if looked_at == m else 'the'} {whole(looked_at)}"
    of_which += " rows" if looked_at == m else " most extreme rows"
    if first.words == MANY:
        return f"In {whole(n)} {of_which}, many features are off at once."
    if first.words == IN_LINE:
        return f"{whole(n)} {of_which} {'is' if n == 1 else 'are'} in line with the good rows."
    # Of rows that are scattered, the first few would not help.
    scattered = span_words(answer, first.rows).endswith(" more")
    why = wrong_words(first, short) if scattered else cause_words(answer, first, short)
    if n == m:
        return f"{'The cause' if m == 1 else f'All {whole(m)} have one cause'}: {why}."
    if n == 1:
        label, why = extreme_words(answer)[0]
        return f"They have no cause in common; the most extreme is row {short(label)}, {why}"
    return f"The commonest cause, in {whole(n)} {of_which}: {why}."


def lead(answer: Answer) -> list[str]:
    """The sentences after the map: how sure, what the good rows look like, what PCA makes."""
    sentences = []
    if by_chance(answer) and len(answer.extreme):
        sentences.append(
            f"The limits are such that about {percent(1 - answer.limit)} of good rows are beyond "
            "one of them. Look at the most extreme rows before you call any row bad."
        )
    if set_by_hand(answer):
        sentences.append(
            "How many rows to flag was set by hand, so the flagged rows are not exactly those "
            "beyond the limits."
        )
    if answer.new:
        return [*sentences, NEW]
    return [*sentences, variance_words(answer), ordinary_words(answer)]


def variance_words(answer: Answer) -> str:
    """How much of the variance of the good rows the components describe."""
    k = len(answer.explained)
    if k == 0:
        return "The other rows are all the same, so there is no direction in which they differ."
    whose = " of the good rows" if len(answer.extreme) else ""
    share = percent(float(np.sum(answer.explained)))
    return f"{counted(k, 'component')} describe{'s' * (k == 1)} {share} of the variance{whose}."


def ordinary_words(answer: Answer) -> str:
    """What ordinary PCA would have found, and how far that is from what the good rows say."""
    if not len(answer.explained):
        return "Ordinary PCA has no direction either to compare with."
    apart = degrees(answer.angle)
    share = percent(float(np.sum(answer.plain_explained)))
    same = f"Ordinary PCA of all rows describes {share} of their variance with as many"
    if answer.angle <= NEARLY:
        return f"{same}, in nearly the same directions ({apart} apart at most)."
    if not len(answer.extreme) or answer.rank.gap < UNCLEAR:
        return (
            f"{same}, in directions up to {apart} away. The last component is hardly stronger than "
            "the next one, so a large angle need not mean much."
        )
    if answer.angle <= ROUGHLY:
        return f"{same}, in directions up to {apart} away. It counts the flagged rows as well."
    return (
        f"{same}, but in directions up to {apart} away. It counts the flagged rows as well, and at "
        "least one of its directions lies mostly outside the components of the good rows."
    )


def extreme_words(answer: Answer) -> list[tuple[str, str]]:
    """The most extreme rows: the id of each, and what is wrong with it."""
    described = []
    for i, row in enumerate(answer.extreme[:DESCRIBED]):
        beyond = times_beyond(answer, int(row))
        how_far = f", {beyond} its limit" if beyond else ""
        why = because_of(answer, i, short)
        described.append((str(answer.ids[row]), f"{answer.types[row]}{how_far}: {why}."))
    return described


def times_beyond(answer: Answer, row: int) -> str:
    """How many times its limit the farther of a row's distances is; empty if a limit is zero."""
    times = farther(answer, row)
    if not math.isfinite(times):
        return ""
    if times >= 1e6:
        return "more than a million times"
    return f"{times:.1f} times" if times < 10 else f"{whole(round(times))} times"


def rank_words(answer: Answer) -> list[str]:
    """Why as many components, and what speaks for it."""
    choice = answer.rank
    k = counted(choice.rank, "component")
    share = percent(float(np.sum(answer.explained)))
    explained = f"Together they describe {share} of the variance of the good rows."
    if choice.rank == 1:
        explained = f"It describes {share} of the variance of the good rows."
    gap = (
        f"The variance drops {figures(choice.gap)} times after component {choice.rank}"
        if math.isfinite(choice.gap)
        else f"No variance is left after component {choice.rank}"
    )
    if choice.rule == "given":
        why = f"{k} {'was' if choice.rank == 1 else 'were'} asked for. {gap}."
        if choice.gap < 2:
            why += " That is no clear end: look at the picture, and try one more or one fewer."
    elif choice.rank == 0:
        return ["More than half of the rows are the same, so there is no component."]
    elif choice.rule == "gap":
        why = (
            f"{gap}. A drop of eight times or more is taken for the end of the signal, because "
            f"noise is often about equally strong in all directions: {k}."
        )
    elif choice.rule == "exact":
        why = (
            f"More than half of the rows lie in {counted(choice.rank, 'direction')} up to "
            "rounding, so these rows have no noise."
        )
    elif choice.rule == "edge":
        why = (
            f"There is no sharp drop in the variances, and {k} is the most that is taken then. "
            "The data may have no true number of components: try the one you need."
        )
    else:
        why = (
            "No number of components stands out, so as many were taken as describe the share of "
            f"the variance that is wanted (90% unless another was asked for): {k}."
        )
    return [why, explained, *stability_words(answer.stability, len(answer.ids))]


def fit_words(answer: Answer) -> str:
    """Whether and how fast the fit settled."""
    steps = counted(len(answer.history), "iteration")
    if not answer.history:
        return "The fit needed no iterations."
    kept = [step.n_kept for step in answer.history]
    # A part of many rows is iterated on before all of them are looked at.
    part = " The first of them were on a part of the rows." if max(kept) > 4 * kept[0] else ""
    if answer.converged:
        return f"The fit settled after {steps}.{part}"
    if still_moving(answer.converged, answer.history) is None:
        moved = figures(answer.history[-1].subspace_change)
        return (
            f"The fit ended after {steps}, when the directions moved by no more than {moved}, as "
            f"the sine of an angle: too little to matter.{part}"
        )
    return (
        f"The fit did not settle in {steps}: the directions still moved in the last one. Take the "
        f"result as provisional, and try another number of components or more iterations.{part}"
    )


def drawn_words(answer: Answer, drawn: Drawn) -> str:
    """Which rows the pictures show."""
    m, good = len(answer.extreme), answer.n_judged - len(answer.extreme)
    judged = " that can be judged" if len(answer.unknown) else ""
    shown = len(drawn.rows) - drawn.n_flagged
    if shown == good and drawn.n_flagged == m:
        return f"The pictures show all {counted(answer.n_judged, 'row')}{judged}."
    flagged = {0: "", 1: "the flagged row and "}.get(m, f"all {whole(m)} flagged rows and ")
    if drawn.n_flagged < m:
        flagged = f"the {whole(drawn.n_flagged)} most extreme of {whole(m)} flagged rows and "
    some = f"a sample of {whole(shown)} of" if shown < good else "all of"
    return f"The pictures show {flagged}{some} the {whole(good)} other rows{judged}."


def flagged_words(answer: Answer) -> str:
    """How many rows the table lists, and in which order."""
    m = len(answer.extreme)
    if m == 0:
        return "No row is flagged."
    said = f"{counted(m, 'row')} of {whole(len(answer.ids))}, the most extreme first."
    return f"{said} {number_words(answer)}".rstrip()


def number_words(answer: Answer) -> str:
    """What the numbers by which rows are called count; empty if rows have names."""
    return f"Rows are {FROM_ONE}, by their lines of data." if answer.numbered else ""


def left_out_words(answer: Answer, detail: Detail) -> list[str]:
    """What this page does not say, because it would be too large."""
    m = len(answer.extreme)
    words = []
    if detail.explained is not None and m > detail.explained:
        words.append(
            f"Features are named for the {whole(detail.explained)} most extreme rows only, or this "
            "page would be too large."
        )
    if detail.labelled is not None and len(answer.ids) > detail.labelled:
        words.append(
            f"Rows after the {whole(detail.labelled)} most extreme are called by their row "
            f"numbers, {FROM_ONE}, or this page would be too large."
        )
    return words


def assumptions(answer: Answer) -> list[str]:
    """What the method takes for granted, whatever the data."""
    limits, unit = answer.cutoffs, "scaled columns" if answer.scaled else "data"
    return [
        "More than half of the rows are good, and lie near one common set of directions. If the "
        "bad rows are the majority, they may be taken for the good ones.",
        f"The score limit is {figures(limits['score'])} standard deviations, and the orthogonal "
        f"limit {figures(limits['orthogonal'])} in the unit of the {unit}. If the good rows are "
        f"Gaussian, about {percent((1 - answer.limit) / 2)} of them exceed each.",
        "A flagged row is unusual, which need not mean wrong: whether to correct it, leave it out "
        "or study it is for you to say.",
    ]


# ---- what is so --------------------------------------------------------------------------------


def set_by_hand(answer: Answer) -> bool:
    """Whether other rows are flagged than those beyond a limit."""
    beyond = answer.times > 1
    # A row on its limit may fall on either side by rounding.
    return int(np.count_nonzero(beyond != answer.flagged)) > 1


def by_chance(answer: Answer) -> bool:
    """Whether no more rows are flagged than a clean table would have, and none is far out."""
    n, m = answer.n_judged, len(answer.extreme)
    expected = (1 - answer.limit) * n
    if m == 0 or set_by_hand(answer):
        return False
    if m > expected + 2 * math.sqrt(expected):
        return False
    return farther(answer, int(answer.extreme[0])) < 2.0


def farther(answer: Answer, row: int) -> float:
    """The larger of a row's distances in units of its limit; infinite if a limit is zero."""
    return float(answer.times[row])
