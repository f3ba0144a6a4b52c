"""The views. Each takes the project, the renderer and the request, and returns a page's HTML.

``LISTS`` are views without an argument, by path; ``DETAILS`` those that take the path's remainder as argument.
"""

from __future__ import annotations

from typing import Final

from holdfast_web.pages import documents, dreams, facts, overview, search, sessions, start, work
from holdfast_web.pages.request import Request

__all__ = ["DETAILS", "LISTS", "Request"]

LISTS: Final = {
    "": overview.show,
    "dreams": dreams.log,
    "facts": facts.listed,
    "departures": facts.departures,
    "memory": documents.memory,
    "notes": documents.notes,
    "outbox": work.outbox,
    "search": search.show,
    "sessions": sessions.listed,
    "start": start.show,
    "timeline": overview.timeline,
    "work": work.show,
}
DETAILS: Final = {
    "documents": documents.show,
    "dreams": dreams.show,
    "facts": facts.show,
    "sessions": sessions.show,
    "why": documents.why,
}
