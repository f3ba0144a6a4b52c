"""Hooks of the documentation site: pages from outside of docs/, and roles of docstrings as code."""

from __future__ import annotations

import os
import re
from typing import Any

from mkdocs.structure.files import File, Files

#: Pages of the site that are files at the top of the repository.
TOP = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changes.md",
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
_ROLE = re.compile(r":(?:class|meth|func|data|attr|mod):<code>~?([^<]+)</code>")


def on_files(files: Files, config: Any) -> Files:
    """Add the files at the top of the repository."""
    top = os.path.dirname(config.docs_dir)
    for name, page in TOP.items():
        with open(os.path.join(top, name), encoding="utf-8") as file:
            files.append(File.generated(config, page, content=file.read()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Links to pages of the site lead there; links to other files of the repository become the file's name."""
    at_top = page.file.src_uri in TOP.values()
    folder = "." if at_top else os.path.dirname(os.path.join("docs", page.file.src_uri))

    def link(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        path, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(folder, path)) if path else ""
        if not path:
            return match[0]
        inside = TOP.get(full) or (os.path.relpath(full, "docs") if full.startswith("docs" + os.sep) else "")
        source = os.path.join(config.docs_dir, inside)
        if not inside or not (os.path.isfile(source) or full in TOP):
            return f"{text} (`{full}`)"
        here = os.path.dirname(page.file.src_uri) or "."
        return f"{picture}[{text}]({os.path.relpath(inside, here)}{'#' + anchor if anchor else ''})"

    return _LINK.sub(link, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Roles like ``:class:`X``` in docstrings become code."""
    return _ROLE.sub(r"<code>\1</code>", html)
