"""What the page's scripts draw from: the rows, their coordinates and their features, packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._bands import named_bands
from torpca._kinds import KINDS
from torpca._report.causes import causes_payload, reasons_payload
from torpca._report.cells import cells_payload
from torpca._report.encode import (
    finite,
    numbered,
    packed,
    packed_distances,
    packed_scores,
    short,
)
from torpca._report.loadings import loadings_payload
from torpca._report.next_steps import next_payload
from torpca._report.over_order import order_payload
from torpca._report.plain import plain_payload
from torpca._report.points import first_features, largest_within
from torpca._report.rows import Detail, Drawn, drawn_rows, good_rows
from torpca._report.values import values_payload
from torpca._sources.base import Floats

# Features named for a row that is shown in detail.
NAMED = 10
# Variances shown after the chosen rank, and shown at all.
AFTER_RANK, MOST_VARIANCES = 10, 60


def payload(answer: Answer, detail: Detail) -> dict[str, Any]:
    """Everything the scripts need, ready for JSON."""
    drawn = drawn_rows(answer, detail)
    names: dict[str, int] = {}
    distance = packed_scores if detail.coarse else packed_distances
    return {
        "n": len(answer.ids),
        "flagged": len(answer.extreme),
        "drawn": len(drawn.rows),
        "drawnFlagged": drawn.n_flagged,
        "kinds": KINDS,
        "limits": [finite(answer.cutoffs["score"]), finite(answer.cutoffs["orthogonal"])],
        # The number of a row and, in two bits, its kind: half a million rows may be flagged.
        "rows": packed(
            4 * (answer.numbers[drawn.rows] - 1) + kind_numbers(answer.types[drawn.rows]), "u4"
        ),
        "ids": row_ids(answer, drawn, detail),
        "score": distance(answer.score_distances[drawn.rows], answer.cutoffs["score"]),
        "orthogonal": distance(
            answer.orthogonal_distances[drawn.rows], answer.cutoffs["orthogonal"]
        ),
        "ours": our_coordinates(answer, drawn, detail),
        "plain": coordinates(answer.plain_scores, answer, drawn, detail),
        "profile": answer.profile,
        "features": top_features(answer, detail, names),
        "reasons": reasons_payload(answer, detail, names),
        "causes": causes_payload(answer, drawn),
        "shares": all_shares(answer, names),
        "scree": scree(answer),
        "cells": cells_payload(answer),
        "history": [[step.n_kept, finite(step.subspace_change)] for step in answer.history],
        "scaled": answer.scaled,
        "order": order_payload(answer, drawn),
        "loadings": loadings_payload(answer),
        "values": values_payload(answer, drawn, detail.values),
        "plainFlagged": plain_payload(answer, drawn),
        "next": next_payload(answer),
        "names": [short(name) for name in names],  # last, when all are known
    }


def kind_numbers(types: npt.NDArray[np.str_]) -> npt.NDArray[np.uint8]:
    """Number of each row's type among KINDS."""
    kinds = np.zeros(len(types), dtype=np.uint8)
    for number, kind in enumerate(KINDS):
        kinds[types == kind] = number
    return kinds


def row_ids(answer: Answer, drawn: Drawn, detail: Detail) -> list[str] | None:
    """Labels of the drawn rows; None if they are the row numbers, counted from 1."""
    if answer.numbered:
        return None
    rows = drawn.rows if detail.labelled is None else drawn.rows[: detail.labelled]
    ids: list[str] = answer.ids[rows].tolist()
    return ids


# ---- scores -------------------------------------------------------------------------------------


def coordinates(scores: Floats, answer: Answer, drawn: Drawn, detail: Detail) -> dict[str, Any]:
    """Scores of the drawn rows on the first components, and where the good rows are."""
    scores = scores[:, : detail.components]
    mean, covariance = good_moments(scores[good_rows(answer)])
    return {
        "scores": [
            packed_scores(scores[drawn.rows, j], float(np.sqrt(covariance[j, j])))
            for j in range(scores.shape[1])
        ],
        "mean": mean.tolist(),
        "covariance": covariance.tolist(),
    }


def our_coordinates(answer: Answer, drawn: Drawn, detail: Detail) -> dict[str, Any]:
    """Scores on the components of the fit; new rows are set beside the good rows of the fit."""
    made = coordinates(answer.scores, answer, drawn, detail)
    variances = answer.variances[: detail.components]
    if answer.new and np.all(np.isfinite(variances)):
        made["mean"] = [0.0] * len(variances)
        made["covariance"] = np.diag(variances).tolist()
    return made


def good_moments(scores: Floats) -> tuple[Floats, Floats]:
    """Mean (c,) and covariance (c, c) of these scores (m, c); zeros if there are too few."""
    c = scores.shape[1]
    if len(scores) < 3:
        return np.zeros(c), np.zeros((c, c))
    # Squares of very large or small scores are no numbers; those of scaled ones are.
    size = float(np.max(np.abs(scores), initial=0.0)) or 1.0
    covariance = np.atleast_2d(np.cov(scores.T / size)) * size
    mean = np.mean(scores / size, axis=0) * size
    with np.errstate(over="ignore", under="ignore"):
        covariance = covariance * size
    return (mean, covariance) if np.all(np.isfinite(covariance)) else (mean, np.zeros((c, c)))


# ---- features -----------------------------------------------------------------------------------


def top_features(answer: Answer, detail: Detail, names: dict[str, int]) -> dict[str, Any]:
    """Features that explain the flagged rows, in per cent of their distances, with the sign."""
    features = answer.features if detail.explained is None else answer.features[: detail.explained]
    per_row = max((len(row) for row in features), default=0)
    places = np.zeros((len(features), per_row), dtype=np.int64)
    shares = np.zeros((len(features), per_row))
    for i, row in enumerate(features):
        places[i, : len(row)] = numbered([name for name, _ in row], names)
        shares[i, : len(row)] = [share for _, share in row]
    return {
        "perRow": per_row,
        "rows": len(features),
        "places": packed(places, "u4" if len(names) > 0xFFFF else "u2"),
        "wide": len(names) > 0xFFFF,
        "percent": packed(np.rint(100 * shares), "i1"),
    }


def all_shares(answer: Answer, names: dict[str, int]) -> dict[str, Any]:
    """For the most extreme rows: more features by name, and a profile over all of them."""
    shares = answer.contributions
    m, d = shares.shape
    places, values = np.zeros((m, NAMED), dtype=np.int64), np.zeros((m, NAMED))
    for i in range(m):
        found = named_bands(shares[i], answer.names, NAMED, short)
        places[i, : len(found)] = numbered([name for name, _ in found], names)
        values[i, : len(found)] = [share for _, share in found]
    starts = first_features(d)
    return {
        "rows": m,
        "named": NAMED,
        "d": d,
        "places": packed(places, "u4"),
        "values": packed(np.rint(10_000 * values), "i2"),
        "points": len(starts),
        "pointNames": [short(answer.names[j]) for j in starts],
        "profile": packed(np.rint(10_000 * largest_within(shares, starts)), "i2"),
    }


# ---- rank ---------------------------------------------------------------------------------------


def scree(answer: Answer) -> dict[str, Any]:
    """The leading variances of the good rows as shares, and the number of components chosen."""
    shown = min(max(answer.rank.rank + AFTER_RANK, 2 * answer.rank.rank), MOST_VARIANCES)
    return {
        "rank": answer.rank.rank,
        "variances": [float(share) for share in answer.rank.variances[:shown]],
        "plain": [float(share) for share in answer.plain_explained[:shown]],
    }
