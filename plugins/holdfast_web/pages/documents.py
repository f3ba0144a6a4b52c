"""Notes, MEMORY.md and every other stored document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.flush import notes as daily
from holdfast_app.view import origins
from holdfast_app.view.memory_lines import Origins, lines_of
from holdfast_web.paging import page

if TYPE_CHECKING:
    from markupsafe import Markup

    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

_NOTES: Final = 31
_LINES: Final = 100
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
        days=[(day, name, project.flushes(name), withheld(name)) for day, name in shown.items],
        others=page(sorted(listed), request.text("documents"), size=_NOTES),
    )


def memory(project: Project, renderer: Renderer, request: Request) -> str:
    layout = project.services.layout
    known = Origins(project)
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
        page=evolve(shown, items=[known.dated(line) for line in shown.items]),
        items=sum(line.kind == "item" for line in lines),
        archive=archive if archive in project.names() else "",
    )


def show(project: Project, renderer: Renderer, request: Request) -> str:
    document = project.document(request.argument)
    return renderer.page(
        "document.html",
        here="memory" if document.name in _standing(project) else "notes",
        title=document.name,
        document=document,
        text=_without_marks(document.text),
        stamps=_stamps(renderer, document.text),
        rendered=document.name.endswith(_RENDERED) and not document.text.startswith("+++"),
        lines=document.text.count("\n") + 1,
    )


def _standing(project: Project) -> tuple[str, ...]:
    return tuple(project.services.layout.name(surface) for surface in (Surface.MEMORY, Surface.USER))


def _without_marks(text: str) -> str:
    """The text without holdfast's own comment lines, which :func:`_stamps` shows; line numbers stay."""
    return "\n".join("" if _is_mark(line) else line for line in text.split("\n"))


def _is_mark(line: str) -> bool:
    return line.startswith(("<!-- holdfast:block id=", "<!-- at=")) and line.endswith(" -->")


def _stamps(renderer: Renderer, text: str) -> dict[int, Markup]:
    """Each block's time, session and flush, by its heading's line number."""
    found: dict[int, Markup] = {}
    at = 0
    for block in daily.blocks(text):
        at = text.find(block.text, at)
        if at < 0:
            break
        found[1 + text.count("\n", 0, at)] = renderer.part("stamp.html", block=block)
    return found


def why(project: Project, renderer: Renderer, request: Request) -> str:
    """The note lines, sessions and turns that ``document:line`` comes from. Raises: NotFound."""
    trace = origins.find(project, request.argument)[0]
    return renderer.page(
        "why.html",
        here="memory",
        title="Where a line comes from",
        trace=trace,
        titles=project.titles({source.session for source in trace.sources if source.session}),
    )
