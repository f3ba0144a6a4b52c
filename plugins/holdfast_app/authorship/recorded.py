"""Reads a client's own recordings as evidence of who said a sentence first.

Whatever a client shows an agent counts as a stranger's text, unless the user typed it, the agent said it, or a known
tool returned it. So kinds of rows that are not known here are strangers', too.
"""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from holdfast.models import Message
from holdfast.text import untrusted
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import outside
from holdfast_app.message_formats.leaves import leaves
from holdfast_app.message_formats.reading import Reading, mapping
from holdfast_app.transcripts import claude_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Limits for the recordings searched, newest first.
_FILES: Final = 100
_BYTES: Final = 16_000_000
_CALL_ID: Final = re.compile(rb'"tool_use_id": ?"([^"]{1,200})"')
#: holdfast's own brief, in a hook's row.
_FENCED: Final = Lazy(r"<recalled-memory\b.*?</recalled-memory>", re.DOTALL)
#: A tool's parts of a user's message, and the agent's own of its message.
_RESULT: Final = ("message.content.content", "toolUseResult")
_OWN: Final = tuple(f"message.content.{name}" for name in ("text", "thinking", "input", "name", "signature", "data"))


def read(root: str, given: Iterable[str]) -> list[bytes]:
    """The newest of ``given`` and of Claude Code's recordings in ``root``, with those of sub-agents, up to a limit."""
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    stem = os.path.join(own, "projects", re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root)))
    files = [*given, *glob.glob(f"{glob.escape(stem)}*/*.jsonl")]
    files += [sub for one in files[:_FILES] for sub in glob.glob(f"{glob.escape(one[:-6])}/subagents/*.jsonl")]
    newest = sorted((-os.stat(path).st_mtime_ns, path) for path in set(files) if os.path.isfile(path))[:_FILES]
    found, left = [], _BYTES
    for _, path in newest:
        with suppress(OSError), open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - left))
            found.append(file.read(left))
            left -= len(found[-1])
    return found


def messages(data: bytes, start: int, end: int) -> list[Message]:
    """The messages of the row between these offsets. A result gets the name of its call."""
    row = _row(data[start:end])
    kind, is_aside = row.get("type"), row.get("isSidechain") is True
    call_ids = sorted(set(_CALL_ID.findall(data, start, end)))
    if kind in claude_code.NOT_SHOWN or row.get("isCompactSummary") is True:
        return []
    if is_aside and kind == "user" and not call_ids:
        return []  # the task of a sub-agent
    reading = Reading(agent=str(row.get("agentId", "")) if is_aside else "")
    for call_id in call_ids:
        if (at := data.rfind(b'"%b"' % call_id, 0, start)) >= 0:
            claude_code.take(_row(data[data.rfind(b"\n", 0, at) + 1 : data.find(b"\n", at)]), at, reading)
    claude_code.take(row, start, reading)
    said = [one for one in reading.messages if one.role != "tool"]
    tool = max((one.tool for one in reading.messages if one.role == "tool"), key=outside.is_outside, default="")
    own = {one.text.strip() for one in said}
    is_hook = str(mapping(row.get("attachment")).get("type")).startswith("hook")
    parts: dict[str, list[str]] = {"system": [], "tool": []}
    for path, leaf in leaves(row):
        if isinstance(leaf, str) and not (kind == "assistant" and path.startswith(_OWN)) and leaf.strip() not in own:
            is_result = tool and path.startswith(_RESULT) and "<system-reminder>" not in leaf
            parts["tool" if is_result else "system"].append(_FENCED.sub("\n", leaf) if is_hook else leaf)
    when = reading.at(row.get("timestamp"))
    shown = [
        Message(role=role, text="\n".join(lines), at=when, id="", tool=tool if role == "tool" else "")
        for role, lines in parts.items()
    ]
    said = [one for one in said if one.tool or not is_aside]  # a sub-agent's words are not the agent's
    return [*shown, *said] if kind == "assistant" else [*said, *shown]


def _row(line: bytes) -> Mapping[str, object]:
    with suppress(ValueError):
        return mapping(untrusted.from_json(line.decode("utf-8", "replace")))
    return {}
