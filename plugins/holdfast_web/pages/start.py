"""What an agent reads when its next session starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.config.layout import Surface

if TYPE_CHECKING:
    from holdfast_web.pages.request import Request
    from holdfast_web.project import Project
    from holdfast_web.rendering import Renderer

#: Characters of the brief that the clients' hooks pass on.
_MAX_CHARS: Final = 9_000


def show(project: Project, renderer: Renderer, request: Request) -> str:
    services = project.services
    brief = project.memory.load(max_chars=_MAX_CHARS)
    prompt = project.memory.prompt()
    tokens = services.count_tokens
    sources = [(name, tokens(text)) for name, text in (*brief.notes, *brief.files)]
    curated = [
        (services.layout.name(surface), tokens(text))
        for surface, text in ((Surface.MEMORY, brief.memory), (Surface.USER, brief.user))
        if text
    ]
    return renderer.page(
        "start.html",
        here="start",
        title="Next start",
        brief=str(brief),
        brief_tokens=tokens(str(brief)),
        prompt=prompt,
        prompt_tokens=tokens(prompt),
        sources=[*curated, *sources],
        withheld=brief.withheld,
        limit=services.config.prompt.max_tokens,
    )
