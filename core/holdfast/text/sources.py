"""Where derived fields come from: the messages whose words a derived field quotes.

A quotation is found again in the message that holds it, whichever rule took it. A field that no message holds word for
word has no source, so none is ever made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from holdfast.text import asked

if TYPE_CHECKING:
    from holdfast.models import Message, Payload

#: The newest this many messages are searched.
MAX_MESSAGES: Final = 5_000
#: Characters of a quotation that are compared, and the fewest that say whose words they are.
_KEY_CHARS: Final = 40
_LEAST_CHARS: Final = 8
_LISTS: Final = ("facts", "decisions", "blockers", "follow_ups")


def of(payload: Payload, messages: Sequence[Message]) -> tuple[str, ...]:
    """``FIELD ID`` for each derived field and message that it quotes, in the order of the fields' texts. ``ID`` is the
    start of the message's id (:func:`holdfast.text.asked.source`)."""
    wanted: dict[str, str] = {}  # the beginning of each quotation
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
            wanted[key] = asked.source(message)
            open_keys.discard(key)
    return tuple(dict.fromkeys(f"{field} {wanted[key]}" for field, key in texts if key in wanted))


def _plain(text: str) -> str:
    return " ".join(text.replace("*", "").replace("`", "").split()).casefold()


def _key(text: str) -> str:
    return _plain(text.removesuffix("…"))[:_KEY_CHARS].strip()
