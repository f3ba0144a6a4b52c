"""Notes, MEMORY.md and every other stored document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.flush import notes as daily
from holdfast_app.view.memory_lines import lines_of
from holdfast_web.paging import page

if TYPE_CHECKING:
    from markupsafe import Markup

    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

#: Characters of a document on one page. Pages break at headings where possible.
_PART: Final = 24_000
_NOTES: Final = 31
_LINES: Final = 100
_HEADING: Final = "## "
_RENDERED: Final = (".md", ".markdown")


def notes(project: Project, renderer: Renderer, request: Request) -> str:
    shown = page(project.note_names(), request.text("page"), size=_NOTES)
    withheld = project.services.store.withheld_in
    listed = set(project.names()) - {name for _, name in project.note_names()}
    return renderer.page(
        "notes.html",
        here="notes",
        title="Notes",
        page=shown,
        days=[(project.note(day, name), withheld(name)) for day, name in shown.items],
        others=page(sorted(listed), request.text("documents"), size=_NOTES),
    )


def memory(project: Project, renderer: Renderer, request: Request) -> str:
    layout = project.services.layout
    origins = project.origins()
    documents = [project.standing(surface) for surface in (Surface.MEMORY, Surface.USER)]
    chosen = request.choice("document", tuple(one.name for one in documents))
    document = next(one for one in documents if one.name == chosen)
    lines = list(lines_of(document.text))
    shown = page(lines, request.text("page"), size=_LINES)
    archive = layout.archive
    return renderer.page(
        "memory.html",
        here="memory",
        title="Memory",
        documents=documents,
        document=document,
        page=evolve(shown, items=[origins.dated(line) for line in shown.items]),
        items=sum(line.kind == "item" for line in lines),
        archive=archive if archive in project.names() else "",
    )


def show(project: Project, renderer: Renderer, request: Request) -> str:
    document = project.document(request.argument)
    parts = _parts(document.text)
    chosen = page(parts, request.text("page") or _part_of(parts, request.text("line")), size=1)
    first, text = chosen.items[0]
    return renderer.page(
        "document.html",
        here="memory" if document.name in _standing(project) else "notes",
        title=document.name,
        document=document,
        text=_without_marks(text),
        first_line=first,
        stamps=_stamps(renderer, text, first),
        rendered=document.name.endswith(_RENDERED) and not text.startswith("+++"),
        page=chosen,
        lines=document.text.count("\n") + 1,
    )


def _standing(project: Project) -> tuple[str, ...]:
    return tuple(project.services.layout.name(surface) for surface in (Surface.MEMORY, Surface.USER))


def _parts(text: str) -> list[tuple[int, str]]:
    """The text in parts of about :data:`_PART` characters, each with its first line number."""
    parts: list[tuple[int, str]] = []
    lines: list[str] = []
    size, first = 0, 1
    for number, line in enumerate(text.split("\n"), 1):
        if lines and (size > 2 * _PART or (size > _PART and (line.startswith(_HEADING) or not line))):
            parts.append((first, "\n".join(lines)))
            lines, size, first = [], 0, number
        lines.append(line)
        size += len(line) + 1
    return [*parts, (first, "\n".join(lines))]


def _part_of(parts: list[tuple[int, str]], line: str) -> str:
    """Number of the part that has the line; 1 without a line."""
    if not (line.isascii() and line.isdigit() and len(line) < 10):
        return "1"
    return str(max(1, sum(first <= int(line) for first, _ in parts)))


def _without_marks(text: str) -> str:
    """The text without holdfast's own comment lines, which :func:`_stamps` shows; line numbers stay."""
    return "\n".join("" if _is_mark(line) else line for line in text.split("\n"))


def _is_mark(line: str) -> bool:
    return line.startswith(("<!-- holdfast:block id=", "<!-- at=")) and line.endswith(" -->")


def _stamps(renderer: Renderer, text: str, first_line: int) -> dict[int, Markup]:
    """Each block's time, session and flush, by its heading's line number."""
    found: dict[int, Markup] = {}
    at = 0
    for block in daily.blocks(text):
        at = text.find(block.text, at)
        if at < 0:
            break
        number = first_line + text.count("\n", 0, at)
        found[number] = renderer.part("stamp.html", block=block)
    return found
