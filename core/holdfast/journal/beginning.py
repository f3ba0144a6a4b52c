"""A journal's first line, whose keyed seal shows that this user began it on this machine, and its check."""

import os
from functools import lru_cache
from typing import BinaryIO

from holdfast.errors import Corrupt
from holdfast.fs import ownership_mark, paths, safeopen
from holdfast.fs.records import decode, encode

_NONCE, _SEAL_BYTES = 12, 12  # digits, bytes
_LONGEST = 65536


def first_line_of(session_id: str) -> bytes:
    """A first line, unique (see :meth:`holdfast.journal.journal.Journal.first_line`) and with this user's seal.

    Raises: ConfigError for a key that cannot be used; Unavailable.
    """
    nonce = os.urandom(6).hex()
    return encode({"kind": "session", "id": session_id, "v": 1, "made": nonce + _seal(session_id, nonce)})


def _seal(session_id: str, nonce: str) -> str:
    key = ownership_mark.secret(make=False) or ownership_mark.secret(make=True)
    return ownership_mark.digest(f"{nonce} {session_id}".encode("utf-8", "replace"), size=_SEAL_BYTES, key=key)


@lru_cache(4096)  # no line becomes foreign
def _is_ours(line: bytes) -> bool:
    """Whether no other user or machine wrote this first line. A damaged one is reported elsewhere."""
    record = decode(line.rstrip(b"\n"))
    if record is None or record.get("kind") != "session":
        return True
    made = str(record.get("made", ""))
    return made[_NONCE:] == _seal(str(record.get("id")), made[:_NONCE])


def opened(path: str, *, private: bool = True) -> BinaryIO:
    """The journal file at ``path``. ``private`` is as in :func:`safeopen.reader`; without it the journal may come from
    elsewhere. Raises: OSError; Corrupt for a journal from elsewhere; Unavailable."""
    file = safeopen.reader(path, private=private)
    return checked(file, path) if private else file


def checked(file: BinaryIO, path: str) -> BinaryIO:
    """The journal ``file`` of ``path`` at its start. Raises: Corrupt, having closed it, when this user did not begin it
    on this machine."""
    if not _is_ours(file.readline(_LONGEST)):
        file.close()
        raise Corrupt(
            f"{paths.ending(path, 4)} was not begun by this user's holdfast on this machine, so it is not read.",
            next_step="Move the file away. `holdfast import` takes sessions of an export from elsewhere.",
        )
    file.seek(0)
    return file
