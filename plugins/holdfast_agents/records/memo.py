"""The hooks' record of a session between two events: ``state/agents/STEM.json``. It holds no memory text.

Losing it loses nothing. The transcript is then read from its beginning, and journalled messages are recognised.
"""

import glob
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from attrs import asdict, frozen

from holdfast.config import serde
from holdfast.errors import ConfigError
from holdfast.fs import durable, private, safeopen
from holdfast.fs.safeopen import Folder
from holdfast.journal.journal import file_stem
from holdfast.text import untrusted
from holdfast_agents.clientfiles import at, own_folder

_FOLDER = "agents"
_KEPT = 200


@frozen(kw_only=True)
class Memo:
    """``transcript`` was read up to byte ``offset``. ``head`` distinguishes it from a file that replaced it.

    ``journal`` is a digest of the journal's first line. No message journalled by a hook after ``matched_to`` has been
    found in the transcript yet. ``guards`` are the client's settings files that contained holdfast's hook at the start.
    ``answered`` is the flush of a compaction whose summary is holdfast's and not used yet, because a client may ask in
    advance. ``used`` is the last flush at the use of the last one.
    """

    client: str = ""
    session: str = ""
    transcript: str = ""
    offset: int = 0
    head: str = ""
    journal: str = ""
    matched_to: int = 0
    agent: str = ""
    guards: tuple[str, ...] = ()
    answered: str = ""
    used: str = ""


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
    table = private.table(path)
    with suppress(ConfigError):
        return serde.structure(table, Memo, what=path) if table else None
    return None


#: Limits for recordings that may belong to another project, in newest files and in rows at each file's start.
_NEWEST, _FIRST = 200, 40
#: Client -> the recordings below its own folder, one per session with its working folder. The others' events contain
#: the messages.
_RECORDED = {
    "claude-code": ("projects", "*", "*.jsonl"),
    "codex": ("sessions", "*", "*", "*", "rollout-*.jsonl"),
    "pi": ("sessions", "*", "*.jsonl"),
}


def last(client: str, root: str) -> datetime | None:
    """When the last change was made, in UTC. None when no recording can be attributed to the project."""
    files = glob.glob(os.path.join(glob.escape(own_folder(client)), *_RECORDED.get(client, ())))
    times = (changed(path) for path in sorted(files, key=changed, reverse=True)[:_NEWEST] if _is_in(path, root))
    return next((datetime.fromtimestamp(time, UTC) for time in times), None)


def is_of(client: str, path: str, root: str) -> bool:
    """Whether ``path`` is a recording in the client's own folder of a session in ``root`` or below.

    A stored path is read only when this holds, because it could name another project's conversation or any file.
    """
    if client not in _RECORDED:
        return False
    real, own = os.path.realpath(path), os.path.join(os.path.realpath(own_folder(client)), _RECORDED[client][0], "")
    in_name = real.removeprefix(own).split(os.sep)[0] == re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root))
    return real.startswith(own) and (_is_in(real, root) or (in_name and not _folders(real)))


def changed(path: str) -> float:
    """When the file was last changed, 0 without one."""
    with suppress(OSError, ValueError):
        return os.stat(path).st_mtime
    return 0.0


def size(path: str) -> int:
    """The file's size in bytes, 0 without one."""
    with suppress(OSError, ValueError):
        return os.stat(path).st_size
    return 0


def _is_in(path: str, root: str) -> bool:
    """Whether any of the session's first rows names a folder at or below ``root``."""
    inside = os.path.join(os.path.realpath(root), "")
    return any(os.path.join(os.path.realpath(cwd), "").startswith(inside) for cwd in _folders(path))


def _folders(path: str) -> list[str]:
    try:
        with safeopen.reader(os.path.realpath(path), private=False) as file:
            lines = [file.readline(1_000_000).decode("utf-8", "replace") for _ in range(_FIRST)]
        rows = [untrusted.from_json(line) for line in lines if line]
    except (OSError, ValueError):
        return []
    named = [at(row, (*path, "cwd")) for row in rows for path in ((), ("payload",))]
    return [name for name in named if isinstance(name, str)]
