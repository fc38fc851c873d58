"""The page: template, style, scripts and data in one text."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

import numpy as np

from torpca._answer import Answer
from torpca._estimators.labels import UNKNOWN
from torpca._estimators.settled import still_moving
from torpca._kinds import KINDS, LOOKS
from torpca._report import words
from torpca._report.causes import LINK as CAUSES_LINK
from torpca._report.causes import causes_section
from torpca._report.cells import LINK as CELLS_LINK
from torpca._report.cells import cells_section
from torpca._report.controls import plot_tools
from torpca._report.drift import LINK as DRIFT_LINK
from torpca._report.drift import drift_section
from torpca._report.encode import prose, safe_json, short, text
from torpca._report.loadings import LINK as LOADINGS_LINK
from torpca._report.loadings import loadings_section
from torpca._report.missing import LINK, missing_section
from torpca._report.next_steps import next_section
from torpca._report.over_order import order_section
from torpca._report.payload import payload
from torpca._report.plain import plain_words
from torpca._report.provenance import provenance_details
from torpca._report.rows import DETAILS, LARGEST, Detail, drawn_rows, least_bytes
from torpca._report.scaling import scaled_words
from torpca._report.values import LINK as VALUES_LINK
from torpca._report.values import values_section
from torpca._words import counted, degrees, percent, whole

# In the order in which they build on each other.
SCRIPTS = (
    "data",
    "selection",
    "kinds",
    "numbers",
    "ticks",
    "times",
    "svg",
    "stamps",
    "axes",
    "labels",
    "tips",
    "plot",
    "gestures",
    "map",
    "places",
    "scores",
    "cells",
    "why",
    "next",
    "order",
    "cusum",
    "loadings",
    "biplot",
    "values",
    "scree",
    "history",
    "table",
    "save",
    "start",
)


def report_html(answer: Answer) -> str:
    """One self-contained HTML page that tells what `answer` holds.

    Flagged rows are all drawn; of more than 20,000 good rows, a sample. Pages stay below 8 MB: for
    tables with very many flagged rows, features are named for the most extreme ones only.

    Parameters
    ----------
    answer : Answer
        What a fit says about a table.

    Returns
    -------
    str
        The page. It asks for nothing from the network, and its content security policy lets no
        script run but its own.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca._answer import answer
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, *_ = make_outlier_subspace(200, 8, 2, 0.1, noise=0.01, random_state=0)
    >>> page = report_html(answer(OutlierRobustPCA().fit(X), X, title="example.csv"))
    >>> "<h1><bdi>example.csv</bdi></h1>" in page
    True
    """
    # Those that cannot fit are not made: each would take seconds for a million rows.
    fitting = [detail for detail in DETAILS if least_bytes(answer, detail) <= LARGEST]
    for detail in fitting or DETAILS[-1:]:
        page = page_of(answer, detail)
        if len(page.encode()) <= LARGEST:
            break
    return page


def page_of(answer: Answer, detail: Detail) -> str:
    """The page with as much as `detail` says."""
    style = style_sheet()
    script = '"use strict";\n(() => {\n' + "\n".join(part(f"{s}.js") for s in SCRIPTS) + "})();\n"
    drawn = drawn_rows(answer, detail)
    missing = missing_section(answer)
    return Template(part("page.html")).substitute(
        policy=text(policy(style, script)),
        style=style,
        script=script,
        data=safe_json(payload(answer, detail)),
        title=text(short(answer.title)),
        headline=text(words.headline(answer)),
        lead=" ".join(text(s) for s in words.lead(answer)),
        sentence=prose(words.second_sentence(answer)),
        scaled=scaled_words(answer),
        caution=caution_line(answer),
        extreme=extreme_list(answer),
        warnings=warning_box(answer),
        causes=causes_section(answer),
        causes_link=CAUSES_LINK if answer.causes else "",
        next=next_section(answer),
        drift=drift_section(answer),
        drift_link=DRIFT_LINK if answer.new else "",
        order=order_section(answer),
        loadings=loadings_section(answer),
        loadings_link=LOADINGS_LINK if len(answer.components) else "",
        values=values_section(answer),
        values_link="" if answer.usual is None else VALUES_LINK,
        plain=text(plain_words(answer)),
        provenance=provenance_details(answer),
        figures=key_figures(answer),
        legend=legend(answer),
        map_tools=plot_tools("map"),
        score_tools=plot_tools("scores"),
        drawn=" ".join(
            text(s)
            for s in [
                words.drawn_words(answer, drawn),
                words.number_words(answer),
                *words.left_out_words(answer, detail),
            ]
            if s
        ),
        dashed=text(dashed_words(answer, detail)),
        cells=cells_section(answer),
        cells_link="" if answer.cells is None else CELLS_LINK,
        rank=paragraphs(words.rank_words(answer)),
        components=component_table(answer),
        fit=paragraphs([words.fit_words(answer)]),
        history=history_table(answer),
        flagged=text(words.flagged_words(answer)),
        missing=missing,
        missing_link=LINK if missing else "",
        notes=bullets(answer.notes) or "<p>Nothing was left out or changed before the fit.</p>",
        assumptions=bullets(words.assumptions(answer)),
        all_warnings=bullets(answer.warnings) or "<p>The fit gave no warnings.</p>",
    )


def policy(style: str, script: str) -> str:
    """Content security policy under which nothing is loaded and only this style and script run."""
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def digest(source: str) -> str:
    """Name of an inline script or style in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def style_sheet() -> str:
    """Style of the page, with the colours of the kinds."""
    style = part("style.css")
    for ground in ("light", "dark"):
        colours = "\n".join(
            f"--kind-{number}: {getattr(look, ground)};"
            for number, look in enumerate(LOOKS.values())
        )
        style = style.replace(f"/* kinds: {ground} */", colours)
    return style


def part(name: str) -> str:
    """Text of a file of the page."""
    return files("torpca._report").joinpath("assets", name).read_text(encoding="utf-8")


# ---- pieces that need no script -----------------------------------------------------------------


def paragraphs(sentences: list[str]) -> str:
    """One paragraph of sentences."""
    return "<p>" + " ".join(text(s) for s in sentences) + "</p>"


def bullets(sentences: tuple[str, ...] | list[str]) -> str:
    """A list of sentences; empty if there are none."""
    items = "".join(f"<li>{text(s)}</li>" for s in sentences)
    return f"<ul>{items}</ul>" if items else ""


def extreme_list(answer: Answer) -> str:
    """The most extreme rows in words; empty if no row is flagged."""
    items = "".join(
        f"<li>Row <strong><bdi>{text(short(label))}</bdi></strong>, {text(short_words)}</li>"
        for label, short_words in words.extreme_words(answer)
    )
    return f'<p>The most extreme:</p><ul class="extreme">{items}</ul>' if items else ""


def doubts_about(answer: Answer) -> list[str]:
    """What to be careful about."""
    doubts = [*answer.warnings, *answer.advice]
    if still_moving(answer.converged, answer.history) is not None:
        doubts.append(words.fit_words(answer))
    return doubts


def caution_line(answer: Answer) -> str:
    """A line at the top that leads to the warnings; empty if there are none."""
    doubts = doubts_about(answer)
    if not doubts:
        return ""
    first = doubts[0].split(". ")[0].rstrip(".")
    title = warning_title(len(doubts))
    most = f"{title}: " if len(doubts) == 1 else f"{title}, the first: "
    return f'<p class="caution"><a href="#warning">{most}{text(short(first))}</a></p>'


def warning_title(n: int) -> str:
    """How many warnings there are."""
    return "A warning" if n == 1 else f"{n} warnings"


def warning_box(answer: Answer) -> str:
    """What to be careful about; empty if there is nothing."""
    doubts = doubts_about(answer)
    if not doubts:
        return ""
    title = warning_title(len(doubts))
    return (
        '<section id="warning" class="warning" aria-labelledby="warning-title">'
        f'<h2 id="warning-title">{title}</h2>{bullets(doubts)}</section>'
    )


def key_figures(answer: Answer) -> str:
    """The numbers a reader looks for first."""
    pairs = [
        key_count(len(answer.ids), "row"),
        key_count(len(answer.names), "feature"),
        key_count(len(answer.explained), "component"),
        (percent(float(np.sum(answer.explained))), "of the variance of the good rows"),
        key_count(len(answer.extreme), "flagged row"),
        (degrees(answer.angle), "between ordinary PCA and this fit"),
    ]
    return "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for value, name in pairs
    )


def key_count(n: int, thing: str) -> tuple[str, str]:
    """A number and the name of what it counts."""
    number, name = counted(n, thing).split(" ", 1)
    return number, name


def dashed_words(answer: Answer, detail: Detail) -> str:
    """What the dashed curve among the scores is; with one component, what the two lines are."""
    whose = "good rows of the fit" if answer.new else "good rows"
    within = f"99.5% of the {whose} if they were Gaussian."
    if min(answer.scores.shape[1], answer.plain_scores.shape[1], detail.components) > 1:
        return f"The ellipse would hold {within}"
    return f"Between the dashed lines would lie {within}"


def legend(answer: Answer) -> str:
    """The kinds of rows: sign, name, how many, meaning; rows that are not judged have no sign."""
    items = ""
    for number, kind in enumerate((*KINDS, UNKNOWN) if len(answer.unknown) else KINDS):
        how_many = int(np.count_nonzero(answer.types == kind))
        sign = f'<use href="#sign-{number}"/>' if number < len(KINDS) else ""
        items += (
            f'<li><svg class="sign kind-{number}" aria-hidden="true" viewBox="-8 -8 16 16">'
            f"{sign}</svg><span><strong>{text(kind)}</strong> "
            f'<span class="count">{whole(how_many)}</span><br><small>{text(words.KIND_WORDS[kind])}'
            "</small></span></li>"
        )
    return items


def component_table(answer: Answer) -> str:
    """Share of each component, for the good rows and for ordinary PCA."""
    rows = ""
    for j, share in enumerate(answer.explained):
        plain = (
            percent(float(answer.plain_explained[j])) if j < len(answer.plain_explained) else "-"
        )
        rows += (
            f'<tr><th scope="row">{j + 1}</th><td>{percent(float(share))}</td><td>{plain}</td></tr>'
        )
    return rows


def history_table(answer: Answer) -> str:
    """What each iteration did."""
    return "".join(
        f'<tr><th scope="row">{number}</th><td>{whole(step.n_kept)}</td>'
        f"<td>{step.subspace_change:.2g}</td></tr>"
        for number, step in enumerate(answer.history, start=1)
    )
