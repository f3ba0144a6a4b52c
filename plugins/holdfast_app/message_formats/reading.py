"""A transcript reader's result, and the record that format modules fill row by row."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from attrs import define, field, frozen

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.message_formats.leaves import (
    MAX_SAID_CHARS,
    STRUCTURE,
    call_text,
    clean,
    clip,
    has_words,
    readable,
    result_text,
)
from holdfast_app.message_formats.summaries import SUMMARY

#: The beginning of a thought, at a line's start.
_THOUGHT: Final = Lazy(r"^[ \t]*<think(?:ing)?>", re.MULTILINE)
_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)
_MILLISECONDS_FROM: Final = 100_000_000_000  # as seconds this would be the year 5138
#: The tool name for the model's thoughts. They are stored but never treated as statements.
THINKING: Final = "thinking"
#: A row of unknown type with any of these keys may be part of the conversation.
_CONVERSATION: Final = ("role", "message", "messages", "content", "text", "parts", "prompt")


@frozen(kw_only=True)
class Transcript:
    """A client's recorded conversation, oldest first.

    Each message's ``id`` comes from its row, so that importing a transcript twice adds nothing. A call's
    record has role ``assistant`` and the tool's name in ``tool``. Its result has role ``tool``, the same name (empty if
    the call is before ``offset``) and ``failed``. ``tokens`` is left 0 for the session to count.

    ``messages`` are the statements and actions. ``kept`` is for the journal, which also gets, in order, the
    model's thoughts (role ``assistant``, tool ``thinking``), the client's own summaries at its compactions (role
    ``system``, tool ``summary``) and rows of unknown form.

    Damaged rows and rows of unknown type that may be part of the conversation are in ``kept`` with the role ``system``.
    Rows without conversation (a client's bookkeeping, its own instructions) are left out. ``truncated`` is true when
    the file ends inside a row. ``next_offset``, in bytes, is where to read on; 0 for files that are always read whole.
    ``calls`` maps message ids for a call and its result to the client's own id for the call.
    """

    format: str
    session_id: str = ""
    messages: tuple[Message, ...] = ()
    kept: tuple[Message, ...] = field(default=(), repr=False)
    branch: str = ""
    truncated: bool = False
    next_offset: int = 0
    calls: Mapping[str, str] = field(factory=dict, repr=False)


@define(eq=False, repr=False)
class Reading:
    """A transcript under construction. Format modules pass in their findings, and it cleans, clips and numbers them."""

    session_id: str = ""
    branch: str = ""
    #: For Claude Code: read only this sub-agent's messages. Empty means the conversation itself.
    agent: str = ""
    #: Whether anything other than instructions was seen.
    begun: bool = False
    messages: list[Message] = field(factory=list)
    kept: list[Message] = field(factory=list)
    #: Rows of a type that no interface has, kept as they are.
    unread: int = 0
    #: Prompts waiting for the model to finish, and prompts from one row that another may repeat.
    queued: list[str] = field(factory=list)
    handed_over: set[str] = field(factory=set)
    cwd: str = ""
    #: The time of what is read now.
    clock: datetime = _EPOCH
    _ids: dict[str, int] = field(factory=dict)
    _open_calls: dict[str, str] = field(factory=dict)
    _calls: dict[str, str] = field(factory=dict)

    def place(self, *, session_id: object = None, cwd: object = None, branch: object = None) -> None:
        """Record the conversation's working directory; anything except a non-empty string is ignored."""
        self.session_id = clean(session_id) or self.session_id
        self.cwd = clean(cwd) or self.cwd
        self.branch = clean(branch if branch != "HEAD" else "") or self.branch  # HEAD is none, or a bare commit

    def at(self, stamp: object) -> None:
        """Date what follows. Without a usable time, it keeps the previous row's, or the epoch before the first."""
        self.clock = moment_of(stamp) or self.clock

    def say(self, role: str, text: str, *, key: str, aside: bool = False) -> None:
        """Add a statement by a person or the model. Blank text adds nothing. With ``aside`` it is only kept."""
        if role == "assistant" and "</think" in text:
            text, thoughts = _without_thoughts(text)
            self.think({"thinking": thoughts}, key=f"{key}#think")
        if text:
            self._add(role, clip(clean(text).strip(), MAX_SAID_CHARS), key, aside=aside)

    def think(self, block: Mapping[str, object], *, key: str, change: Callable[[str], str] = str) -> None:
        """Add the model's thoughts as a record of the tool ``thinking``, not as a statement."""
        text = readable(block, change, but=STRUCTURE).removeprefix("thinking: ").removeprefix("thinking:\n").strip()
        self._add("assistant", text, key, THINKING, aside=True)

    def unknown(self, row: object, position: int) -> None:
        """Keep the strings in a row of unknown form when it may be part of the conversation. ``row`` is the raw line if
        it is damaged."""
        if isinstance(row, dict):
            kind = clean(row.get("type"))
            held = has_words({name: row[name] for name in _CONVERSATION if name in row}) or any(
                isinstance(value, dict) and any(name in value for name in _CONVERSATION) and has_words(value)
                for value in row.values()
            )
        else:
            kind, held = "", has_words(row)
        if held:
            named = f" of type {kind!r}" if kind else ""
            text = f"[row {position} of the transcript, of no known form{named}]\n{readable(row)}"
            self._add("system", text, row_key("", position, text), aside=True)

    def call(self, tool: object, arguments: object, *, key: str, call_id: object = None) -> None:
        """Add a tool call with a line like ``Bash: pytest -q``, then every argument that the line does not show."""
        name = clean(tool) or "tool"
        if self._add("assistant", call_text(name, arguments, self.cwd), key, name) and isinstance(call_id, str):
            self._open_calls[call_id] = name
            self._calls[key] = call_id

    def answer(
        self,
        output: object,
        *,
        key: str,
        call_id: object = None,
        failed: bool = False,
        tool: object = None,
        change: Callable[[str], str] = str,
    ) -> None:
        """Add a tool's result, each of its strings clipped (:func:`~holdfast_app.message_formats.leaves.clip`). An
        empty output is recorded as such."""
        known = self._open_calls.pop(call_id, "") if isinstance(call_id, str) else ""
        name = clean(tool) or known
        text = result_text(output, change, name)
        if self._add("tool", text, key, name, failed=failed) and isinstance(call_id, str):
            self._calls[key] = call_id

    def summary(self, text: object, *, key: str) -> None:
        """Keep the client's summary from its compaction, which is not part of the conversation."""
        self._add("system", clip(clean(text).strip(), MAX_SAID_CHARS), key, SUMMARY, aside=True)

    def finish(self, name: str, *, next_offset: int, truncated: bool) -> Transcript:
        return Transcript(
            format=name,
            session_id=self.session_id,
            messages=tuple(self.messages),
            kept=tuple(self.kept),
            branch=self.branch,
            truncated=truncated,
            next_offset=next_offset,
            calls=self._calls,
        )

    def _add(
        self, role: str, text: str, key: str, tool: str = "", *, failed: bool = False, aside: bool = False
    ) -> bool:
        content_hash = hash((role, text))
        if self._ids.get(key, content_hash) != content_hash:  # other words under the same id
            key = row_key("", 0, key, text)
        if not text or key in self._ids:
            return False
        self._ids[key] = content_hash
        message = Message(role=role, text=text, at=self.clock, id=key, tool=tool, failed=failed)
        self.kept.append(message)
        if not aside:
            self.messages.append(message)
        return True


def _without_thoughts(text: str) -> tuple[str, str]:
    """What a model says, and its thoughts, which some models and exports put between tags in the same text."""
    answer, *parts = _THOUGHT.split(text)
    thoughts = []
    for part in parts:
        thought, end, rest = part.partition("</think")
        thoughts += [thought] if end else []
        answer += rest.partition(">")[2] if end else part
    return answer, "\n".join(thoughts)


def row_key(row_id: object, position: int, *content: str) -> str:
    """The row's own id, otherwise one derived from its content and position (byte or index), which appending does not
    change."""
    if key := clean(row_id).strip():
        return key
    from hashlib import blake2b

    digest = blake2b("\0".join((str(position), *map(clean, content))).encode(), digest_size=8)
    return f"row-{digest.hexdigest()}"


def mapping(value: object) -> Mapping[str, object]:
    """``value`` if it is a JSON object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def moment_of(stamp: object) -> datetime | None:
    """ISO 8601 text, or seconds or milliseconds since 1970, or such a time, as an aware time; else None."""
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(stamp, datetime):
            return stamp
        if isinstance(stamp, str):
            moment = datetime.fromisoformat(stamp)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        if isinstance(stamp, int | float) and not isinstance(stamp, bool):
            return datetime.fromtimestamp(stamp / 1000 if stamp >= _MILLISECONDS_FROM else stamp, tz=UTC)
    return None
