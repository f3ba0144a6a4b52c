"""The note lines, sessions and turns that a document's line comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast_app.view import origins

if TYPE_CHECKING:
    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer


def show(project: Project, renderer: Renderer, request: Request) -> str:
    """The origin of ``document:line``. Raises: NotFound."""
    trace = origins.at(project, request.argument)
    return renderer.page(
        "why.html",
        here="memory",
        title="Where a line comes from",
        trace=trace,
        titles=project.titles({source.session for source in trace.sources if source.session}),
    )
