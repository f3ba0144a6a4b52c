"""Search over everything stored, and the text that an agent reads when its next session starts."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from markupsafe import Markup, escape

from holdfast.config.layout import Surface
from holdfast.errors import Unavailable
from holdfast_agents import explain
from holdfast_app.printable import in_one_line
from holdfast_app.records import lastbrief
from holdfast_app.search import KINDS
from holdfast_app.search.hits import SearchHit
from holdfast_app.view.project import Project
from holdfast_models import recall
from holdfast_web.pages import Request
from holdfast_web.rendering import Renderer, line_to_html

#: Lines around the recalled text, which are part of the brief but not of the memory.
_FENCES = (recall.OPEN, recall.CLOSE)


def show(project: Project, renderer: Renderer, request: Request) -> str:
    services = project.services
    try:
        start, prompt = explain.start(project), project.memory.prompt()
    except Unavailable as error:
        if not project.is_remote:
            raise
        return _without_store(project, renderer, error)
    return renderer.page(
        "start",
        start=start,
        parts=[
            (part, [line for line in part.lines if line.text not in _FENCES and line_to_html(line.text)])
            for part in start.parts
        ],
        most=max((part.tokens for part in start.parts), default=0),
        curated=[services.layout.name(surface) for surface in (Surface.MEMORY, Surface.USER)],
        prompt=prompt,
        prompt_tokens=services.count_tokens(prompt),
        limit=services.config.prompt.max_tokens,
    )


def _without_store(project: Project, renderer: Renderer, error: Unavailable) -> str:
    spool = project.memory.spool
    message, step, sentence = project.masked(error.message, error.next_step, spool.sentence)
    return renderer.page(
        "away",
        here="start",
        message=message,
        next_step=step,
        sentence=sentence,
        waiting=spool.text(),
        copy=lastbrief.read(project.services),
    )


_KINDS: Final = ("", *KINDS)
#: Shortest word to mark in a hit, in characters.
_WORD: Final = 3


def search(project: Project, renderer: Renderer, request: Request) -> str:
    question, kind = request.text("q", 500), request.choice("kind", _KINDS)
    hits: Sequence[SearchHit] = ()
    if question:
        hits = project.memory.search(question, limit=30, kinds=(kind,) if kind else ())
    words = [word.casefold() for word in re.findall(r"\w+", question) if len(word) >= _WORD]
    return renderer.page(
        "search",
        title=f"Search: {question}" if question else "Search",
        question=question,
        kind=kind,
        kinds=_KINDS,
        hits=[
            (hit, marked(hit.excerpt.removeprefix("- ").replace("**", ""), words), _places(renderer, hit))
            for hit in hits
        ],
    )


def _places(renderer: Renderer, hit: SearchHit) -> list[tuple[str, str]]:
    places = (hit.at_place, *hit.also)
    return [
        (f"turn in {name}" if kind == "turn" else where, _address(renderer, kind, name, place))
        for name, place, where, kind in places
    ]


def _address(renderer: Renderer, kind: str, name: str, place: str) -> str:
    if kind == "turn":
        return f"{renderer.url('sessions', name, turn=place)}#m-{quote(place)}"
    return renderer.url("facts", place) if kind == "fact" else renderer.document(f"{name}:{place}")


def marked(text: str, words: list[str]) -> Markup:
    """``text`` with the query's words, and words that begin with them, in ``<mark>``."""
    pieces = re.split(r"(\w+)", in_one_line(text))
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece)
        if piece.casefold().startswith(tuple(words) or ("\0",))
        else escape(piece)
        for piece in pieces
    )
