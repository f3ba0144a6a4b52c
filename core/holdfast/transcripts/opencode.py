"""Message dumps of opencode: ``{info, parts}``, a row each, as one array, or under ``data`` or ``messages``.

Source: observed with 1.18.33 (``client.session.messages``); ``messages`` is the shape of ``opencode export``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.excerpts import clean, without_injected
from holdfast.transcripts.reading import Reading, mapping, objects, row_key

NAME: Final = "opencode"
APPENDED: Final = False  # a dump is written anew each time


def recognises(row: Mapping[str, object]) -> bool:
    """Is this a row that only opencode writes?"""
    return isinstance(row.get("info"), dict) and isinstance(row.get("parts"), list)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add what the message says; False when it is no message."""
    info = mapping(row.get("info"))
    role = clean(info.get("role"))
    if role not in {"user", "assistant"} or not isinstance(row.get("parts"), list):
        return False
    reading.place(session_id=info.get("sessionID"), cwd=mapping(info.get("path")).get("cwd"))
    if info.get("summary") is True:
        # A compaction part alone is only the wish: it stays, unanswered, when a plugin blocks it.
        if not info.get("error"):
            reading.boundary()
        return True
    created = mapping(info.get("time")).get("created")
    for number, part in enumerate(objects(row.get("parts"))):
        reading.at(created)
        key = row_key(part.get("id"), position, str(number))
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored"):
            text = part.get("text")
            moment = reading.at(mapping(part.get("time")).get("start"))
            reading.say(role, without_injected(text) if isinstance(text, str) else "", key=key, at=moment)
        elif part.get("type") == "tool":
            _take_tool(part, key, reading)
    return True


def _take_tool(part: Mapping[str, object], key: str, reading: Reading) -> None:
    """A call and, once it has ended, its result, which has the part's id with ``#result``."""
    state = mapping(part.get("state"))
    time = mapping(state.get("time"))
    call_id = part.get("callID")
    reading.call(part.get("tool"), state.get("input"), key=key, call_id=call_id, at=reading.at(time.get("start")))
    status = clean(state.get("status"))
    if status not in {"completed", "error"}:
        return
    output = state.get("output") if status == "completed" else state.get("error")
    code = mapping(state.get("metadata")).get("exit")
    reading.answer(
        output if isinstance(output, str) else "",
        key=f"{key}#result",
        call_id=call_id,
        at=reading.at(time.get("end")),
        failed=status == "error" or (isinstance(code, int) and code != 0),
        tool=part.get("tool"),
    )
