"""The part of the page that says what it was made from and by what."""

from __future__ import annotations

from torpca._answer import Answer
from torpca._report.encode import text


def provenance_details(answer: Answer) -> str:
    """A list to unfold; empty if nothing is known."""
    known = answer.provenance
    if known is None:
        return ""
    pairs = [
        ("torpca", known.version),
        ("Made", known.made),
        ("Command", known.command),
        ("File", known.file),
        ("SHA-256 of the file", known.sha256),
        ("Model", known.model),
        *(("Option " + name, value) for name, value in known.options.items()),
    ]
    items = "".join(
        f"<div><dt>{text(name)}</dt><dd><code>{text(value)}</code></dd></div>"
        for name, value in pairs
        if value
    )
    return (
        '<details id="provenance"><summary>What this report was made from</summary>'
        f'<dl class="provenance">{items}</dl></details>'
    )
