"""The part of the page on missing cells: how many, where, and whether that goes with being bad."""

from __future__ import annotations

from torpca._answer import Answer
from torpca._missing_cells import Together
from torpca._missing_words import flagged_and_missing
from torpca._report.encode import short, text
from torpca._words import counted, listed, percent, whole

# Columns in the table, and rows that are named.
COLUMNS, NAMED = 10, 20

LINK = '<a href="#missing">Missing cells</a>'


def missing_section(answer: Answer) -> str:
    """The section; empty if no cell is missing."""
    if not answer.missing.cells:
        return ""
    paragraphs = [amount_words(answer), done_words(answer), together_words(answer)]
    return (
        '<section id="missing" aria-labelledby="missing-title">'
        '<h2 id="missing-title">Missing cells</h2>'
        + "".join(f"<p>{text(words)}</p>" for words in paragraphs[:2] if words)
        + column_table(answer)
        + unknown_rows(answer)
        + (f"<p>{text(paragraphs[2])}</p>" if paragraphs[2] else "")
        + "</section>"
    )


def amount_words(answer: Answer) -> str:
    """How many cells are missing, in how many rows and columns."""
    missing = answer.missing
    n = len(missing.of_rows) + missing.n_dropped
    verb = "is" if missing.cells == 1 else "are"
    return (
        f"{whole(missing.cells)} of {counted(missing.total, 'cell')} ({percent(missing.share)}) "
        f"{verb} missing, in {whole(missing.rows)} of {counted(n, 'row')} and "
        f"{whole(len(missing.worst))} of {counted(len(answer.names), 'column')}."
    )


def done_words(answer: Answer) -> str:
    """What became of the rows."""
    if answer.missing.n_dropped:
        return (
            f"{counted(answer.missing.n_dropped, 'row')} with missing cells "
            f"{'was' if answer.missing.n_dropped == 1 else 'were'} left out before the fit "
            "(--missing drop-rows), and nothing here is about them. Whether cells are missing more "
            "often in bad rows cannot be told then; --missing model keeps all rows."
        )
    return (
        "Rows were judged by the cells they have. Where ordinary PCA is shown, and in the "
        "coordinates, missing cells are what the model expects there."
    )


def column_table(answer: Answer) -> str:
    """The columns with most missing cells, a bar each."""
    missing = answer.missing
    n = len(missing.of_rows) + missing.n_dropped
    lines = ""
    for j in missing.worst[:COLUMNS].tolist():
        share = int(missing.of_columns[j]) / n
        lines += (
            f'<tr><th scope="row"><bdi>{text(short(answer.names[j]))}</bdi></th>'
            f'<td class="number">{whole(missing.of_columns[j])}</td>'
            f'<td class="number">{percent(share)}</td>'
            '<td><svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" '
            f'aria-hidden="true"><rect class="left" width="{100 * share:.1f}" height="8"/></svg>'
            "</td></tr>"
        )
    more = len(missing.worst) - COLUMNS
    rest = f"<p>{counted(more, 'more column')} with as many or fewer.</p>" if more > 0 else ""
    return (
        '<div class="scroll" role="region" aria-label="Columns with most missing cells" '
        'tabindex="0"><table class="holes"><thead><tr><th scope="col">Column</th>'
        '<th scope="col" class="number">Missing cells</th>'
        '<th scope="col" class="number">Of its rows</th><th scope="col"></th></tr></thead>'
        f"<tbody>{lines}</tbody></table></div>{rest}"
    )


def unknown_rows(answer: Answer) -> str:
    """The rows with too few cells to be judged, by name; empty if there are none."""
    m, k = len(answer.unknown), len(answer.explained)
    if not m:
        return ""
    why = f"no more cells than there are components ({k})" if k else "no cells"
    said = f"{counted(m, 'row')} {'has' if m == 1 else 'have'} {why} and cannot be judged"
    names = [
        f"<strong><bdi>{text(short(str(answer.ids[i])))}</bdi></strong>"
        for i in answer.unknown[:NAMED]
    ]
    more = f" and {whole(m - NAMED)} more" if m > NAMED else ""
    which = ", ".join(names) + more if more else listed(names)
    return f"<p>{text(said)}: {which}. The pictures do not show them.</p>"


def together_words(answer: Answer) -> str:
    """Whether missing goes with being flagged; empty if there is nothing to compare."""
    found = flagged_and_missing(answer)
    if found is None:
        return ""
    said = (
        f"Of the cells of flagged rows {percent(found.flagged)} are missing, of those of the other "
        f"rows {percent(found.others)}"
    )
    if not found.large:
        return f"{said}: no clear difference ({test_words(found)})."
    more, fewer = ("flagged", "other") if found.flagged > found.others else ("other", "flagged")
    return (
        f"{said}. Caution: cells are missing more often in {more} than in {fewer} rows "
        f"({test_words(found)}). What made them go missing may have to do with what the rows "
        "hold, so look at both before you leave rows out or trust filled cells."
    )


def test_words(found: Together) -> str:
    """The test behind it."""
    return f"z = {found.z:.1f} in a test of two proportions that counts each row once"
