"""Files of the repository that pages link to, as pages of the site.

Pages link to code and to other files by their place in the repository, so that the links work
wherever the repository is looked at. In the site each such file is a page of its own, so that they
work there too, without a network.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

# Where a link points to: [text](target) and [name]: target, without a scheme.
LINK = re.compile(r"(\]\(|^\[[^\]]+\]:[ \t]+)(?![a-z]+:|#)([^)\s#]+)", re.MULTILINE)
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".cff": "yaml"}


def on_files(files: Any, config: Any) -> Any:
    """Add the files outside the docs folder that pages, and those files, link to."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (imported by whom it runs)

    docs = Path(config.docs_dir)
    root = docs.parent
    pages = [file for file in files if file.src_uri.endswith(".md")]
    todo = [(f"{docs.name}/{file.src_uri}", file.content_string) for file in pages]
    done: set[str] = set()
    while todo:
        place, text = todo.pop()
        for _, target in LINK.findall(text):
            path = resolved(place, target)
            if path in done or path.startswith(f"{docs.name}/") or not (root / path).is_file():
                continue
            done.add(path)
            content = (root / path).read_text(encoding="utf-8")
            files.append(File.generated(config, page_of(path), content=as_page(path, content)))
            if path.endswith(".md"):
                todo.append((path, content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links lead to these pages."""
    docs = Path(config.docs_dir).name
    here = page.file.src_uri
    # Where the file of this page is in the repository.
    place = here.removeprefix("files/") if here.startswith("files/") else f"{docs}/{here}"

    def lead(match: re.Match[str]) -> str:
        path = resolved(place, match[2])
        inside = path.startswith(f"{docs}/")
        uri = path.removeprefix(f"{docs}/") if inside else page_of(path)
        if inside and path.endswith(".py"):  # a tutorial
            uri = uri.removesuffix(".py") + ".md"
        if files.get_file_from_path(uri) is None:
            return match[0]
        return match[1] + posixpath.relpath(uri, posixpath.dirname(here))

    return LINK.sub(lead, markdown)


def resolved(place: str, target: str) -> str:
    """Place in the repository of what the file at `place` calls `target`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), target))


def page_of(path: str) -> str:
    """Place in the site of the page of the file at `path`."""
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def as_page(path: str, content: str) -> str:
    """A page that shows a file: Markdown as it is, all else as code."""
    # Left out of the search: code would drown the pages about it.
    head = "---\nsearch:\n  exclude: true\n---\n\n"
    if path.endswith(".md"):
        return head + content
    language = LANGUAGES.get(Path(path).suffix, "text")
    # More backticks than any run of them inside.
    fence = "`" * (3 + max(map(len, re.findall("`+", content)), default=0))
    return f'{head}# {path}\n\n{fence}{language} linenums="1"\n{content.rstrip()}\n{fence}\n'
