"""The part of the page on what to do next: commands to copy, and rows to save."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import Any

from torpca._answer import Answer
from torpca._report.encode import text
from torpca._words import whole

# Options of `torpca fit` without a value, and those that a fit to the good rows needs as well.
FLAGS = {
    *("--scale", "--cells", "--impute", "--force", "--json", "--quiet", "--debug"),
    *("--header", "--no-header"),
}
KEPT = {
    *("--n-components", "--scale", "--cells", "--limit", "--max-iter", "--missing", "--na-values"),
    *("--id-column", "--time-column", "--columns", "--exclude"),
}


def next_payload(answer: Answer) -> dict[str, str]:
    """What the buttons copy; `ROWS` stands for the numbers of rows, counted from 1."""
    return {
        "refit": refit_code(answer),
        "again": refit_commands(answer),
        "score": score_command(answer),
        "file": csv_name(answer),
    }


def next_section(answer: Answer) -> str:
    """The section; without flagged rows there is only a command for new ones."""
    refit = bool(len(answer.extreme)) and not answer.new
    wanted = [
        ("save-flagged", "Save flagged rows as CSV", "main", bool(len(answer.extreme))),
        ("copy-again", "Copy commands: fit without the flagged rows", "", refit_commands(answer)),
        ("copy-refit", "Copy Python: fit without these rows", "", refit),
        ("copy-score", "Copy command: score new rows", "", True),
    ]
    buttons = "".join(
        f'<button type="button" id="{name}" class="{kind}">{label}</button>'
        for name, label, kind, there in wanted
        if there
    )
    why = (
        f"<p>{text(part_words(answer))}The Python code leaves out the selected rows or, if none is "
        "selected, all flagged rows.</p>"
        if refit
        else ""
    )
    return (
        '<section id="next" aria-labelledby="next-title"><h2 id="next-title">What next</h2>'
        f'{why}<div class="tools">{buttons}</div>'
        '<p id="next-said" class="help" role="status"></p>'
        '<label for="next-text" class="quiet">What was copied</label>'
        '<textarea id="next-text" rows="3" readonly spellcheck="false" hidden></textarea></section>'
    )


def part_words(answer: Answer) -> str:
    """Whether flagged rows had a part in the fit, with a space behind; empty if unknown."""
    m, part = len(answer.extreme), answer.flagged_in_fit
    if part is None:
        return ""
    if m == 1:
        return f"The flagged row had {'a' if part else 'no'} part in this fit. "
    if part == 0:
        return "None of the flagged rows had a part in this fit. "
    which = f"All {whole(m)}" if part == m else f"{whole(part)} of the {whole(m)}"
    return f"{which} flagged rows had a part in this fit, which may be another without them. "


def refit_commands(answer: Answer) -> str:
    """Commands that write the good rows to a file and fit these; empty if `fit` was not used."""
    known = answer.provenance
    typed = shlex.split(known.command) if known else []
    if known is None or answer.new or not len(answer.extreme) or typed[:2] != ["torpca", "fit"]:
        return ""
    data, options = typed[2], typed[3:]
    if data == "-" or not known.folder:
        return ""
    kept: list[str] = []
    while options:
        long = 1 if options[0] in FLAGS else 2
        kept += options[:long] if options[0] in KEPT else []
        options = options[long:]
    good = f"good-{PurePath(data).name.split('.')[0]}.csv"
    score = ["torpca", "score", known.folder, data, "--clean", good]
    return f"{shlex.join(score)}\n{shlex.join(['torpca', 'fit', good, *kept])}\n"


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
