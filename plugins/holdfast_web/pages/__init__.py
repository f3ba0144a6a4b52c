"""The views. Each takes the project, the renderer and the request, and returns a page's HTML.

``LISTS`` are views without an argument, by path; ``DETAILS`` those that take the path's remainder as argument.
"""

from typing import Final

from holdfast_web.pages import documents, overview, sessions, start
from holdfast_web.pages.request import Request

__all__ = ["DETAILS", "LISTS", "Request"]

LISTS: Final = {
    "": overview.show,
    "dreams": documents.dreams,
    "facts": documents.facts,
    "departures": documents.departures,
    "memory": documents.memory,
    "notes": documents.notes,
    "outbox": sessions.outbox,
    "search": start.search,
    "sessions": sessions.listed,
    "start": start.show,
    "timeline": overview.timeline,
    "version": lambda project, renderer, request: renderer.version,
    "work": sessions.work,
}
DETAILS: Final = {
    "documents": documents.show,
    "dreams": documents.dream,
    "facts": documents.fact,
    "sessions": sessions.show,
    "why": documents.why,
}
