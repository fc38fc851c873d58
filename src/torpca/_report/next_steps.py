"""The part of the page on what to do next: commands to copy, and rows to save."""

from __future__ import annotations

import shlex
from typing import Any

from torpca._answer import Answer

LINK = '<a href="#next">What next</a>'


def next_payload(answer: Answer) -> dict[str, str]:
    """What the buttons copy; `ROWS` stands for the numbers of rows, counted from 1."""
    return {"refit": refit_code(answer), "score": score_command(answer), "file": csv_name(answer)}


def next_section(answer: Answer) -> str:
    """The section; without flagged rows there is only a command for new ones."""
    rows: list[tuple[str, str, str]] = []
    if len(answer.extreme):
        rows.append(("save-flagged", "Save flagged rows as CSV", "main"))
        if not answer.new:
            rows.append(("copy-refit", "Copy code: fit without these rows", ""))
    rows.append(("copy-score", "Copy command: score new rows", ""))
    buttons = "".join(
        f'<button type="button" id="{name}" class="{kind}">{label}</button>'
        for name, label, kind in rows
    )
    refit = (
        "<p>Flagged rows had no part in this fit, so that a fit without them changes little; it is "
        "for other methods, or for rows that you select yourself. These rows are the selected ones "
        "or, if none is selected, all that are flagged.</p>"
        if len(answer.extreme) and not answer.new
        else ""
    )
    return (
        '<section id="next" aria-labelledby="next-title"><h2 id="next-title">What next</h2>'
        f'{refit}<div class="tools">{buttons}</div>'
        '<p id="next-said" class="help" role="status"></p>'
        '<label for="next-text" class="quiet">What was copied</label>'
        '<textarea id="next-text" rows="3" readonly spellcheck="false" hidden></textarea></section>'
    )


def refit_code(answer: Answer) -> str:
    """Python that fits all rows but some."""
    where = f" of {answer.title}" if answer.provenance else ""
    k = len(answer.explained)
    options = f"{k}, scale=True" if answer.scaled else f"{k}"
    return (
        "import numpy as np\nimport torpca\n\n"
        f"# X: the rows{' '.join(where.splitlines())}, as an array, in their order.\n"
        "bad = [ROWS]  # counted from 1\n"
        "X_good = np.delete(np.asarray(X), np.array(bad) - 1, axis=0)\n"
        f"model = torpca.OutlierRobustPCA({options}).fit(X_good)\n"
    )


def score_command(answer: Answer) -> str:
    """What judges new rows by this model."""
    known: Any = answer.provenance
    if known is not None and known.folder:
        return f"torpca score {shlex.quote(known.folder)} NEW_ROWS.csv"
    return (
        'torpca.save_model(model, "model.npz")\n'
        "types = model.outlier_types(new_rows)  # or: torpca score model.npz NEW_ROWS.csv\n"
    )


def csv_name(answer: Answer) -> str:
    """Name of the file with the flagged rows."""
    stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in answer.title)[:60]
    return f"flagged-{stem.removesuffix('.csv').strip('-.') or 'rows'}.csv"
