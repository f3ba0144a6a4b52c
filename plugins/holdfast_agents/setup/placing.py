"""Adds parts to files and removes them. All files are checked before the first is written, each is replaced as a
whole, and a backup of the original is kept next to it."""

import contextlib
import os
import stat
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.errors import ConfigError
from holdfast.fs import durable
from holdfast_agents import clientfiles
from holdfast_agents.setup.parts import Part

#: Suffix for backups made before holdfast first changes a file.
BACKUP = ".holdfast-backup"
_BOM = "\ufeff"
#: How old a temporary file must be to be a killed installation's. One is written and renamed in an instant.
_STALE_S = 60.0
#: Occurs in everything that holdfast writes to a client's file.
_OURS = "holdfast"


class Place(NamedTuple):
    """A file and the part that goes into it. ``shown`` is its displayed name and ``what`` describes its content.

    ``base`` is the folder with the client's files. With ``contained``, for a project, it is never removed, and no link
    may lead out of it.
    """

    path: str
    shown: str
    part: Part
    base: str
    what: str = ""
    contained: bool = False


#: Endings of files that a client runs.
_PROGRAMS: Final = (".sh", ".cmd", ".js", ".mjs", ".cjs", ".ts", ".py")


class Fate(StrEnum):
    """The outcome for a file. ``RESTORED``: the original, byte for byte. ``KEPT``: not holdfast's, left alone."""

    MADE = "made"
    CHANGED = "changed"
    SAME = "unchanged"
    KEPT = "kept"
    RESTORED = "restored"
    CLEANED = "cleaned"
    REMOVED = "removed"
    ABSENT = "not there"


class Done(NamedTuple):
    """A file's planned or finished change. ``new`` is its new text, None to remove it. ``keep`` is the text to back up,
    if any. ``backup`` is the backup's name, or empty. ``left_alone`` are entries that are not holdfast's."""

    place: Place
    fate: Fate
    new: str | None = None
    keep: str | None = None
    backup: str = ""
    left_alone: tuple[str, ...] = ()


def put_in(places: Sequence[Place]) -> list[Done]:
    """Add each part to its file. A file that already has its part is not written.

    Raises: ConfigError when a file cannot take its part, or another's program has its name, with nothing written;
    Unavailable.
    """
    plan = [_putting(place) for place in places]
    for planned in plan:
        if planned.fate is Fate.KEPT and planned.place.path.endswith(_PROGRAMS):  # the client would run it
            raise ConfigError(
                f"{planned.place.shown} is not holdfast's, and the hooks would run it. Nothing was changed.",
                next_step="Look at it, rename or delete it, then install again.",
            )
    done = list(map(_write, plan))
    _sweep(places)
    return done


def take_out(places: Sequence[Place]) -> list[Done]:
    """Remove each part from its file. A file that only holdfast changed gets its original content back.

    Raises: ConfigError, with nothing written; Unavailable.
    """
    plan = [_taking(place) for place in places]
    _sweep(places)  # before the folders that have become empty are removed
    return [_write(planned) for planned in plan]


def read(path: str, shown: str) -> str | None:
    """A file's text without byte order mark, or None. Raises: ConfigError if not regular or UTF-8; Unavailable."""
    raw = _raw(path, shown)
    return None if raw is None else _without_mark(raw)[0]


def _putting(place: Place) -> Done:
    old = _admissible(place)
    text, mark = _without_mark(old or "")
    if place.part.foreign(text):
        return Done(place, Fate.KEPT)
    new = place.part.put(text, place.shown)
    if old is None:
        return Done(place, Fate.MADE, new)
    left_alone = place.part.left_alone(text)
    if new == text:
        return Done(place, Fate.SAME, left_alone=left_alone)
    # An existing backup from before the first installation is worth more than the current text.
    rest = place.part.take(text, place.shown) if text.strip() else text
    has_backup = os.path.exists(place.path + BACKUP)
    keep = None if (_OURS in text and not rest.strip()) or (rest != text and has_backup) else old
    return Done(place, Fate.CHANGED, mark + new, keep, _backup(place, keep is not None or has_backup), left_alone)


def _taking(place: Place) -> Done:
    old = _admissible(place)
    if old is None:
        return Done(place, Fate.ABSENT)
    text, mark = _without_mark(old)
    if place.part.foreign(text):
        return Done(place, Fate.KEPT)
    new = place.part.take(text, place.shown) if text.strip() else text
    if new == text:
        return Done(place, Fate.SAME)
    before = _raw(place.path + BACKUP, place.shown + BACKUP)
    # A backup that contains an older installation is not the original file.
    if before is not None and _OURS not in before and place.part.put(_without_mark(before)[0], place.shown) == text:
        return Done(place, Fate.RESTORED, before)
    if new.strip():
        return Done(place, Fate.CLEANED, mark + new, backup=_backup(place, before is not None))
    changed = text != place.part.put("", place.shown)
    return Done(place, Fate.REMOVED, None, old if changed else None, _backup(place, changed or before is not None))


def _without_mark(text: str) -> tuple[str, str]:
    return text.removeprefix(_BOM), _BOM if text.startswith(_BOM) else ""


def _backup(place: Place, exists: bool) -> str:
    return os.path.basename(place.path) + BACKUP if exists else ""


def _admissible(place: Place) -> str | None:
    """The file's text, None when it is missing. Raises: ConfigError when holdfast must not write the file."""
    if place.contained and not os.path.realpath(place.path).startswith(os.path.join(os.path.realpath(place.base), "")):
        raise ConfigError(
            f"{place.shown} is a link that leads out of the project. It was not changed.",
            next_step="Replace it with a file, or install with `--scope user`.",
        )
    text = _raw(place.path, place.shown)
    # Replacing a file does not need write permission for the file. Respect a read-only file anyway.
    if text is not None and not os.stat(place.path).st_mode & 0o222:
        raise ConfigError(
            f"{place.shown} is read-only. It was not changed.",
            next_step=f"Allow writing (`chmod u+w {place.shown}`), or add the output of `--print` yourself.",
        )
    return text


def _raw(path: str, shown: str) -> str | None:
    try:
        return clientfiles.read(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{shown} is not UTF-8 (byte {error.start}). It was not changed.", next_step="Save it as UTF-8."
        ) from error
    except OSError as error:
        raise durable.unavailable(error, path, "read") from error


def _write(done: Done) -> Done:
    if done.fate in (Fate.SAME, Fate.KEPT, Fate.ABSENT):
        return done
    folder, name = os.path.split(done.place.path)
    path, backup = os.path.realpath(done.place.path), os.path.join(os.path.realpath(folder), name + BACKUP)
    if done.keep is not None:
        durable.replace(backup, done.keep.encode("utf-8"), mode=_mode(path))
    if done.new is None:
        durable.remove(path)
        base, home = done.place.base, os.path.expanduser("~")
        _remove_empty(folder, home if not done.place.contained and base.startswith(home + os.sep) else base)
        return done
    durable.make_private_dir(os.path.dirname(path))
    durable.replace(path, done.new.encode("utf-8"), mode=_mode(path))
    if done.fate is Fate.RESTORED:
        durable.remove(backup)
    return done


def _sweep(places: Sequence[Place]) -> None:
    """Remove a killed installation's old temporary files. A younger one may be that of a running installation."""
    now = time.time()
    folders = {os.path.dirname(path) for place in places for path in (place.path, os.path.realpath(place.path))}
    for folder in sorted(folders):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                unfinished = name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX)
                if unfinished and now - os.lstat(path).st_mtime > _STALE_S:
                    os.unlink(path)


def _mode(path: str) -> int:
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    return 0o600


def _remove_empty(folder: str, base: str) -> None:
    while folder.startswith(base + os.sep):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
