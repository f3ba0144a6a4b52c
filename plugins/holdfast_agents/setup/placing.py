"""Putting parts into files and taking them out: all files are looked at before the first is written, each is replaced
as a whole, and what stood there before is kept beside it."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast.errors import ConfigError
from holdfast.fs import durable

if TYPE_CHECKING:
    from holdfast_agents.setup.parts import Part

#: Added to a file's name: what it was before holdfast first changed it.
BACKUP = ".holdfast-backup"
_BOM = "\ufeff"
#: In every text that holdfast has written to a client's file.
_OURS = "holdfast"


@frozen(kw_only=True)
class Place:
    """A file and what goes into it; ``shown`` is its name for people and ``what`` says what is in it.

    ``base`` is the folder that the client's files are in: it is never removed, and with ``contained`` no link may lead
    out of it.
    """

    path: str
    shown: str
    part: Part
    base: str
    what: str = ""
    contained: bool = False


class Fate(StrEnum):
    """What became of a file. ``RESTORED``: byte for byte what it was; ``KEPT``: it is somebody else's."""

    MADE = "made"
    CHANGED = "changed"
    SAME = "unchanged"
    KEPT = "kept"
    RESTORED = "restored"
    CLEANED = "cleaned"
    REMOVED = "removed"
    ABSENT = "not there"


@frozen(kw_only=True)
class Done:
    """``backup`` names the copy that is kept, or is empty; ``left_alone`` the entries that are somebody else's."""

    place: Place
    fate: Fate
    backup: str = ""
    left_alone: tuple[str, ...] = ()


@frozen(kw_only=True)
class _Step:
    """A write that has been decided upon: ``new`` is None when the file goes, ``keep`` whether a copy stays."""

    done: Done
    new: str | None = None
    keep: str | None = None
    drop_backup: bool = False


def put_in(places: Sequence[Place]) -> list[Done]:
    """Put every part into its file. What is there already is not written again.

    Raises: ConfigError when one of the files cannot take its part, with nothing written; Unavailable.
    """
    done = [_write(step) for step in [_putting(place) for place in places]]
    _sweep(places)
    return done


def take_out(places: Sequence[Place]) -> list[Done]:
    """Take every part out of its file: a file that nobody else has changed since becomes what it was.

    Raises: ConfigError, with nothing written; Unavailable.
    """
    steps = [_taking(place) for place in places]
    _sweep(places)  # before the folders that have become empty are removed
    return [_write(step) for step in steps]


def read(path: str, shown: str) -> str | None:
    """The text of a file without its byte order mark, None when there is none. Raises: ConfigError for what is no file
    or no UTF-8; Unavailable."""
    raw = _raw(path, shown)
    return None if raw is None else raw.removeprefix(_BOM)


def _putting(place: Place) -> _Step:
    old = _admissible(place)
    if old is None:
        return _Step(done=Done(place=place, fate=Fate.MADE), new=place.part.put("", place.shown))
    text, mark = old.removeprefix(_BOM), _BOM if old.startswith(_BOM) else ""
    if place.part.foreign(text):
        return _Step(done=Done(place=place, fate=Fate.KEPT))
    new = place.part.put(text, place.shown)
    left_alone = place.part.left_alone(text)
    if new == text:
        return _Step(done=Done(place=place, fate=Fate.SAME, left_alone=left_alone))
    # A copy that is there already and is of the time before the first installation is worth more than the text now.
    ours = bool(text.strip()) and place.part.take(text, place.shown) != text
    there = os.path.exists(place.path + BACKUP)
    keep = None if _is_all_ours(place, text) or (ours and there) else old
    backup = os.path.basename(place.path) + BACKUP if keep is not None or there else ""
    done = Done(place=place, fate=Fate.CHANGED, backup=backup, left_alone=left_alone)
    return _Step(done=done, new=mark + new, keep=keep)


def _taking(place: Place) -> _Step:
    old = _admissible(place)
    if old is None:
        return _Step(done=Done(place=place, fate=Fate.ABSENT))
    text, mark = old.removeprefix(_BOM), _BOM if old.startswith(_BOM) else ""
    if place.part.foreign(text):
        return _Step(done=Done(place=place, fate=Fate.KEPT))
    new = place.part.take(text, place.shown) if text.strip() else text
    if new == text:
        return _Step(done=Done(place=place, fate=Fate.SAME))
    before = _raw(place.path + BACKUP, place.shown + BACKUP)
    # A copy with an older installation in it is not the file from before holdfast.
    if before is not None and _OURS not in before and place.part.put(before.removeprefix(_BOM), place.shown) == text:
        return _Step(done=Done(place=place, fate=Fate.RESTORED), new=before, drop_backup=True)
    if new.strip():
        backup = os.path.basename(place.path) + BACKUP if before is not None else ""
        return _Step(done=Done(place=place, fate=Fate.CLEANED, backup=backup), new=mark + new)
    changed = text != place.part.put("", place.shown)
    backup = os.path.basename(place.path) + BACKUP if changed or before is not None else ""
    return _Step(done=Done(place=place, fate=Fate.REMOVED, backup=backup), keep=old if changed else None)


def _is_all_ours(place: Place, text: str) -> bool:
    """Whether the file holds only what an installation wrote, maybe an older one."""
    return _OURS in text and not place.part.take(text, place.shown).strip()


def _admissible(place: Place) -> str | None:
    """The file's text, when it may be written to."""
    if place.contained:
        inside = os.path.join(os.path.realpath(place.base), "")
        if not os.path.realpath(place.path).startswith(inside):
            raise ConfigError(
                f"{place.shown} is a link that leads out of the project; it was left as it is.",
                next_step="Replace it by a file, or install with `--scope user`.",
            )
    text = _raw(place.path, place.shown)
    # Replacing a file needs no permission of the file itself; who made it read-only means it all the same.
    if text is not None and not os.stat(place.path).st_mode & 0o222:
        raise ConfigError(
            f"{place.shown} is read-only; it was left as it is.",
            next_step=f"Allow writing (`chmod u+w {place.shown}`), or put in by hand what `--print` prints.",
        )
    return text


def _raw(path: str, shown: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{shown} is not UTF-8 (byte {error.start}); it was left as it is.", next_step="Save it as UTF-8."
        ) from error
    except OSError as error:
        raise durable.unavailable(error, path, "read") from error


def _write(step: _Step) -> Done:
    done, path = step.done, os.path.realpath(step.done.place.path)
    folder, name = os.path.split(done.place.path)
    backup = os.path.join(os.path.realpath(folder), name + BACKUP)
    if done.fate in (Fate.SAME, Fate.KEPT, Fate.ABSENT):
        return done
    if step.keep is not None:
        durable.replace(backup, step.keep.encode("utf-8"), mode=_mode(path))
    if step.new is None:
        durable.remove(path)
        _remove_empty(os.path.dirname(done.place.path), done.place.base)
        return done
    durable.make_private_dir(os.path.dirname(path))
    durable.replace(path, step.new.encode("utf-8"), mode=_mode(path))
    if step.drop_backup:
        durable.remove(backup)
    return done


def _sweep(places: Sequence[Place]) -> None:
    """Remove the temporary files that a killed installation left in the clients' folders. A file that cannot be removed
    stays: `holdfast doctor` reports it."""
    folders = {os.path.dirname(path) for place in places for path in (place.path, os.path.realpath(place.path))}
    for folder in sorted(folders):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if _is_left_over(name):
                    os.unlink(os.path.join(folder, name))


def _is_left_over(name: str) -> bool:
    """Whether a file of this name is the temporary file of a process that has ended."""
    pid = name.removeprefix(durable.TEMP_PREFIX).partition("-")[0]
    if not name.startswith(durable.TEMP_PREFIX) or not name.endswith(durable.TEMP_SUFFIX) or not pid.isdecimal():
        return False
    if sys.platform == "win32":
        return True  # a file that another process has open cannot be removed there
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o600


def _remove_empty(folder: str, base: str) -> None:
    """The folders below ``base`` that held nothing but what was removed."""
    while folder.startswith(base + os.sep):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
