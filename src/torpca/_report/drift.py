"""The part of a page on new rows that tells how they differ from those of the fit."""

from __future__ import annotations

import numpy as np

from torpca._answer import Answer
from torpca._cusum import TO_DEVIATION
from torpca._estimators.labels import UNKNOWN
from torpca._report.encode import text
from torpca._sources.base import Floats
from torpca._words import figures, percent, whole

# Components in the table.
COMPONENTS = 12
# Standard errors of a median from which on a shift is more than chance: one in 200 for each.
CLEAR = 2.81
# Variance of a median in units of that of a mean, of Gaussian rows.
MEDIAN = np.pi / 2

MINUS = "\N{MINUS SIGN}"
LINK = '<a href="#drift">Drift</a>'


def drift_section(answer: Answer) -> str:
    """The section; empty unless the rows are new ones."""
    if not answer.new:
        return ""
    said = [*baseline_words(answer), *distance_words(answer), *shift_words(answer)]
    return (
        '<section id="drift" aria-labelledby="drift-title"><h2 id="drift-title">Drift since the fit'
        f"</h2><p>{text(' '.join(said))}</p>"
        f"{shift_table(answer)}"
        '<p class="help">The distances of the rows in their order, with their limits, are '
        '<a href="#order">further down</a>.</p></section>'
    )


def baseline_words(answer: Answer) -> list[str]:
    """Share of flagged rows now and at the fit, where that is known."""
    now = percent(len(answer.extreme) / max(answer.n_judged, 1))
    base = answer.baseline
    if base is None:
        return [
            f"{now} of the rows are flagged now. How many were at the fit is not known. Of good "
            f"rows about {percent(1 - answer.limit)} are beyond a limit."
        ]
    return [
        f"{now} of the rows are flagged now, {percent(base.share)} at the fit "
        f"({whole(base.n_flagged)} of {whole(base.n_rows)} rows)."
    ]


def distance_words(answer: Answer) -> list[str]:
    """Both median distances now and at the fit, where that is known."""
    judged = answer.types != UNKNOWN
    said = []
    for which, distances in (
        ("score", answer.score_distances),
        ("orthogonal", answer.orthogonal_distances),
    ):
        reference = answer.references.get(which)
        if reference is not None and np.any(judged):
            now = figures(float(np.median(distances[judged])))
            said.append(
                f"The median {which} distance is {now}, and was about "
                f"{figures(reference.centre**1.5)} at the fit; its limit is "
                f"{figures(answer.cutoffs[which])}."
            )
    return said


def shifts(answer: Answer) -> tuple[Floats, Floats, float]:
    """Shift and spread of the new rows on each component, and what chance makes of a shift.

    The shift is the median score in standard deviations of the good rows of the fit, the spread the
    median absolute deviation in the same unit, 1 for rows like these.
    """
    judged = answer.types != UNKNOWN
    deviations = np.sqrt(answer.variances)
    units = np.where(deviations > 0, deviations, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        z = answer.scores[judged] / units
    n = len(z)
    if n == 0 or z.shape[1] == 0:
        return np.zeros(0), np.zeros(0), np.inf
    middle = np.median(z, axis=0)
    spread = TO_DEVIATION * np.median(np.abs(z - middle), axis=0)
    error = np.sqrt(MEDIAN / n)
    if answer.baseline is not None:  # the centre of the fit is uncertain as well
        error = np.hypot(error, np.sqrt(1 / max(answer.baseline.n_rows, 1)))
    return middle, spread, CLEAR * float(error)


def shift_words(answer: Answer) -> list[str]:
    """Whether the rows have moved along the components."""
    middle, _, chance = shifts(answer)
    if len(middle) == 0:
        return []
    far = np.flatnonzero(np.abs(middle) > chance)
    if len(far) == 0:
        return [
            "The rows have moved along no component by more than chance explains "
            f"({figures(chance)} standard deviations)."
        ]
    worst = int(far[np.argmax(np.abs(middle[far]))])
    which = "component" if len(far) == 1 else "components"
    return [
        f"The rows have moved along {whole(len(far))} {which}, most along component {worst + 1}: "
        f"by {figures(abs(float(middle[worst])))} standard deviations of the good rows of the fit, "
        f"where chance explains {figures(chance)}."
    ]


def shift_table(answer: Answer) -> str:
    """Shift and spread of each component, with a bar."""
    middle, spread, chance = shifts(answer)
    if len(middle) == 0:
        return ""
    most = max(float(np.max(np.abs(middle[:COMPONENTS]))), chance if np.isfinite(chance) else 0, 1)
    lines = ""
    for j, (shift, wide) in enumerate(
        zip(middle[:COMPONENTS].tolist(), spread[:COMPONENTS].tolist(), strict=True)
    ):
        start, long = (
            (50, 50 * shift / most) if shift >= 0 else (50 + 50 * shift / most, -50 * shift / most)
        )
        strong = "up" if abs(shift) > chance else "left"
        lines += (
            f'<tr><th scope="row">{j + 1}</th>'
            f'<td class="number">{"+" if shift >= 0 else MINUS}{figures(abs(shift))}</td>'
            f'<td class="number">{figures(wide)}</td>'
            '<td><svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" '
            f'aria-hidden="true"><rect class="{strong}" x="{start:.1f}" '
            f'width="{max(long, 0.6):.1f}" height="8"/><path class="middle" d="M50 0V8"/></svg>'
            "</td></tr>"
        )
    more = len(middle) - COMPONENTS
    rest = f"<p>The first {COMPONENTS} of {len(middle)} components.</p>" if more > 0 else ""
    return (
        '<div class="scroll" role="region" aria-label="Shift of each component" tabindex="0">'
        '<table class="holes"><thead><tr><th scope="col">Component</th>'
        '<th scope="col" class="number">Shift (standard deviations)</th>'
        '<th scope="col" class="number">Spread (1 at the fit)</th><th scope="col"></th></tr>'
        f"</thead><tbody>{lines}</tbody></table></div>{rest}"
        '<p class="help">Medians, which some flagged rows do not move; a red bar is farther than '
        "chance explains.</p>"
    )
