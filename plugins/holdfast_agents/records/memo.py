"""The hooks' record of a session between two events: ``state/agents/STEM.json``. It holds no memory text.

Losing it loses nothing. The transcript is then read from its beginning, and journalled messages are recognised.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import asdict, field, fields, frozen

from holdfast.fs import durable, private
from holdfast.fs.safeopen import Folder
from holdfast.journal.journal import file_stem

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDER = "agents"
_KEPT = 200


def _strings(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(v) for v in values)


@frozen(kw_only=True)
class Memo:
    """``transcript`` was read up to byte ``offset``. ``head`` distinguishes it from a file that replaced it.

    ``journal`` is a digest of the journal's first line. No message journalled by a hook after ``matched_to`` has been
    found in the transcript yet. ``guards`` are the client's settings files that contained holdfast's hook at the start.
    """

    client: str = ""
    session: str = ""
    transcript: str = ""
    offset: int = 0
    head: str = ""
    journal: str = ""
    matched_to: int = 0
    agent: str = ""
    guards: tuple[str, ...] = field(default=(), converter=_strings)


def path_of(state: str, session: str) -> str:
    return os.path.join(state, _FOLDER, f"{file_stem(session)}.json")


def read(state: str, session: str) -> Memo:
    """The session's memo. Empty when it is missing or unreadable."""
    return _read(path_of(state, session)) or Memo(session=session)


def write(state: str, memo: Memo) -> None:
    """Replace the memo atomically. Raises: Unavailable."""
    private.make(state, _FOLDER)
    durable.replace(path_of(state, memo.session), json.dumps(asdict(memo)).encode())


def newest(state: str) -> Iterator[Memo]:
    """The newest sessions' memos, the last written first. Older memos are removed where possible."""
    folder = os.path.join(state, _FOLDER)
    try:
        with Folder(folder) as opened:
            names = [name for name in opened.names() if name.endswith(".json")]
            entries = sorted((-opened.stat(name).st_mtime, os.path.join(folder, name)) for name in names)
            for _, path in entries[_KEPT:]:
                opened.unlink(os.path.basename(path))
    except OSError:
        return
    for _, path in entries[:_KEPT]:
        memo = _read(path)
        if memo is not None and memo.session:
            yield memo


def _read(path: str) -> Memo | None:
    told = private.table(path)
    try:
        memo = Memo(**{a.name: told[a.name] for a in fields(Memo) if a.name in told})
    except (ValueError, TypeError):
        return None
    whole = bool(told) and isinstance(memo.offset, int) and isinstance(memo.matched_to, int)
    return memo if whole and all(isinstance(getattr(memo, n), str) for n in ("session", "transcript")) else None
