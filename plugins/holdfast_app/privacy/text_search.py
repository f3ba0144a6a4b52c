"""Finding a string in any form: another case or Unicode form, other spacing, escaped, in UTF-16, cut short.

Used to select data for a purge and, on the raw bytes of every file, to prove that nothing is left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, Final

from holdfast.errors import Corrupt
from holdfast.fs import durable, safeopen
from holdfast.text.plain import normalized
from holdfast_app.sessions import archive

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

    def in_bytes(self, data: bytes) -> bool:
        """Whether ``data`` holds the string as UTF-8, as UTF-16 or escaped as in JSON and TOML."""
        return any_in_bytes((self,), data)

    def _is_cut_in(self, folded: str) -> bool:
        parts = folded.split(_CUT)
        sizes = range(self._least, len(self._text))
        before = (part.rstrip(" [") for part in parts[:-1])
        after = (part.lstrip(" ]") for part in parts[1:])
        return any(part.endswith(self._text[:n]) for part in before for n in sizes) or any(
            part.startswith(self._text[-n:]) for part in after for n in sizes
        )


def any_in_bytes(needles: Iterable[Needle], data: bytes) -> bool:
    """Whether ``data`` holds any of the needles, see :meth:`Needle.in_bytes`."""
    needles = tuple(needles)
    return any(needle.in_folded(folded) for folded in map(fold, _readings(data)) for needle in needles)


def _letters(folded: str) -> str:
    return "".join(filter(str.isalnum, folded))


def _readings(data: bytes) -> Iterator[str]:
    text = data.decode("utf-8", "replace")
    yield text
    for _ in range(_NESTED):
        if "\\" not in text:
            break
        plain = unescape(text)
        if plain == text:
            break
        text = plain
        yield text
    if b"\0" in data:
        for codec in ("utf-16-le", "utf-16-be"):
            for start in (0, 1):
                yield data[start:].decode(codec, "replace")


def unescape(text: str) -> str:
    """``text`` with all JSON and TOML escapes decoded."""

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


def in_file(path: str, needles: Iterable[Needle]) -> bool:
    """Whether the file, or the decompressed archive of turns, holds any of ``needles``; false for a missing file.
    Raises: Unavailable."""
    needles = tuple(needles)
    if not needles:
        return False
    overlap = max(_OVERLAP, 16 * max(map(len, needles)))
    missing = suppress(FileNotFoundError)
    with durable.reporting(path, "read"), missing, safeopen.reader(path, private=False) as file:
        if _in_stream(file, needles, overlap):
            return True
        if path.endswith(archive.SUFFIX):
            file.seek(0)
            with suppress(Corrupt):  # the walk reports it, and its bytes were searched
                return any_in_bytes(needles, archive.unpacked(path, file.read()))
    return False


def _in_stream(file: IO[bytes], needles: tuple[Needle, ...], overlap: int) -> bool:
    tail = b""
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
    with durable.reporting(folder, "list"), missing, os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if deep:
                yield from files(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path
