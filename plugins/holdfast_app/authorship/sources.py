"""Find the sources of derived fields, which are the messages they quote.

A quotation is located in the message that contains it, whichever rule took it. A field without a verbatim match in any
message has no source, so sources are never invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast import models
from holdfast.text.lazy import Lazy

#: Number of newest messages to search.
MAX_MESSAGES: Final = 5_000
#: Number of a quotation's characters to compare, and the minimum that identifies its author.
_KEY_CHARS: Final = 40
_LEAST_CHARS: Final = 8
#: Length of a short id, in characters.
_SHORT: Final = 8
#: Ids that begin alike: with a kind (``msg_``, ``prt_``, ``toolu_``), or version 7 UUIDs, which begin with a time.
_ALIKE: Final = Lazy(r"[a-z]+_|[0-9a-f]{8}-[0-9a-f]{4}-7")
LISTS: Final = ("facts", "decisions", "blockers", "follow_ups")


def short_id(message_id: str) -> str:
    """Eight characters that identify a message in its session. They are the first, or the last where ids begin with
    a kind or a time, like Codex's and opencode's."""
    bare = message_id.removeprefix("hook-").removeprefix("row-")
    return bare[-_SHORT:] if _ALIKE.match(bare) else bare[:_SHORT]


def of(payload: models.Payload, messages: Sequence[models.Message]) -> tuple[str, ...]:
    """``FIELD ID`` for each derived field and each message it quotes, ordered by quotation. ``ID`` is
    a shortened message id (:func:`short_id`)."""
    said_in: dict[str, str] = {}  # each key's message
    wanted: list[tuple[str, tuple[str, ...]]] = []
    for field in ("objective", "next_step", *LISTS, "rejected", "rules"):
        if field in payload.derived:
            value = getattr(payload, field) or ()
            wanted += [(field, _keys(field, text)) for text in ((value,) if isinstance(value, str) else value)]
    open_keys = {key for _, keys in wanted for key in keys}
    for message in messages[: -MAX_MESSAGES - 1 : -1]:
        if not open_keys:
            break
        if message.role == "system" or message.tool == "thinking":
            continue
        content = plain(message.text)
        for key in [key for key in open_keys if key in content]:
            said_in[key] = short_id(message.id)
            open_keys.discard(key)
    pairs = ((field, next((said_in[key] for key in keys if key in said_in), "")) for field, keys in wanted)
    return tuple(dict.fromkeys(f"{field} {source}" for field, source in pairs if source))


def _keys(field: str, text: str) -> tuple[str, ...]:
    """What to look for, best first. An objective may end with an earlier request in brackets."""
    strings = (text, text.partition(" (")[0]) if field == "objective" else (text,)
    return tuple(filter(None, (key(plain(string.removesuffix("…"))) for string in strings)))


def plain(text: str) -> str:
    """``text`` as it is compared with a quotation: on one line, without emphasis and in lower case."""
    return " ".join(text.replace("*", "").replace("`", "").split()).casefold()


def key(quotation: str) -> str:
    """What identifies a plain quotation in a message: its beginning. Empty when it is too short."""
    begins = quotation[:_KEY_CHARS].strip()
    return begins if len(begins) >= _LEAST_CHARS else ""
