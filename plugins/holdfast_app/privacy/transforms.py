"""Edits of stored data, and finding a string in any form: another case or Unicode form, other spacing, escaped, in
UTF-16, cut short.

Purge and scrub are edits, and :mod:`holdfast_app.privacy.sweep` carries them out. The search selects data for a purge
and, on the raw bytes of every file, proves that nothing is left.
"""

import codecs
import json
import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, TypeVar, cast

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.fs import durable, records, safeopen
from holdfast.models import Fact
from holdfast.text import untrusted
from holdfast.text.plain import normalized
from holdfast_app.base import Services

T = TypeVar("T")

_SQLITE: Final = b"SQLite format 3\0"
_CHUNK: Final = 1 << 20  # bytes read at a time
_OVERLAP: Final = 1 << 16
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([\"\\/bfnrt']))")
_SIGNS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NESTED: Final = 3  # levels of JSON nested in JSON strings
_CUT: Final = "…"  # ends a string that holdfast has shortened
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def fold(text: str) -> str:
    """``text`` normalised for comparison: composed, case-folded, each run of white space as one space.

    White space is normalised because notes put a string on one line and write ``<!--`` as ``&lt;!--``.
    """
    text = text.lower() if text.isascii() else normalized("NFC", normalized("NFC", text).casefold())
    return " ".join(text.replace("&lt;!--", "<!--").split())


class Needle:
    """A string to search for. Its repr does not show it."""

    def __init__(self, text: str) -> None:
        self._text = fold(text)
        self.words = self._text.count(" ") + 1
        # Minimum length of the part before or after a cut, because a shorter part could be any word.
        self._least = max(5, len(self._text) * 2 // 3)

    def __len__(self) -> int:
        return len(self._text)

    def in_text(self, text: str) -> bool:
        """Whether ``text`` holds the string, or its beginning or end where holdfast has shortened the text."""
        return self.in_folded(fold(text))

    def in_folded(self, folded: str) -> bool:
        """:meth:`in_text` for text that :func:`fold` returned."""
        return self._text in folded or (_CUT in folded and self._is_cut_in(folded))

    def in_key(self, key: str) -> bool:
        """Whether ``key`` was derived from text that holds the string: such keys have no case, signs or spaces."""
        letters = _letters(self._text)
        return bool(letters) and letters in _letters(fold(key))

    def _is_cut_in(self, folded: str) -> bool:
        parts = folded.split(_CUT)
        sizes = range(self._least, len(self._text))
        before = (part.rstrip(" [") for part in parts[:-1])
        after = (part.lstrip(" ]") for part in parts[1:])
        return any(part.endswith(self._text[:n]) for part in before for n in sizes) or any(
            part.startswith(self._text[-n:]) for part in after for n in sizes
        )


def any_in_bytes(needles: Collection[Needle], data: bytes) -> bool:
    """Whether ``data`` holds any of the needles as UTF-8, as UTF-16 or escaped as in JSON and TOML."""
    return any(needle.in_folded(folded) for folded in map(fold, _readings(data)) for needle in needles)


def _letters(folded: str) -> str:
    return "".join(filter(str.isalnum, folded))


def _readings(data: bytes) -> Iterator[str]:
    text, before = data.decode("utf-8", "replace"), None
    for _ in range(_NESTED + 1):
        if text == before:
            break
        yield text
        text, before = unescape(text), text
    if b"\0" in data:
        yield from (data[at:].decode(codec, "replace") for codec in ("utf-16-le", "utf-16-be") for at in (0, 1))


def unescape(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if not digits:
            return _SIGNS.get(match[4], match[4])
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else match[0]

    text = _ESCAPE.sub(read, text)
    if _SURROGATE.search(text):  # JSON escapes a character beyond U+FFFF as two of these
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def in_file(path: str, needles: Collection[Needle]) -> bool:
    """Whether the file holds any of ``needles``; false for a missing file. Raises: Unavailable."""
    if not needles:
        return False
    overlap = max(_OVERLAP, 16 * max(map(len, needles)))
    missing = suppress(FileNotFoundError)
    tail = b""
    with durable.reporting(path, "read"), missing, safeopen.reader(path, private=False) as file:
        while chunk := file.read(_CHUNK):
            data = tail + chunk
            if any_in_bytes(needles, data):
                return True
            tail = data[-overlap:]
    return False


def files(folder: str, *, deep: bool = True) -> Iterator[str]:
    """Paths of the regular files in ``folder``, sorted; symbolic links are not followed. Raises: Unavailable."""
    entries: list[os.DirEntry[str]] = []
    missing = suppress(FileNotFoundError, NotADirectoryError)
    with durable.reporting(folder, "list"), missing, os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if deep:
                yield from files(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


class Edit:
    """An edit of stored data. The base class keeps everything. Methods must be idempotent."""

    #: Whether removed facts must not come back by extraction, import or a dream.
    rejects = False

    def begin(self, services: Services) -> None:
        """Collect information before anything is changed."""

    def session(self, session_id: str, last: datetime | None) -> bool:
        """Whether to remove the whole session. ``last`` is its last record's time."""
        return False

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """The new record, in a kept journal."""
        return record

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        """The document's new text, or None to remove it."""
        return text

    def fact(self, fact: Fact) -> Fact | None:
        """The fact, possibly with new content or source, or None to remove it."""
        return fact

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """One row of a private list (a trail, a queue), or None to remove it."""
        return row

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        """A private JSON file that holds one object (an UNSAFE marker, a status), or None to remove it."""
        return table

    def other(self, path: str, data: bytes) -> bytes | None:
        """Any other or damaged file, or None to remove it."""
        return data

    def traces(self) -> tuple[Needle, ...]:
        """The needles that must not be found anywhere afterwards."""
        return ()


@frozen(kw_only=True)
class Changed:
    """``count`` items changed or removed in one place. ``kind`` is journals, archived journals, markers,
    documents, facts, private files or log lines. ``name`` is only shown, not stored, as it may hold purged text."""

    kind: str
    name: str
    count: int = 1
    removed: bool = False


@frozen(kw_only=True)
class Left:
    """A place that still holds data, and why."""

    name: str
    why: str
    next_step: str = ""


@frozen(kw_only=True)
class Report:
    """An edit's removals and changes or, with ``dry_run``, its planned ones.

    ``left`` lists holdfast's own places that still hold the data, and why. ``elsewhere`` lists places that holdfast
    cannot change and a user must clear: comments on a forge, third-party files. ``files`` and ``size`` (in bytes)
    measure the last search.
    """

    dry_run: bool
    changed: tuple[Changed, ...]
    left: tuple[Left, ...] = ()
    elsewhere: tuple[str, ...] = ()
    files: int = 0
    size: int = 0

    @property
    def clean(self) -> bool:
        """Whether no place that holdfast owns still holds the data."""
        return not self.left

    @property
    def counts(self) -> dict[str, int]:
        """Kind of place -> number of items removed or changed there."""
        counts: Counter[str] = Counter()
        for change in self.changed:
            counts[change.kind] += change.count
        return dict(sorted(counts.items()))


def is_temporary(path: str) -> bool:
    """Whether the file is left over from a crashed write."""
    name = os.path.basename(path)
    return name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX)


def is_database(path: str) -> bool:
    """Whether the file begins like a SQLite database."""
    with suppress(OSError), safeopen.reader(os.path.realpath(path), private=False) as file:
        return file.read(len(_SQLITE)) == _SQLITE
    return False


def edit_bytes(data: bytes, change: Callable[[str], str]) -> bytes:
    """``data`` with ``change`` applied to its text; bytes that are not UTF-8 are kept."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
        text = data[2:].decode(codec, "surrogatepass" if len(data) % 2 == 0 else "replace")
        return data[:2] + change(text).encode(codec, "surrogatepass")
    return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def map_texts(
    value: T, change: Callable[[str], str], *, keep: Collection[str] = (), drop: Callable[[str], bool] = lambda _: False
) -> T:
    """``value``, plain JSON, with ``change`` applied to every string except under the keys ``keep``.
    Entries whose key ``drop`` selects are left out."""
    new: Any = value
    if isinstance(value, str):
        new = change(value)
    elif isinstance(value, list):
        new = [map_texts(item, change, keep=keep, drop=drop) for item in value]
    elif isinstance(value, dict):
        items = ((k, v) for k, v in value.items() if not drop(k))
        new = {k: v if k in keep else map_texts(v, change, keep=keep, drop=drop) for k, v in items}
    return cast("T", new)


def edited(edit: Edit, path: str, data: bytes) -> tuple[bytes | None, int]:
    """The new content, None to remove the file, and the number of changes."""
    if path.endswith(".jsonl"):
        lines = data.splitlines(keepends=True)
        edited_lines = [_line(edit, line) for line in lines]
        return b"".join(edited_lines) or None, sum(map(operator.ne, lines, edited_lines))
    table = untrusted.table(data) if path.endswith(".json") else None
    if table is None:
        new = edit.other(path, data)
        return new, int(new != data)
    changed = edit.table(table)
    if changed == table:
        return data, 0
    return None if changed is None else json.dumps(changed, ensure_ascii=False).encode("utf-8"), 1


def _line(edit: Edit, line: bytes) -> bytes:
    """A JSON line keeps its format, including any checksum. Empty for a line to remove."""
    record = records.decode(line.rstrip(b"\n"))
    row = untrusted.table(line) if record is None else record
    if row is None:
        return edit.other("", line) or b""
    new = edit.row(row)
    if new is None or new == row:
        return b"" if new is None else line
    return json.dumps(new, ensure_ascii=False).encode() + b"\n" if record is None else records.encode(new)
