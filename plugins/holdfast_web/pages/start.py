"""The text that an agent reads when its next session starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.config.layout import Surface
from holdfast.errors import Unavailable
from holdfast.text import recall
from holdfast_agents import preview

if TYPE_CHECKING:
    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

#: Lines around the recalled text, which are part of the brief but not of the memory.
_FENCES = (recall.OPEN, recall.CLOSE)


def show(project: Project, renderer: Renderer, request: Request) -> str:
    services = project.services
    try:
        start, prompt = preview.start(project), project.memory.prompt()
    except Unavailable as error:
        if not project.is_remote:
            raise
        return _without_store(project, renderer, error)
    return renderer.page(
        "start.html",
        here="start",
        title="Next start",
        start=start,
        parts=[(part, _lines(part)) for part in start.parts],
        most=max((part.tokens for part in start.parts), default=0),
        curated=[services.layout.name(surface) for surface in (Surface.MEMORY, Surface.USER)],
        prompt=prompt,
        prompt_tokens=services.count_tokens(prompt),
        limit=services.config.prompt.max_tokens,
    )


def _without_store(project: Project, renderer: Renderer, error: Unavailable) -> str:
    """The part that is on this machine, because the server does not answer."""
    spool = project.memory.spool
    kept = spool.last_brief()
    message, step, sentence = project.masked(error.message, error.next_step, spool.sentence)
    return renderer.page(
        "away.html",
        here="start",
        title="Next start",
        message=message,
        next_step=step,
        sentence=sentence,
        waiting=spool.text(),
        copy=kept,
    )


def _lines(part: preview.Part) -> list[preview.Loaded]:
    return [line for line in part.lines if line.text.strip() and line.text not in _FENCES]
