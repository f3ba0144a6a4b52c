"""Open work, ended work, and the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast_web.paging import page

if TYPE_CHECKING:
    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

_SHOWN: Final = ("open", "all")
_ITEMS: Final = 20


def show(project: Project, renderer: Renderer, request: Request) -> str:
    chosen = request.choice("show", _SHOWN)
    work = project.memory.work.list(everything=chosen == "all")
    name = project.services.layout.name(Surface.HANDOFF)
    return renderer.page(
        "work.html",
        here="work",
        title="Open work",
        page=page(work, request.text("page"), size=_ITEMS),
        chosen=chosen,
        handoff=name,
        withheld=project.services.store.withheld_in(name),
    )


def outbox(project: Project, renderer: Renderer, request: Request) -> str:
    shown = page(project.memory.outbox.items(), request.text("page"), size=_ITEMS)
    masked = project.masked(*(text for one in shown.items for text in (one.body, one.error, one.next_step, one.target)))
    items = [
        evolve(one, body=masked[at], error=masked[at + 1], next_step=masked[at + 2], target=masked[at + 3])
        for at, one in zip(range(0, len(masked), 4), shown.items, strict=True)
    ]
    return renderer.page("outbox.html", here="outbox", title="Outbox", page=shown, items=items)
