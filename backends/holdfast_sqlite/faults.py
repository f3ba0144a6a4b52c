"""SQLite's errors as the storage errors that the contract names."""

import sqlite3
from typing import Final

from holdfast.errors import Corrupt, HoldfastError, Refused, Unavailable

#: Primary result codes, the low byte of extended codes. Source: https://www.sqlite.org/rescode.html
_ERROR, _PERM, _BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN = 1, 3, 5, 6, 8, 10, 11, 13, 14
_INTERRUPT, _TOOBIG, _NOTADB = 9, 18, 26  # only an endless schema is interrupted
_IOERR_CORRUPTFS: Final = _IOERR | (33 << 8)

RESTORE: Final = "Restore the file from a copy, or move it away to start again. Until then holdfast writes nothing."
_UNAVAILABLE: Final = {
    _PERM: ("access was denied", "Give this user access to the file and its folder, then try again."),
    _READONLY: ("it is read-only", "Make the file, its folder and the file system writable, then try again."),
    _IOERR: ("the disk or a limit on file sizes reported an error", "Check the disk and `ulimit -f`, then try again."),
    _FULL: ("the disk is full", "Free some disk space, then try again."),
    _CANTOPEN: ("it could not be opened", "Check the file, its folder and their owner, then try again."),
}


def code_of(error: sqlite3.Error) -> int:
    """The extended result code; 0 when the error is the Python module's own."""
    return int(getattr(error, "sqlite_errorcode", 0))


def cannot_open(error: sqlite3.Error) -> bool:
    return code_of(error) & 0xFF in (_CANTOPEN, _READONLY, _PERM)


def translate(error: sqlite3.Error | UnicodeEncodeError, file: str, timeout_s: float) -> HoldfastError:
    """The storage error for ``error``. Its message holds no part of the text being stored."""
    if isinstance(error, UnicodeEncodeError):
        return Refused("The text holds a lone surrogate.", next_step="Remove it.")
    code = code_of(error)
    primary = code & 0xFF
    if primary in (_BUSY, _LOCKED):
        return Unavailable(
            f"{file!r} was still locked by another process after {timeout_s:g} s.",
            next_step="Wait for it or end it, then try again. The lock frees itself when its process ends.",
        )
    if primary in (_CORRUPT, _INTERRUPT, _NOTADB) or code == _IOERR_CORRUPTFS:
        what = "is not a SQLite database" if primary == _NOTADB else "is damaged"
        return Corrupt(f"{file!r} {what} ({error}).", next_step=RESTORE)
    if primary == _ERROR or (code == 0 and "decode" in str(error)):  # a missing table, or a string that is not UTF-8
        words = str(error).partition(" with text")[0]  # memory text would follow
        return Corrupt(f"{file!r} has unexpected content ({words}).", next_step=RESTORE)
    if primary == _TOOBIG or isinstance(error, sqlite3.DataError):
        return Refused("The text is too large for one SQLite value.", next_step="Split it.")
    reason, step = _UNAVAILABLE.get(primary, (str(error), "Try again."))
    return Unavailable(f"{file!r} could not be used: {reason}.", next_step=step)
