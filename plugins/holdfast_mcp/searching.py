"""The tools ``search`` and ``open``: short hits first, then the whole of one, with what is around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import BadValue, NotFound
from holdfast.text import recall

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast import Holdfast
    from holdfast_recall.methods import SearchHit

Arguments = Mapping[str, Any]

#: Messages or lines that ``open`` shows before and after the one it opens.
_AROUND: Final = 3
#: Characters of one opened message or line.
_LONG: Final = 6_000


def search(memory: Holdfast, arguments: Arguments) -> str:
    """Hits, one line each, and how to read on. Raises: BadValue; Unavailable."""
    kind = arguments.get("kind")
    hits = memory.search(
        arguments.get("question", ""),
        limit=arguments.get("limit", 10),
        kinds=[kind] if kind else [],
        session=arguments.get("session", ""),
        since=_moment(memory, arguments, "since"),
        until=_moment(memory, arguments, "until"),
    )
    if not hits:
        return "Nothing that is stored matches. Try other words, or fewer conditions."
    lines = [_line(hit) for hit in hits]
    return f"{len(hits)} hits, best first. `open` takes `name` and `place` and shows the whole.\n" + recall.fence(
        "\n".join(lines)
    )


def _line(hit: SearchHit) -> str:
    when = f" {hit.at:%Y-%m-%d %H:%M}" if hit.at else ""
    return f"- [{hit.kind}{when}] name={hit.name!r} place={hit.place!r} {hit.role}: {hit.excerpt}"


def _moment(memory: Holdfast, arguments: Arguments, name: str) -> datetime | None:
    from datetime import datetime

    text = arguments.get(name)
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadValue(f"`{name}`", "is not a date", next_step="Write it like 2026-11-02.") from None
    return at if at.tzinfo else at.replace(tzinfo=memory.services.now().tzinfo)


def open_place(memory: Holdfast, arguments: Arguments) -> str:
    """A message of a session, a line of a document or a fact, whole, with what is around it.

    Raises: NotFound, also for a document that is withheld; Unavailable.
    """
    name, place = arguments.get("name", ""), arguments.get("place", "")
    around = arguments.get("around", _AROUND)
    if not name:
        fact = memory.facts.get(place)
        shown = [f"{fact.id} [{fact.category}] {fact.content}"]
        return recall.fence(_joined(memory, shown, surface="fact"))
    if name in memory.store.names():
        return recall.fence(_joined(memory, _lines(memory, name, place, around), surface="daily"))
    return recall.fence(_joined(memory, _messages(memory, name, place, around), surface="journal"))


def _joined(memory: Holdfast, texts: list[str], *, surface: str) -> str:
    shown = [text if len(text) <= _LONG else f"{text[:_LONG]}… ({len(text):,} characters)" for text in texts]
    return "\n".join(memory.services.gate.outgoing_all(shown, surface=surface))


def _lines(memory: Holdfast, name: str, place: str, around: int) -> list[str]:
    found = memory.services.recalled(name)
    lines = found.text.split("\n") if found else []
    if not place.isascii() or not place.isdigit() or not 1 <= int(place) <= len(lines):
        raise NotFound(
            f"Document {name!r} has no line {place!r} that may be shown.",
            next_step="Take `place` from a hit of `search`.",
        )
    at = int(place) - 1
    return lines[max(at - around, 0) : at + around + 1]


def _messages(memory: Holdfast, session: str, place: str, around: int) -> list[str]:
    from holdfast.cli.session_lookup import messages

    found = messages(memory, session, around=place, span=around)
    return [f"{one['role']} {one['at']} {one['id']}: {one['text']}" for one in found]
