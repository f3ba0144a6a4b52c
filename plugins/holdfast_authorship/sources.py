"""Find the sources of derived fields, which are the messages they quote.

A quotation is located in the message that contains it, whichever rule took it. A field without a verbatim match in any
message has no source, so sources are never invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.models import Message, Payload

#: Number of newest messages to search.
MAX_MESSAGES: Final = 5_000
#: Number of a quotation's characters to compare, and the minimum that identifies its author.
_KEY_CHARS: Final = 40
_LEAST_CHARS: Final = 8
_LISTS: Final = ("facts", "decisions", "blockers", "follow_ups")


def short_id(message: Message) -> str:
    """A message id's first characters, enough to find the message in the journal."""
    return message.id.removeprefix("hook-").removeprefix("row-")[:8]


def of(payload: Payload, messages: Sequence[Message]) -> tuple[str, ...]:
    """``FIELD ID`` for each derived field and each message it quotes, ordered by quotation. ``ID`` is
    a shortened message id (:func:`short_id`)."""
    wanted: dict[str, str] = {}  # where each quotation starts
    texts: list[tuple[str, str]] = []
    for field in ("objective", "next_step", *_LISTS):
        if field in payload.derived:
            value = getattr(payload, field) or ()
            texts += [(field, _key(text)) for text in ((value,) if isinstance(value, str) else value)]
    open_keys = {key for _, key in texts if len(key) >= _LEAST_CHARS}
    for message in messages[: -MAX_MESSAGES - 1 : -1]:
        if not open_keys:
            break
        if message.role == "system" or message.tool == "thinking":
            continue
        said = _plain(message.text)
        for key in [key for key in open_keys if key in said]:
            wanted[key] = short_id(message)
            open_keys.discard(key)
    return tuple(dict.fromkeys(f"{field} {wanted[key]}" for field, key in texts if key in wanted))


def _plain(text: str) -> str:
    return " ".join(text.replace("*", "").replace("`", "").split()).casefold()


def _key(text: str) -> str:
    return _plain(text.removesuffix("…"))[:_KEY_CHARS].strip()
