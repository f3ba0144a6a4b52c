"""The tool ``open`` (a hit in full, with its context), and the stored documents as
resources: ``holdfast://documents/NAME``. Nothing here knows MCP.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote

from holdfast.api import Holdfast, NotFound, Refused
from holdfast.text.plain import BOM
from holdfast_app.sessions.lookup import is_named, messages, resolve, short
from holdfast_app.trust import provenance
from holdfast_models import recall

Arguments = Mapping[str, Any]

#: Messages or lines that ``open`` shows before and after the one it opens.
_AROUND: Final = 3
#: Maximum characters of the opened message or line, and of each one around it.
_WHOLE: Final = 60_000
_LONG: Final = 6_000
#: Begin a message or line, and the opened one.
_MARKS: Final = (" ", ">")
#: Digits of the largest line number.
_DIGITS: Final = 12


def open_place(memory: Holdfast, arguments: Arguments) -> str:
    """A message of a session, a line of a document or a fact, whole, after ``>``, with the text around it.

    Raises: NotFound, also for a document that is withheld; Unavailable.
    """
    name, place = arguments.get("name", ""), arguments.get("place", "")
    around = arguments.get("around", _AROUND)
    if not name:
        fact = memory.facts.get(place)
        if not memory.store.known_facts([fact]):
            raise NotFound(provenance.sentence({}, facts=1), next_step=provenance.NEXT_STEP)
        return recall.fence(_joined(memory, [f"{fact.id} [{fact.category}] {fact.content}"], surface="fact"))
    if name in memory.store.names():
        return recall.fence(_joined(memory, _lines(memory, name, place, around), surface="daily"))
    return recall.fence(_joined(memory, _messages(memory, name, place, around), surface="journal"))


def _joined(memory: Holdfast, strings: list[str], *, surface: str) -> str:
    masked = memory.services.gate.outgoing_all(strings, surface=surface)  # before a cut can go through a secret
    return "\n".join(cut(text, _WHOLE if text.startswith(_MARKS[True]) else _LONG) for text in masked)


def cut(text: str, most: int) -> str:
    """At most ``most`` characters of ``text``, with the number of all."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def _lines(memory: Holdfast, name: str, place: str, around: int) -> list[str]:
    document = memory.services.recalled(name)
    lines = document.text.rstrip("\n").split("\n") if document else []
    if not place.isascii() or not place.isdigit() or len(place) > _DIGITS or not 1 <= int(place) <= len(lines):
        raise NotFound(
            f"Document {name!r} has no line {place!r} that may be shown.",
            next_step="Take `place` from a hit of `search`.",
        )
    at = int(place)
    first, last = max(at - around, 1), min(at + around, len(lines))
    return [
        f"{name}, lines {first} to {last} of {len(lines)}",
        *(f"{_MARKS[number == at]} {number}: {lines[number - 1]}" for number in range(first, last + 1)),
    ]


def _messages(memory: Holdfast, name: str, place: str, around: int) -> list[str]:
    try:
        session = resolve(memory, name)
    except NotFound as error:
        raise NotFound(error.message, next_step="Take `name` from a hit of `search`.") from None
    rows = messages(memory, session, around=place, span=around)
    ids = [row["id"] for row in rows]
    opened = place if place in ids else next((message_id for message_id in ids if is_named(message_id, place)), "")
    zone = memory.services.now().tzinfo
    return [
        f"session {session}",
        *(
            f"{_MARKS[row['id'] == opened]} {short(row['id'])} {row['role']} "
            f"{datetime.fromisoformat(row['at']).astimezone(zone):%Y-%m-%d %H:%M}: {row['text']}"
            for row in rows
        ),
    ]


PREFIX: Final = "holdfast://documents/"
MIME_TYPE: Final = "text/markdown"


def document_names(root: str) -> list[str]:
    """All stored documents that are not withheld, sorted. Raises: any HoldfastError."""
    with Holdfast.open(root) as memory:
        return [name for name in memory.store.names() if not memory.store.is_withheld(name)]


def read_document(root: str, uri: str) -> str:
    """The document's text, masked like everything sent to a model, and fenced as data.

    Raises: NotFound for another URI or a missing document; Refused for a withheld document or a name that is not
    allowed; any HoldfastError.
    """
    if not uri.startswith(PREFIX):
        raise _unknown(uri)
    name = unquote(uri.removeprefix(PREFIX))
    with Holdfast.open(root) as memory:
        # Where the store's folder is the project itself, only the layout's folders are holdfast's.
        document = memory.store.read(name) if name.startswith(tuple(memory.services.layout.prefixes())) else None
        if document is None:
            raise _unknown(uri)
        shown = memory.services.recalled_from(document)
        if shown is None:
            raise Refused(
                "This document is withheld because this machine did not write it. It may have come with a clone.",
                next_step=provenance.NEXT_STEP,
            )
        return recall.fence(shown.text.removeprefix(BOM))


def _unknown(uri: str) -> NotFound:
    return NotFound(f"There is no resource {uri[:200]!r}.", next_step="List the resources to find their names.")
