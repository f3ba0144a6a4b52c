"""Finding a text again in whatever form it lies: another case or Unicode form, other spacing, escaped, in UTF-16, cut.

Used to decide what a purge removes and, on the raw bytes of every file, to prove that nothing of it is left.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.fs import durable, safeopen

_CHUNK: Final = 1 << 20  # bytes looked at in one piece
_OVERLAP: Final = 1 << 16
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([\"\\/bfnrt']))")
_SIGNS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NESTED: Final = 3  # JSON in a JSON text in a JSON text
_CUT: Final = "…"  # what our own shortened texts end with
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NOT_ASCII: Final = re.compile("[\x00-\x7f]?[^\x00-\x7f]+")
#: Characters that only they themselves, in either case, become by :func:`fold`. Others do not: "ﬁ" becomes "fi", and
#: the Kelvin sign "k". Source: all code points of Unicode 15, tried by a test.
_SURE: Final = re.compile("[bcdeghjmopqruvwxyz0-9_]+")
_ESCAPED_ASCII: Final = re.compile(rb"\\(?:u00|U000000|x)[2-7][0-9a-fA-F]")


def fold(text: str) -> str:
    """``text`` for comparing: composed, without case, every run of white space one space.

    White space counts for nothing because notes put a text on one line, and ``<!--`` is written ``&lt;!--`` there.
    """
    text = text.lower() if text.isascii() else _composed(_composed(text).casefold())
    return " ".join(text.replace("&lt;!--", "<!--").split())


def _composed(text: str) -> str:
    """``text`` in the form NFC. Nothing in ASCII composes with what comes before it, so the rest is done by itself."""
    return _NOT_ASCII.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


class Needle:
    """A text that is looked for. Its repr does not show it."""

    def __init__(self, text: str) -> None:
        self._text = fold(text)
        self.words = self._text.count(" ") + 1
        # So much of it must stand before a cut to count: less would be anybody's word.
        self._least = max(5, len(self._text) * 2 // 3)
        runs = _SURE.findall(self._text[: self._least])
        self._sure = max(runs, key=len, default="").encode()

    def __len__(self) -> int:
        return len(self._text)

    def in_text(self, text: str) -> bool:
        """Whether ``text`` holds it, or the beginning of it at a place where a text of ours was cut short."""
        folded = fold(text)
        return self._text in folded or (_CUT in folded and self._is_cut_in(folded))

    def in_key(self, key: str) -> bool:
        """Whether ``key`` was made of a text that holds it: such keys have no case, signs or spaces."""
        letters = _letters(self._text)
        return bool(letters) and letters in _letters(fold(key))

    def in_bytes(self, data: bytes) -> bool:
        """Whether ``data`` holds it as UTF-8, as UTF-16 or escaped as in JSON and TOML."""
        return any_in_bytes((self,), data)

    def may_be_in(self, plain: bytes) -> bool:
        """A quick look, which says no only where :meth:`in_bytes` does. ``plain`` is in lower case, without NUL bytes,
        and no ASCII letter in it is escaped."""
        return self._sure in plain

    def _is_cut_in(self, folded: str) -> bool:
        before = (part.rstrip() for part in folded.split(_CUT)[:-1])
        return any(part.endswith(self._text[:n]) for part in before for n in range(self._least, len(self._text)))


def any_in_bytes(needles: Iterable[Needle], data: bytes) -> bool:
    """Whether ``data`` holds one of them, see :meth:`Needle.in_bytes`."""
    if not _ESCAPED_ASCII.search(data):
        plain = data.replace(b"\0", b"").lower()  # so UTF-16 is one byte a letter, too
        needles = [needle for needle in needles if needle.may_be_in(plain)]
        del plain
    else:
        needles = list(needles)
    return bool(needles) and any(needle.in_text(text) for text in _readings(data) for needle in needles)


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
    """``text`` with the escapes of JSON and TOML read, wherever they stand."""

    def read(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if not digits:
            return _SIGNS.get(match[4], match[4])
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else match[0]

    text = _ESCAPE.sub(read, text)
    if _SURROGATE.search(text):  # JSON writes what lies beyond U+FFFF as two of these
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def in_file(path: str, needles: Iterable[Needle]) -> bool:
    """Whether the file holds one of ``needles``; a missing file holds none. Memory stays flat. Raises: Unavailable."""
    needles = tuple(needles)
    if not needles:
        return False
    overlap = max(_OVERLAP, 16 * max(map(len, needles)))
    try:
        with safeopen.reader(path, private=False) as file:
            tail = b""
            while chunk := file.read(_CHUNK):
                data = tail + chunk
                if any_in_bytes(needles, data):
                    return True
                tail = data[-overlap:]
    except FileNotFoundError:
        return False
    except OSError as error:
        raise durable.unavailable(error, path, "read") from error
    return False


def files(folder: str, *, deep: bool = True) -> Iterator[str]:
    """Paths of the regular files in ``folder``, in order; symbolic links are not followed. Raises: Unavailable."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise durable.unavailable(error, folder, "list") from error
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if deep:
                yield from files(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path
