"""The conversation: messages and turns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attrs import field, frozen


@frozen(kw_only=True)
class Message:
    """One record of a conversation. ``role`` is user, assistant, system or tool; ``at`` is timezone-aware.

    ``tokens`` is the configured counter's count for ``text``. ``tool`` names a call's tool (role
    assistant) or of its result (role tool); ``failed`` is true for a result that reported an error.
    """

    role: str
    text: str
    at: datetime
    id: str
    tokens: int = 0
    tool: str = ""
    failed: bool = False


@frozen(kw_only=True)
class Turn:
    """A user message with all replies by the assistant and its tools, in order."""

    messages: tuple[Message, ...] = field(converter=tuple[Message, ...])

    @property
    def user(self) -> str:
        """The user's text, empty when the turn has none."""
        return "\n".join(m.text for m in self.messages if m.role == "user")

    @property
    def assistant(self) -> str:
        """The assistant's words, without tool calls and their results."""
        return "\n".join(m.text for m in self.messages if m.role == "assistant" and not m.tool)


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Group messages into turns. Each user message opens a turn; other records before the first form their own."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not groups:
            groups.append([])
        groups[-1].append(message)
    return tuple(Turn(messages=tuple(group)) for group in groups)
