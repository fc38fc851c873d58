"""The part of the page on single cells: a map of them, and the bad ones by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._answer import Answer
from torpca._missing.cell_map import GROUPS, CellMap, farthest_within, first_columns, group_words
from torpca._missing.tuning import CUT
from torpca._report.encode import packed, short, text
from torpca._words import counted, figures, listed

# Columns that a wide screen tells apart, and bad cells that are named.
COLUMNS, NAMED = 600, 50
# Residuals are packed in hundredths, up to this size; what is missing has a number of its own.
LARGEST, MISSING = 300.0, -32768

LINK = '<a href="#cells">Cell map</a>'


def cells_section(answer: Answer) -> str:
    """The section; empty if there is nothing to say about single cells."""
    if answer.cells is None:
        return ""
    return (
        '<section id="cells" aria-labelledby="cells-title"><h2 id="cells-title">Cell map</h2>'
        f"<p>{text(map_words(answer.cells))}</p>"
        f'<ul class="legend short" aria-label="Colours">{key(answer.cells)}</ul>'
        '<div id="cell-map" class="chart" role="img" '
        f'aria-label="{text(picture_words(answer))}"></div>'
        f"{bad_cells(answer)}</section>"
    )


def cells_payload(answer: Answer) -> dict[str, Any] | None:
    """What the script draws from: residuals of rows by columns, names of both."""
    if answer.cells is None:
        return None
    chosen, residuals = answer.cells.chosen, answer.cells.residuals
    d = residuals.shape[1]
    starts = first_columns(d, COLUMNS)
    z = np.clip(farthest_within(residuals, starts), -LARGEST, LARGEST)
    hundredths = np.where(np.isnan(z), MISSING, np.rint(100 * np.nan_to_num(z)))
    return {
        "d": d,
        "wide": int(starts[1]) if len(starts) > 1 else d,
        "ids": [short(str(answer.ids[row])) for row in chosen.rows],
        "groups": [GROUPS.index(group) for group in chosen.groups.tolist()],
        "names": [short(answer.names[j]) for j in starts],
        "residuals": packed(hundredths, "i2"),
    }


# ---- words ---------------------------------------------------------------------------------------


def map_words(cells: CellMap) -> str:
    """How to read the map, and which rows it has."""
    phrases = group_words(cells.chosen.groups, cells.chosen.totals)
    return (
        "Each line is a row, each column a feature. A cell has a colour if it is not what the "
        "other cells of its row let expect: the stronger, the farther. From "
        f"{CUT:g} standard deviations on it is bad; of Gaussian good cells one in two thousand is. "
        "Columns too narrow to be told apart share one, coloured by the farthest of their cells. "
        f"From the top: {listed(phrases)}."
    )


def picture_words(answer: Answer) -> str:
    """The map for those who do not see it."""
    assert answer.cells is not None
    m, d = answer.cells.residuals.shape
    said = f"Cell map: {counted(m, 'row')} by {counted(d, 'feature')}"
    n_bad = int(np.count_nonzero(answer.cells.bad))
    below = "; the table below has the numbers" if n_bad else ""
    return f"{said}, {counted(n_bad, 'bad cell')}{below}"


def key(cells: CellMap) -> str:
    """What the colours mean, a list."""
    kinds = [("up", "too large"), ("down", "too small")]
    if np.any(np.isnan(cells.residuals)):
        kinds.append(("hole", "missing"))
    return "".join(
        '<li><svg class="sign" aria-hidden="true" viewBox="-8 -8 16 16">'
        f'<path class="{kind}" d="M-6 -6H6V6H-6Z"/></svg>'
        f"<span>{words}</span></li>"
        for kind, words in kinds
    )


def bad_cells(answer: Answer) -> str:
    """The bad cells of the rows of the map, the farthest first, as a table to unfold."""
    assert answer.cells is not None
    rows, columns = np.nonzero(answer.cells.bad)
    if len(rows) == 0:
        return ""
    z = answer.cells.residuals[rows, columns]
    order = np.argsort(-np.abs(z), kind="stable")[:NAMED]
    lines = "".join(
        f'<tr><th scope="row"><bdi>{text(short(str(answer.ids[row])))}</bdi></th>'
        f"<td><bdi>{text(short(answer.names[column]))}</bdi></td>"
        f"<td>{figures(abs(float(size)))} too {'large' if size > 0 else 'small'}</td></tr>"
        for row, column, size in zip(
            answer.cells.chosen.rows[rows[order]], columns[order], z[order], strict=True
        )
    )
    which = "" if len(order) == len(rows) else f"{len(order)} farthest of the "
    title = "The bad cell" if len(rows) == 1 else f"The {which}{counted(len(rows), 'bad cell')}"
    return (
        f"<details><summary>{title}</summary>"
        '<div class="scroll" role="region" aria-label="Bad cells" tabindex="0"><table><thead><tr>'
        '<th scope="col">Row</th><th scope="col">Feature</th>'
        f'<th scope="col">Standard deviations</th></tr></thead><tbody>{lines}</tbody></table>'
        "</div></details>"
    )
