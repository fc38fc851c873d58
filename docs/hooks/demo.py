"""The demo, run when the site is built: its report as a file of the site, and what it prints."""

from __future__ import annotations

import contextlib
import io
import posixpath
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PLACE = "demo/report.html"
LINK, PRINTED = "<!-- demo: link -->", "<!-- demo: printed -->"


class Demo(NamedTuple):
    """What `torpca demo` gives."""

    report: str
    """The HTML file."""
    printed: str


@cache
def run() -> Demo:
    """Run the command, as a user does, in a folder that is removed afterwards."""
    from torpca._cli.app import torpca  # noqa: PLC0415 (needs click)

    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(out):
            torpca.main(["demo"], prog_name="torpca", standalone_mode=False)
        report = Path("torpca-demo", "report.html").read_text(encoding="utf-8")
    return Demo(report, out.getvalue().strip("\n"))


def on_files(files: Any, config: Any) -> Any:
    """Add the report."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (imported by whom it runs)

    files.append(File.generated(config, PLACE, content=run().report))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put a link to the report, and what the demo prints, where a page asks for them."""
    del config, files
    place = posixpath.relpath(PLACE, posixpath.dirname(page.file.src_uri) or ".")
    markdown = markdown.replace(LINK, f"[Open the demo report]({place}){{ .md-button }}")
    if PRINTED in markdown:
        markdown = markdown.replace(PRINTED, f'```text title="prints"\n{run().printed}\n```')
    return markdown
