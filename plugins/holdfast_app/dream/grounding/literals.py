"""A line's parts that must be in a source exactly: numbers, dates, addresses, names, quotations and a "not"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from holdfast.text.plain import normalized

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
    """The literals of ``text``, in the form of :func:`plain`, each once. A capital that opens a sentence makes no
    name."""
    found = [one for one in _marked(text) if any(map(str.isalnum, one.text))]
    end, opens = 0, True
    for part in _CHUNK.finditer(text):
        opens = opens or any(sign in '("!?' for sign in text[end : part.start()])
        word = part[0].strip("'.:+\\").removesuffix("'s").strip("_")
        if kind := _kind(word, opens=opens):
            number = _NUMBER.fullmatch(word) if kind == "number" else None
            found.append(Literal(kind, number[1] if number else word))
        opens, end = part[0][-1] in ".!?", part.end()
    return list(dict.fromkeys(found))


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
    for found in _QUOTED.finditer(text):
        yield Literal("quote", " ".join((found[1] or found[2]).rstrip(".,;:!?").split()))
    for found in _CODE.finditer(text):
        yield Literal("identifier", found[1].strip())


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
