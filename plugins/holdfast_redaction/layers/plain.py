"""Undoes disguises of a secret before the search: escapes, colours, invisible characters, folded YAML, wraps.

``\\u005f``, ``\\_``, ``&#95;``, ``%3D`` and full-width signs become the sign itself, ``\\n`` a line end, and a letter
with its accent one character. The block after ``password: >-`` or ``DB_PASSWORD <<EOF`` moves up to its name. Hits
are mapped back to the original.
"""

import re
from bisect import bisect_right

from holdfast.text.lazy import Lazy
from holdfast.text.plain import normalized
from holdfast_redaction.layers import values
from holdfast_redaction.patterns import Hit

#: The first character is consumed alone, so that `re` skips to the next of its class.
_DISGUISE = Lazy(
    r"""[\\%&:<\n\x1b\ufffd\u00ad\u0130\u0300-\u036f\u200b-\u200d\u2060\ufeff\uff01-\uff5e](?:
      (?<=\\)(?:u00|x)(?P<hex>[2-7][0-9a-fA-F]) | (?<=\\)(?P<sign>[_\-.*~\#+!=&:@]) | (?<=\\)\\{0,3}(?P<blank>[nrt])
    | (?<=%)(?P<url>3[\dADad]|2[267Dd]|5[\dFfAa]|7[\dAaBbDd]|[46][1-9A-Fa-f])               # none that an address needs
    | (?<=&)(?:\#x0{0,2}(?P<html>[2-7][0-9a-fA-F])|\#0{0,2}(?P<number>\d{2,3})|(?P<name>amp|quot));
    | (?<=:)(?P<block>[ \t]+[|>][+-]?\d?[ \t]*(?:\r?\n[ \t]*)+(?=[^\s|]))
    | (?<=<)<[-~]?[ \t]?["']?\w{1,20}["']?(?P<here>[^\n<;]{0,60})\n[ \t]*(?=\S)
    | (?<=\\)\r?\n[ \t>\#]*(?P<goes_on>)
    | (?<=\n)[ \t>|\#*+"'`]*(?P<wrap>(?=[A-Za-z0-9_+/.-]{3,400}={0,2}(?:["'`]|[\\;,.)]*(?:\s|$))))
    | (?<=[\x1b\ufffd])\[[0-9;?]{0,20}[A-Za-z](?P<colour>)                                 # the gate masks ESC
    | (?<=[\u0300-\u036f])(?P<accent>)
    | (?<=[^\\%&:<\n\x1b\ufffd]))""",
    re.VERBOSE,
)
_NAMED = {"amp": "&", "quot": '"'}
_OPENING = Lazy(r"[:=][ \t]*\"?(?:\$\([ \t]*cat[ \t]*)?$")
_LAST_WORD = Lazy(r"[A-Za-z0-9_+/.-]{6,400}$", re.ASCII)
_FIRST_WORD = Lazy(r"[A-Za-z0-9_+/.-]+", re.ASCII)
_LINE_END = Lazy(r"={0,2}(?:[\"'`]|[\\;,)]*[ \t\r]*(?:\n|\Z))")
_LONGEST = 420


class Plain:
    """A string without disguises. ``pieces`` are the replaced spans: begin and end in it, begin and end in the
    original, of which it is the part at ``offset``."""

    __slots__ = ("offset", "pieces", "starts", "text")

    def __init__(self, text: str, pieces: list[tuple[int, int, int, int]], offset: int) -> None:
        self.text = text
        self.pieces = pieces
        self.starts = [piece[0] for piece in pieces]
        self.offset = offset

    def back(self, hit: Hit) -> Hit:
        """``hit`` with its offsets in the original."""
        hit.start, hit.end = self._original(hit.start, 2), self._original(hit.end - 1, 3)
        return hit

    def _original(self, at: int, side: int) -> int:
        index = bisect_right(self.starts, at) - 1
        piece = self.pieces[index] if index >= 0 else (0, 0, 0, 0)
        return self.offset + (piece[side] if at < piece[1] else piece[3] + at - piece[1] + (side == 3))


def plain_forms(text: str) -> list[Plain]:
    """``text`` without disguises, and the lines that a word may join, joined."""
    wraps: list[int] = []
    forms = [_undone(text, wraps, join=False)]
    areas: list[tuple[int, int]] = []
    for at in wraps:
        line = text.rfind("\n", max(0, at - _LONGEST), at)  # and the line before, which may name it
        first = text.rfind("\n", max(0, at - _LONGEST), max(0, line)) + 1 or max(0, at - _LONGEST)
        last = text.find("\n", at + 1, at + _LONGEST)
        last = last if last >= 0 else at + _LONGEST
        if areas and first <= areas[-1][1]:
            first = areas.pop()[0]
        areas.append((first, last))
    return forms + [_undone(text[first:last], [], join=True, offset=first) for first, last in areas]


def _undone(text: str, wraps: list[int], *, join: bool, offset: int = 0) -> Plain:
    out: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    at = size = 0
    for match in _DISGUISE.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        if kind == "wrap":
            word = _halved(text, at, start, end)
            if not word:
                continue
            wraps.append(start)
            if not join:
                continue
            start, new = text.rfind(word, at, start) + len(word), ""
        elif kind == "accent":
            start = max(at, start - 1)
            new = normalized("NFC", text[start:end])
        elif kind == "here":
            opening = _OPENING.search(text, max(at, start - 30), start)
            start, new = opening.start() if opening else start, f"{match['here']}= "
        else:
            new = _sign(match, kind)
        out += (text[at:start], new)
        begin = size + start - at
        size, at = begin + len(new), end
        pieces.append((begin, size, start, end))
    return Plain("".join([*out, text[at:]]) if pieces else text, pieces, offset)


def _sign(match: re.Match[str], kind: str | None) -> str:
    """The character in a disguise; empty for an invisible character and a continued line."""
    value = match[kind] if kind else ""
    if kind in ("hex", "url", "html", "number"):
        return chr(int(value, 10 if kind == "number" else 16))
    if not kind:
        if match[0] == "\u0130":  # the Turkish I, whose lower case is two characters
            return "I"
        return chr(ord(match[0]) - 0xFEE0) if match[0] >= "\uff01" else ""
    signs = {"sign": value, "blank": "\t" if value == "t" else "\n", "block": ": ", "name": _NAMED.get(value, "")}
    return signs.get(kind, "")


def _halved(text: str, at: int, start: int, end: int) -> str:
    """The last word of the line that ends at ``start``, after ``at`` and without quotes, if it and the word at ``end``
    may be halves of a token: both are mixed, and one is random; the second where the sentence goes on."""
    match = _FIRST_WORD.match(text, end)
    rest = match[0].rstrip(".") if match else ""
    if not _is_mixed(rest):  # nearly always
        return ""
    tail = text[max(at, start - _LONGEST) : start].rstrip(" \t\r\"'`+\\")
    match = _LAST_WORD.search(tail, max(0, len(tail) - 400))
    word = match[0] if match else ""
    if word.endswith(("-", ".", "/")) or values.is_protected(word) or not _is_mixed(word):
        return ""
    ends_here = len(word) > 9 and values.is_random(word) and _LINE_END.match(text, end + len(rest))
    return word if ends_here or (values.is_random(rest) and not values.is_protected(rest)) else ""


def _is_mixed(word: str) -> bool:
    return any(map(str.isdigit, word)) or (word.lower() != word != word.upper() and not word.istitle())
