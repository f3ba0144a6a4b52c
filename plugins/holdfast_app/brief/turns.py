"""A session's newest messages, from its journal: its last one if no note quotes it, and others for free space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError
from holdfast.journal import order
from holdfast.journal.journal import Journal
from holdfast.text import recall
from holdfast.text.plain import cut
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.authorship.sources import plain, short_id
from holdfast_app.authorship.witness import message

if TYPE_CHECKING:
    from holdfast.models import Message
    from holdfast_app.base import Services

#: The parts' names in a brief.
LAST: Final = "last message of session {session}"
OTHERS: Final = "newest messages of session {session}, newest first"
_WHO: Final = {"user": "user", "assistant": "agent"}
#: Bytes read of a journal's end, more where the first do not fill the space; characters shown of one message.
_BYTES: Final = (100_000, 500_000)
_CHARS: Final = 1_500
#: How much of one message is masked, in characters. The last ones are not shown, since a secret may be cut there.
_MASKED: Final = 2 * _CHARS
_MARGIN: Final = 500
#: Share of the last message that ``shown`` lacks, from which on it is shown before the notes.
_UNQUOTED: Final = 0.75
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？:])\s+|\n+")


def newest(services: Services, session: str, room: int, shown: Iterable[str]) -> tuple[str, str]:
    """The user's and the agent's last words in ``session``, masked: the last message if ``shown`` has little of
    it, and other messages that ``shown`` does not have whole, newest first, in about ``room`` characters.

    Both are empty without a journal on this machine.
    """
    known = plain(" ".join(shown))
    found: list[tuple[str, str]] = []
    is_last = False
    try:
        journal = Journal(services.state, session)
        for last in _BYTES if room else ():
            found, is_last, left = [], False, room
            said = [message(entry.record) for entry in journal.of_kinds("message", last=last)]
            for at, (head, text) in enumerate(_words(reversed(order.as_said(said)))):
                parts = [plain(part) for part in _SENTENCE.split(text)]
                if unquoted := sum(len(part) for part in parts if part not in known):
                    is_last = is_last or (at == 0 and unquoted >= _UNQUOTED * sum(map(len, parts)))
                    found.append((head, text[:_MASKED]))
                    left -= len(head) + min(len(text), _CHARS)
                if left <= 0:
                    break
            if left <= 0 or journal.size() <= last:
                break
        masked = services.gate.outgoing_all([text for _, text in found], surface=Surface.JOURNAL)
    except (HoldfastError, KeyError, ValueError):
        return "", ""  # the brief does not depend on it
    lines = [
        head + cut(text if len(raw) < _MASKED else text[:-_MARGIN], _CHARS)
        for (head, raw), text in zip(found, masked, strict=True)
    ]
    return (lines[0], "\n".join(lines[1:])) if is_last else ("", "\n".join(lines))


def _words(said: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Each message with words of the user or the agent: its beginning as a line, and its text."""
    for one in said:
        text = own_words(one.text) if one.role == "user" else recall.strip(one.text).strip()
        if text and one.role in _WHO and not one.tool:
            yield f"- {_WHO[one.role]} ({short_id(one.id)}): ", text
