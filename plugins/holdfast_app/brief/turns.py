"""The newest messages of a session, from its journal, for the space that the rest of a brief leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError
from holdfast.journal.journal import Journal
from holdfast.text import recall
from holdfast.text.plain import cut
from holdfast_app.authorship.sources import plain, short_id

if TYPE_CHECKING:
    from holdfast.session.services import Services

NAME: Final = "newest messages of session {session}, newest first"
_WHO: Final = {"user": "user", "assistant": "agent"}
#: The end of a journal that is read, in bytes, and the characters of one message that are shown.
_BYTES: Final = 1_000_000
_CHARS: Final = 1_500
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？:])\s+|\n+")


def newest(services: Services, session: str, room: int, shown: Iterable[str]) -> str:
    """What the user and the agent said last in ``session``, masked, in about ``room`` characters, newest first.

    Messages of which ``shown`` has every sentence are left out. Empty without a journal on this machine.
    """
    known = plain(" ".join(shown))
    texts: list[tuple[str, str]] = []
    try:
        said = [one.record for one in Journal(services.state, session).of_kinds("message", last=_BYTES)] if room else []
        for one in reversed(said):
            if one["role"] not in _WHO or one.get("tool"):
                continue
            text = recall.strip(str(one["text"])).strip()
            if not all(plain(part) in known for part in _SENTENCE.split(text)):
                texts.append((f"- {_WHO[one['role']]} ({short_id(one['id'])}): ", text[: 4 * _CHARS]))
                room -= min(len(text), _CHARS) + 20
                if room <= 0:
                    break
        masked = services.gate.outgoing_all([text for _, text in texts], surface=Surface.JOURNAL)
    except (HoldfastError, KeyError, ValueError):
        return ""  # the brief does not depend on it
    return "\n".join(head + cut(text, _CHARS) for (head, _), text in zip(texts, masked, strict=True))
