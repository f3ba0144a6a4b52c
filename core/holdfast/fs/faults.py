"""Turn an operating system error into a sentence and a next step."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

from holdfast.errors import Unavailable
from holdfast.fs.safeopen import UnsafeFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.fs.safeopen import PathArg

_NEXT_STEPS = {
    errno.ENOSPC: "Free some disk space, then try again.",
    errno.EDQUOT: "Free some of the disk quota, then try again.",
    errno.EFBIG: "Raise the file size limit (`ulimit -f`) or move the file away, then try again.",
    errno.EROFS: "Make the file system writable, then try again.",
    errno.EACCES: "Give this user write permission on the file and its folder, then try again.",
    errno.EPERM: "Check the owner and the attributes (`lsattr`) of the file and its folder, then try again.",
    errno.ELOOP: "Replace the symbolic link with a real file or folder, then try again.",
    errno.EIO: "The disk reported an error: check it, then try again.",
    errno.EISDIR: "A folder is where the file should be: move it away, then try again.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.EMFILE: "Close some files or raise the limit (`ulimit -n`), then try again.",
}
#: First words of actions that only read.
_ONLY_READING = frozenset({"read", "find", "list", "check", "open"})


def unavailable(error: OSError, path: PathArg, doing: str) -> Unavailable:
    """An error message and next step for a user. ``doing`` is a phrase like "append to"; the file is named without its
    folder."""
    name = os.path.basename(os.fspath(path)) or os.fspath(path)
    code = error.errno or 0
    if isinstance(error, UnsafeFile):
        return Unavailable(f"Could not {doing} {name!r}: {error.strerror}.", next_step=error.next_step)
    step = _NEXT_STEPS.get(code, "Check the file and its folder, then try again.")
    if code == errno.EACCES and doing.split(maxsplit=1)[0] in _ONLY_READING:
        step = "Give this user read permission on the file, and access to its folder, then try again."
    if code in (errno.ENOTDIR, errno.EEXIST) and (in_the_way := _in_the_way(os.fspath(path))):
        step = f"A file is where a folder should be: move {in_the_way!r} away, then try again."
    reason = os.strerror(code) if code else str(error)
    return Unavailable(
        f"Could not {doing} {name!r}: {reason}.",
        next_step=step,
    )


@contextmanager
def reporting(path: PathArg, doing: str) -> Iterator[None]:
    """Raises: Unavailable for an OSError in the block, see :func:`unavailable`."""
    try:
        yield
    except OSError as error:
        raise unavailable(error, path, doing) from error


def _in_the_way(path: str) -> str:
    """The file where ``path`` needs a folder, on the way or at its end. Empty without one."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.basename(path) if path and not os.path.isdir(path) else ""
