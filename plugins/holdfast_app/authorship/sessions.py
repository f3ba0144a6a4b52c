"""This machine's sessions, as evidence: what was said in them, and what flushes wrote with marks.

``state/purged`` has a line for each marked sentence that a purge removed: two bytes of a keyed digest of each stem.
Many words share them, so they do not tell which it was.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Final

from holdfast.config.serde import moment
from holdfast.errors import HoldfastError
from holdfast.fs import durable, ownership_mark, private, records, safeopen
from holdfast.models import Message, Turn
from holdfast_app.authorship import hostile, strangers
from holdfast_app.journal.journal import opened
from holdfast_app.message_formats.leaves import MAX_RESULT_CHARS
from holdfast_app.records import journals

#: Limits for the searched journals, newest first. Short sessions must not hide a long one.
_JOURNALS: Final = 300
_BYTES: Final = 16_000_000
_MOST_QUOTED: Final = 50  # passages
_AT: Final = re.compile(rb'"timestamp": ?"([^"]{1,40})"')
_RESULT: Final = re.compile(rb'"(?:tool_result|function_call_output)"')
_SIDE: Final = b'"isSidechain":true'
#: What follows repeats the result for the client's own use. The agent does not see it.
_NOT_SHOWN: Final = b'"toolUseResult":'
_CALL: Final = re.compile(rb'"id": ?"([^"]{1,80})", ?"name": ?"([^"]{1,80})", ?("input": ?\{[^\n]{0,2000})')
_CALLED: Final = re.compile(rb'"tool_use_id": ?"([^"]{1,80})"')
_MESSAGE: Final = records.beginning("message")
_FLUSH: Final = records.beginning("checkpoint")
_QUOTES: Final = b"[quoted from "
_ID: Final = re.compile(rb'"id":"([^"]*)"')


PURGED: Final = "purged"
_DIGEST_BYTES: Final = 2
_PURGED_BYTES: Final = 200_000  # the newest


class _Line:
    """A line of a journal or a recording. Its message is read when a search finds it."""

    def __init__(self, line: bytes) -> None:
        self._line, self._low = line, line.lower()

    def holds(self, keys: Sequence[bytes]) -> bool:
        """Whether it holds all ``keys``, in lower case. The last key is the longest, so the rarest."""
        return keys[-1] in self._low and all(key in self._low for key in keys[:-1])

    @cached_property
    def message(self) -> Message | None:
        record, at = records.decode(self._line.rstrip(b"\n")), _AT.search(self._line)
        with suppress(KeyError, TypeError, ValueError):
            if record is not None:
                return message(record)
            if at:
                tool, _, text = self._line.decode("utf-8", "replace").rstrip("\n").partition("\t")
                return Message(role="tool", text=text, at=moment(at[1].decode()), id="", tool=tool)
        return None


class Journals:
    """The newest journals, read on demand, without the messages of ``turns``, and the long results of the client's
    ``recordings``, which a journal cuts."""

    def __init__(self, state: str, turns: Sequence[Turn] = (), recordings: Iterable[str] = ()) -> None:
        self._state, self._recordings = state, recordings
        self._said = {message.id.encode() for turn in turns for message in turn.messages}
        self._found: dict[tuple[bytes, ...], list[Turn]] = {}

    @cached_property
    def read(self) -> list[list[_Line]]:
        """Each file's lines."""
        files = (*(lines for lines, _ in self._newest), *_recorded(self._recordings))
        return [[_Line(line) for line in lines if self._is_other(line)] for lines in files]

    def _is_other(self, line: bytes) -> bool:
        """Whether a line is whole, and no message of the turns."""
        named = _ID.search(line)
        return line.endswith(b"\n") and not (named and named[1] in self._said)

    @cached_property
    def quoted(self) -> list[tuple[str, str]]:
        """Source and text of the newest marked passages in what flushes wrote."""
        return [quote for _, texts in self._newest for text in texts for quote in hostile.quoted(text)][-_MOST_QUOTED:]

    @cached_property
    def _newest(self) -> list[tuple[list[bytes], list[str]]]:
        """The message lines of the newest journals, and what flushes wrote with marks, oldest first; unreadable ones
        are skipped."""
        newest, left = list[tuple[list[bytes], list[str]]](), _BYTES
        for path in reversed(journals.by_age(self._state)[-_JOURNALS:]):
            with suppress(OSError, HoldfastError):
                status = os.stat(path) if os.path.exists(path) else None  # another process has just packed it
                left -= status.st_size if status else 0
                if left < 0:
                    break
                newest.append(_messages(path, (status.st_ino, status.st_size, status.st_mtime_ns) if status else None))
        return newest[::-1]

    def holding(self, text: str) -> list[Turn]:
        """The messages with the longest words of ``text``. Only lines with these words are parsed."""
        keys = tuple(word.encode() for word in strangers.longest(text))
        if keys not in self._found:
            found = ([line.message for line in lines if line.holds(keys)] for lines in self.read if keys)
            self._found[keys] = [Turn(messages=filter(None, messages)) for messages in found if any(messages)]
        return self._found[keys]


@lru_cache(_JOURNALS)  # a flush asks several times, and most journals have ended
def _messages(path: str, stamp: tuple[int, int, int] | None) -> tuple[list[bytes], list[str]]:
    """Raises: OSError; HoldfastError, for one from elsewhere, too."""
    with opened(path) as file:
        begins = records.decode(file.readline().rstrip(b"\n")) or {}
        lines = list(file) if begins.get("kind") == "session" else []
    messages = [line for line in lines if line.startswith(_MESSAGE)]
    flushes = (records.decode(line.rstrip(b"\n")) for line in lines if line.startswith(_FLUSH) and _QUOTES in line)
    receipts = (flush.get("receipt") for flush in flushes if flush)
    return messages, [str(receipt.get("summary")) for receipt in receipts if isinstance(receipt, dict)]


def _recorded(paths: Iterable[str]) -> Iterator[list[bytes]]:
    """Rows of clients' recordings that a journal cuts or lacks, like sub-agents'. Each follows its tool's name."""
    left = _BYTES
    for path in paths:
        folder = os.path.join(path.rpartition(".")[0], "subagents")
        names: list[str] = []
        with suppress(OSError):
            names = sorted(os.listdir(folder))
        for name in (path, *(os.path.join(folder, entry) for entry in names if entry.endswith(".jsonl"))):
            calls: dict[bytes, list[bytes]] = {}
            rows = []
            with suppress(OSError), safeopen.reader(os.path.realpath(name), private=False) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - left))
                left = max(0, left - size)
                for row in file:
                    for call, *details in _CALL.findall(row) if b'"name"' in row else ():
                        calls[call] = details
                    shown, *_ = row.partition(_NOT_SHOWN)
                    row = shown + b"\n" if _RESULT.search(shown) and _AT.search(shown) else row
                    if (len(row) > MAX_RESULT_CHARS or name != path or _SIDE in row) and _RESULT.search(row):
                        called = _CALLED.search(row)
                        tool, arguments = calls.get(called[1] if called else b"", [b"", b""])
                        is_fetched = strangers.FETCHES.search(arguments.decode("utf-8", "replace"))
                        if not strangers.is_own(tool.decode()):
                            rows.append(tool + b" fetched" * bool(is_fetched) + b"\t" + row)
            yield rows


def message(record: Mapping[str, object]) -> Message:
    """A journal's message. Raises: KeyError, ValueError for a damaged record."""
    return Message(
        role=str(record["role"]),
        text=str(record["text"]),
        at=moment(str(record["at"])),
        id=str(record["id"]),
        tool=str(record.get("tool", "")),
    )


# what was purged


def purged(state: str) -> list[frozenset[str]]:
    """What is known of each purged sentence; nothing where the list cannot be read."""
    with suppress(HoldfastError):
        data = (private.read(os.path.join(state, PURGED)) or b"")[-_PURGED_BYTES:]
        return [frozenset(line.split()) for line in data.decode("ascii", "replace").split("\n")[1:]]
    return []


def is_purged(known: Sequence[frozenset[str]], stems: Iterable[str], *, is_direction: bool) -> bool:
    """Whether a sentence is one of ``known``, which :func:`purged` returned, or for a direction a rewording of it."""
    mine = _digests(stems) if known else frozenset[str]()
    return any(
        strangers.is_rewording(mine, other)
        and (is_direction or len(mine & other) >= strangers.ALIKE * max(len(mine), len(other)))
        for other in known
    )


def note_purged(state: str, before: str, after: str) -> None:
    """Keep the marked sentences that a document loses, durably, except for the agent's own. Raises: Unavailable."""
    gone = {text for source, text in hostile.quoted(before) if source != strangers.AGENT and text not in after}
    lines = sorted(" ".join(sorted(_digests(stems))) for text in gone for stems in strangers.rewordable(text))
    if lines:
        durable.append(os.path.join(state, PURGED), "\n".join(["", *lines]).encode("ascii"))


def _digests(stems: Iterable[str]) -> frozenset[str]:
    key = ownership_mark.secret(make=True)
    # Decimal digits, because a later purge searches every file for a name, which may look like hexadecimal ones.
    return frozenset(str(int(ownership_mark.digest(stem.encode(), size=_DIGEST_BYTES, key=key), 16)) for stem in stems)
