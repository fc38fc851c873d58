"""What MkDocs calls, part by part and in this order."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# MkDocs loads this file by its path. The parts are imported by their names, as the tests do.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docs.hooks import commands, demo, linked_files, pictures, tutorials


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and files that are made when the site is built."""
    # Linked files come last: they look at the links of all pages.
    for part in (tutorials, demo, linked_files):
        files = part.on_files(files, config)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in what is made, then let links lead to the right pages."""
    for part in (commands, demo, pictures, linked_files):
        markdown = part.on_page_markdown(markdown, page, config, files)
    return markdown
