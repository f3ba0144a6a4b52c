"""Search over turns, notes, memory, facts and documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from holdfast.errors import BadValue, PluginNotFound
from holdfast.text.plain import in_one_line
from holdfast_app.search import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from holdfast_app.search.hits import SearchHit
    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

_KINDS: Final = ("", *KINDS)
_HITS: Final = 30
#: Shortest word to mark in a hit, in characters.
_WORD: Final = 3


def show(project: Project, renderer: Renderer, request: Request) -> str:
    question, kind = request.text("q", 500), request.choice("kind", _KINDS)
    hits: Sequence[SearchHit] = ()
    problem = ""
    if question:
        try:
            hits = project.memory.search(question, limit=_HITS, kinds=(kind,) if kind else ())
        except (BadValue, PluginNotFound) as error:
            problem = f"{error.message} {error.next_step}"
    words = [word.casefold() for word in re.findall(r"\w+", question) if len(word) >= _WORD]
    return renderer.page(
        "search.html",
        here="search",
        title=f"Search: {question}" if question else "Search",
        question=question,
        kind=kind,
        kinds=_KINDS,
        problem=problem,
        number=len(hits),
        hits=[
            (hit, marked(hit.excerpt.removeprefix("- ").replace("**", ""), words), _places(renderer, hit))
            for hit in hits
        ],
    )


def _places(renderer: Renderer, hit: SearchHit) -> list[tuple[str, str]]:
    """Each place of the hit and its address."""
    places = (hit.at_place, *hit.also)
    return [(one.where, _address(renderer, one.kind, one.name, one.place)) for one in places]


def _address(renderer: Renderer, kind: str, name: str, place: str) -> str:
    if kind == "turn":
        return f"{renderer.url('sessions', name, turn=place)}#m-{quote(place)}"
    return renderer.url("facts", place) if kind == "fact" else renderer.document(f"{name}:{place}")


def marked(text: str, words: list[str]) -> Markup:
    """``text`` with the query's words, and words that begin with them, in ``<mark>``."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(\w+)", in_one_line(text))
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece)
        if piece.casefold().startswith(tuple(words) or ("\0",))
        else escape(piece)
        for piece in pieces
    )
