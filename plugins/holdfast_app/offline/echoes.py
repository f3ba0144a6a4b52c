"""Agent statements that only repeat tool output, such as a page, a file or a log. They were not made in the session.

The first speaker counts. Text that the agent wrote or said before a tool returned it is the agent's own. The user's
words are always the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.models import Message
from holdfast_app.offline import replies

#: Number of newest messages to search, and length of the compared statement prefix, in characters.
_MESSAGES: Final = 5_000
_KEY_CHARS: Final = 60
_LEAST_CHARS: Final = 12


def read_by_tools(strings: Iterable[str], said: Sequence[Message]) -> frozenset[str]:
    """The ``strings`` in a tool result in ``said``, oldest first, before the agent or the user says them."""
    keys = {key: text for text in strings if len(key := _plain(text)[:_KEY_CHARS]) >= _LEAST_CHARS}
    waiting, found = set(keys), set[str]()
    for message in said[-_MESSAGES:] if keys else ():
        body = _plain(message.text)
        held = {key for key in waiting if key in body}
        if not held:
            continue
        if message.role == "user" or any(replies.replies(message)):
            waiting -= held
            found -= held
        elif message.role == "tool":
            found |= held
        else:
            waiting -= held - found
    return frozenset(keys[key] for key in found)


def _plain(text: str) -> str:
    return " ".join(text.replace("*", "").replace("`", "").split()).casefold()
