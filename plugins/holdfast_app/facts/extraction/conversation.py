"""A caller's conversation as turns: rows of a client interface, or holdfast's own values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from holdfast.errors import BadValue
from holdfast.models import Message, Turn, turns_of
from holdfast_app.message_formats import messages as plain
from holdfast_app.message_formats.reading import Reading

#: An item of a conversation: a holdfast value, or a row of the Chat Completions or Messages interface.
Said: TypeAlias = Turn | Message | Mapping[str, object]

_GIVE: Final = 'Give rows like {"role": "user", "content": "..."}, or Message and Turn objects of holdfast.models.'


def turns_given(said: Said | Iterable[Said]) -> tuple[Turn, ...]:
    """A caller's value, as turns. Raises: BadValue."""
    if isinstance(said, Turn | Message | Mapping):
        said = (said,)
    if isinstance(said, str | bytes) or not isinstance(said, Iterable):
        raise BadValue("messages", f"cannot be of type {type(said).__name__}", next_step=_GIVE)
    turns: list[Turn] = []
    loose: list[Message] = []
    reading = Reading()  # pairs the calls of tools with their results
    for number, item in enumerate(said):
        if isinstance(item, Turn):
            turns += (*turns_of(loose), item)
            loose = []
        elif isinstance(item, Message):
            loose.append(item)
        elif isinstance(item, Mapping) and plain.take(
            {**item, "id": None}, number, reading
        ):  # equal ids would merge two messages
            loose += reading.messages
            reading.messages.clear()
        else:
            what = "a row without role and content" if isinstance(item, Mapping) else f"a {type(item).__name__}"
            raise BadValue("messages", f"holds {what} at position {number}", next_step=_GIVE)
    return (*turns, *turns_of(loose))
