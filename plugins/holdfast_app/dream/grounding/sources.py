"""A dream's sources, read once: their sentences, to find quotations, and their words, to find the nearest lines; the
splitting into blocks (headings, items, rows, paragraphs); and a line's literals, which a source must have
exactly: numbers, dates, addresses, names, quotations and a "not".
"""

import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from holdfast.text.plain import lines, normalized, same_key
from holdfast_app.dream.memorytext import LASTING
from holdfast_app.markdown.lines import CODE, HEADING, ITEM, TEXT, Lines, read_line
from holdfast_app.markdown.marks import without_boxes
from holdfast_app.sentences.splitting import split

_CHUNK: Final = re.compile(r"[^\s,;()\[\]{}<>\"`|=→—*!?&]+")
_QUOTED: Final = re.compile(r"(?<!\w)\"([^\"]{2,300})\"(?!\w)|(?<![\w'])'([^'\n]{3,200})'(?!\w)")
_CODE: Final = re.compile(r"(?<!`)`+([^`\n]{1,300})`+")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|\\*\\*|~~")
_SAME: Final = str.maketrans("–−‑’‘“”„«»", "---''" + 5 * '"')
#: Between groups of three digits, and before a version.
_SURPLUS: Final = re.compile(r"(?<=[0-9])[,'_ \u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))|(?<![^\W_])v(?=[0-9])")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
#: A value and its unit, or several values.
_NUMBER: Final = re.compile(r"[-~#$€£¥+±<>≤≥]*([0-9]+(?:[.,:/-][0-9]+)*)(?:[^\W\d]{0,4}|[%°][CF]?)(?:/[a-z]{1,6})?")
_DOTTED: Final = re.compile(r"\w{2,}(?:\.\w{2,})+(?:\(\))?")
_CAMEL: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}")
_NEGATIONS: Final = frozenset({
    "not", "no", "never", "none", "neither", "nor", "cannot", "without", "nicht", "kein", "keine",
    "keinen", "nie", "niemals", "ohne", "pas", "jamais", "sans", "não", "nunca", "jamás", "sin",
    "non", "senza", "niet", "geen", "nooit", "не", "нет", "никогда",
})  # fmt: skip


class Literal(NamedTuple):
    """``kind``: number, date, time, url, email, path, identifier, name, quote or negation."""

    kind: str
    text: str


def plain(text: str) -> str:
    """``text`` in one form of its characters: without emphasis, invisible characters and separators of thousands."""
    if not text.isascii():
        text = "".join(str(int(c)) if c.isdecimal() else c for c in normalized("NFKC", text)).translate(_SAME)
    return _SURPLUS.sub("", _INVISIBLE.sub("", text))


def literals(text: str) -> list[Literal]:
    """The literals of ``text``, as :func:`plain`, once each. A sentence's first capital makes no name."""
    collected = [literal for literal in _marked(text) if any(map(str.isalnum, literal.text))]
    end, opens = 0, True
    for part in _CHUNK.finditer(text):
        opens = opens or any(sign in '("!?' for sign in text[end : part.start()])
        word = part[0].strip("'.:+\\").removesuffix("'s").strip("_")
        if kind := _kind(word, opens=opens):
            number = _NUMBER.fullmatch(word) if kind == "number" else None
            collected.append(Literal(kind, number[1] if number else word))
        opens, end = part[0][-1] in ".!?", part.end()
    return list(dict.fromkeys(collected))


def has_negation(text: str) -> bool:
    """Whether ``text``, in the form of :func:`plain`, has a "not"."""
    return any(literal.kind == "negation" for literal in literals(text))


def is_in(literal: Literal, text: str) -> bool:
    """Whether ``text``, in the form of :func:`plain` and in lower case, has the literal as a whole word."""
    wanted = literal.text.casefold()
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if _is_apart(wanted, text[max(0, at - 2) : at][::-1], text[end : end + 2]):
            return True
        at = text.find(wanted, end)
    return False


def _is_apart(wanted: str, before: str, after: str) -> bool:
    """Whether the next two characters on both sides, from the word outwards, belong to other words."""
    if wanted[0].isdigit() and (before[:1].isalnum() or _continues(before)):
        return False
    if wanted[-1].isdigit() and (after[:1].isdigit() or _continues(after)):
        return False
    if wanted.isdigit():
        return True
    return not (wanted[0].isalpha() and before[:1].isalpha()) and not (wanted[-1].isalnum() and after[:1].isalnum())


def _continues(near: str) -> bool:
    return near[:1] in {".", ",", ":", "/", "-"} and near[1:].isdigit()


def _marked(text: str) -> Iterator[Literal]:
    for match in _QUOTED.finditer(text):
        yield Literal("quote", " ".join((match[1] or match[2]).rstrip(".,;:!?").split()))
    for match in _CODE.finditer(text):
        yield Literal("identifier", match[1].strip())


def _kind(word: str, *, opens: bool) -> str:
    """A word's kind, between blanks. Empty for a word that any line may have."""
    low = word.casefold()
    if not any(map(str.isalnum, word)):
        return ""
    if low in _NEGATIONS or low.endswith("n't"):
        return "negation"
    if "://" in word:
        return "url"
    if "@" in word[1:]:
        return "email"
    for kind, pattern in (("date", _DATE), ("time", _TIME), ("number", _NUMBER)):
        if pattern.fullmatch(word):
            return kind
    if "/" in word or "\\" in word:
        return "path"
    is_code = "_" in word or word.startswith("--") or _CAMEL.search(word) or _DOTTED.fullmatch(word)
    if is_code or any(map(str.isdigit, word)):
        return "identifier"
    return "name" if word[0].isupper() and not opens and len(word) > 1 else ""


_WIDE: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
#: A word's beginning, which most of its forms share, or a pair of characters in a script without blanks.
_WORD: Final = re.compile(rf"(?=([{_WIDE}]{{1,2}}))[{_WIDE}]|(?:(?![{_WIDE}_])\w)+")
_STEM: Final = 5
#: A word in more blocks says nothing about which of them is meant.
_FREQUENT: Final = 2_000
#: Around each sentence of :attr:`Sources.flow`; between blocks.
_BORDER: Final = "\0"
_BREAK: Final = "\1"


class Near(NamedTuple):
    """A source line like another: ``line`` is 1-based, ``score`` the other line's share of words in its block ``text``,
    1 for word for word, 0 for a block that was not compared."""

    document: str
    line: int
    score: float
    text: str = ""


class Sources:
    """The sources, sorted by name."""

    def __init__(self, documents: tuple[tuple[str, str], ...]) -> None:
        self.names = [name for name, _ in documents]
        self.bodies = [" ".join(plain(f"{name}\n{text}").casefold().split()) for name, text in documents]
        self._blocks: list[Near] = []
        self._with: dict[str, array[int]] = {}
        rows = list(self._sentences(documents))
        self._flow = "".join(row for _, _, row in rows)
        self._places = [(document, line) for document, line, _ in rows]
        self._ends = list(accumulate(len(row) for _, _, row in rows))

    def quoted(self, text: str, most: int) -> list[tuple[str, int]]:
        """The first places, as (document, line), with a row of whole sentences, or a line, that is ``text``."""
        body = statement(text)
        rows = ([sentence for _, sentence in split(body)], [body])
        places: dict[tuple[str, int], None] = {}
        for row in rows:
            wanted = "".join(f"{_BORDER}{key}{_BORDER}" for key in map(_key, row) if key)
            at = self._flow.find(wanted)
            while wanted and at >= 0 and len(places) < most:
                places[self._places[bisect_right(self._ends, at)]] = None
                at = self._flow.find(wanted, at + len(wanted))
        return sorted(places)

    def nearest(self, text: str, most: int) -> list[Near]:
        """The source lines that share most words with ``text``, best first. Rare words count more."""
        shared: dict[int, float] = {}
        total, wanted = 0.0, words(text)
        for word in wanted:
            places = self._with.get(word, ())
            weight = math.log(1 + (len(self._blocks) + 1) / (len(places) + 0.5)) if places else 1.0
            total += weight
            for at in places if len(places) <= _FREQUENT else ():
                shared[at] = shared.get(at, 0.0) + weight
        near = []
        for at in sorted(shared, key=lambda at: (-round(shared[at], 6), at))[:most]:
            block = self._blocks[at]
            shares = [len(words(line) & wanted) for line in block.text.split("\n")]
            line = block.line + shares.index(max(shares))  # the block's line with most of the words
            near.append(block._replace(line=line, score=round(shared[at] / total, 3)))
        return near

    def _sentences(self, documents: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, int, str]]:
        """Document, line and key of each sentence, and of each whole line."""
        for document, text in documents:
            for number, (_, line) in enumerate(lines(text), 1):
                if key := _key(statement(line)):
                    yield document, number, f"{_BREAK}{_BORDER}{key}{_BORDER}"
            for number, _, block in blocks(text):
                body = statement(block)
                for word in words(body):
                    self._with.setdefault(word, array("I")).append(len(self._blocks))
                self._blocks.append(Near(document, number, 0.0, body))
                yield document, number, _BREAK
                counted = 0
                for offset, sentence in split(body):
                    number, counted = number + body.count("\n", counted, offset), offset
                    if key := _key(sentence):
                        yield document, number, f"{_BORDER}{key}{_BORDER}"


@lru_cache(maxsize=1)  # a dream's steps ask about the same sources
def read(documents: tuple[tuple[str, str], ...]) -> Sources:
    """The sources ``documents``, as sorted (name, text) pairs."""
    return Sources(documents)


def statement(text: str) -> str:
    """A line or block without its mark and a daily note's label."""
    body = strip_marks(text)
    label, _, rest = body.partition(": ")
    return rest if label in LASTING else body


def words(text: str) -> set[str]:
    """Beginnings of words in ``text``."""
    return {(match[1] or match[0])[:_STEM] for match in _WORD.finditer(plain(text).casefold())}


def _key(text: str) -> str:
    """The key that sentences with the same words share; empty without a letter or digit."""
    key = same_key(plain(text).replace("`", "").replace(_BORDER, "").replace(_BREAK, ""))
    return key if any(map(str.isalnum, key)) else ""


def strip_marks(line: str) -> str:
    """A line without its item, heading or quotation marks."""
    text = read_line(line).text
    if text.startswith(">"):
        text = read_line(text.lstrip("> ")).text
    return without_boxes(text)


def blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, kind, text) of headings, items with what continues them, rows and paragraphs."""
    held: list[str] = []
    start, kind = 0, ""
    for line in Lines(text):
        said = line.text.lstrip("> ")
        is_row = line.kind == CODE or (line.kind == TEXT and said.startswith("|"))
        if held and (is_row or not said or line.kind != TEXT):
            yield start, kind, "\n".join(held)
            held = []
        if line.kind == HEADING:
            yield line.number, "heading", line.text
        elif line.kind == ITEM:
            start, kind, held = line.number, "item", [without_boxes(line.text)]
        elif is_row and said:
            yield line.number, "row", said
        elif line.kind == TEXT and said:
            if not held:
                start, kind = line.number, "paragraph"
            held.append(said)
    if held:
        yield start, kind, "\n".join(held)
