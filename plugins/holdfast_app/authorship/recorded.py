"""Reads a client's own recordings as evidence of who said a sentence first.

Whatever a client shows an agent counts as a stranger's text, unless the user typed it, the agent said it, or a known
tool returned it. So kinds of rows that are not known here are strangers', too.
"""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from holdfast.models import Message
from holdfast.text import untrusted
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import outside
from holdfast_app.message_formats.leaves import leaves
from holdfast_app.message_formats.reading import Reading, mapping
from holdfast_app.transcripts import claude_code

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Limits for the recordings searched, newest first.
_FILES: Final = 100
_BYTES: Final = 16_000_000
_CALL_ID: Final = re.compile(rb'"tool_use_id": ?"([^"]{1,200})"')
#: holdfast's own brief, in a hook's row.
_FENCED: Final = Lazy(r"<recalled-memory\b.*?</recalled-memory>", re.DOTALL)
#: A tool's parts of a user's message, and the agent's own of its message.
_RESULT: Final = ("message.content.content", "toolUseResult")
_OWN: Final = tuple(f"message.content.{name}" for name in ("text", "thinking", "input", "name", "signature", "data"))


def paths(root: str, given: Iterable[str]) -> list[str]:
    """``given``, and Claude Code's recordings of sessions in ``root``, with those of their sub-agents."""
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    stem = glob.escape(os.path.join(own, "projects", re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root))))
    found = [*given, *glob.glob(f"{stem}*/*.jsonl"), *glob.glob(f"{stem}*/*/subagents/*.jsonl")]
    return found + [
        sub for one in given for sub in glob.glob(f"{glob.escape(os.path.splitext(one)[0])}/subagents/*.jsonl")
    ]


class Recording:
    """One file's last bytes, also in lower case."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._found: dict[int, list[Message]] = {}

    @cached_property
    def lower(self) -> bytes:
        return self.data.lower()

    def messages(self, start: int, end: int) -> list[Message]:
        """The messages of the row between these offsets. A result follows its call."""
        if start not in self._found:
            with suppress(ValueError):
                self._found[start] = self._row(start, end)
        return self._found.get(start, [])

    def _row(self, start: int, end: int) -> list[Message]:
        row = untrusted.from_json(self.data[start:end].decode("utf-8", "replace"))
        if not isinstance(row, dict) or row.get("type") in claude_code.NOT_SHOWN or row.get("isCompactSummary") is True:
            return []
        is_aside, kind = row.get("isSidechain") is True, row.get("type")
        call_ids = set(_CALL_ID.findall(self.data, start, end))
        if is_aside and kind == "user" and not call_ids:
            return []  # the task of a sub-agent
        reading = Reading(agent=str(row.get("agentId", "")) if is_aside else "")
        for call_id in sorted(call_ids):
            at = self.data.find(b'"%b"' % call_id)  # the call comes first
            if at < start:
                line = self.data[self.data.rfind(b"\n", 0, at) + 1 : self.data.find(b"\n", at)]
                claude_code.take(mapping(untrusted.from_json(line.decode("utf-8", "replace"))), at, reading)
        claude_code.take(row, start, reading)
        said = [one for one in reading.messages if one.role != "tool"]
        tools = sorted((one.tool for one in reading.messages if one.role == "tool"), key=outside.is_outside)
        own = {one.text.strip() for one in said}
        is_hook = str(mapping(row.get("attachment")).get("type")).startswith("hook")
        parts: dict[str, list[str]] = {"system": [], "tool": []}
        for path, leaf in leaves(row):
            if not isinstance(leaf, str) or (kind == "assistant" and path.startswith(_OWN)) or leaf.strip() in own:
                continue
            is_result = tools and tools[-1] and path.startswith(_RESULT) and "<system-reminder>" not in leaf
            parts["tool" if is_result else "system"].append(_FENCED.sub("\n", leaf) if is_hook else leaf)
        when = reading.at(row.get("timestamp"))
        shown = [
            Message(role=role, text="\n".join(lines), at=when, id="", tool=tools[-1] if role == "tool" else "")
            for role, lines in parts.items()
            if lines
        ]
        if is_aside:  # a sub-agent's words are not the agent's
            said = [one for one in said if one.tool]
        return [*shown, *said] if kind == "assistant" else [*said, *shown]


def read(files: list[str]) -> list[Recording]:
    """The newest of ``files``, those that cannot be read left out."""
    dated = []
    for path in dict.fromkeys(files):
        with suppress(OSError):
            dated.append((os.stat(path).st_mtime_ns, path))
    found, left = [], _BYTES
    for _, path in sorted(dated, reverse=True)[:_FILES]:
        with suppress(OSError), open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - left))
            found.append(Recording(file.read(left)))
            left -= len(found[-1].data)
        if left <= 0:
            break
    return found
