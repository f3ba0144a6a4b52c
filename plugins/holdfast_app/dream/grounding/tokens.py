"""A text's claims in comparable form. These are words, and the hard values that a fabrication would get wrong.

A token *offers* keys and *wants* keys. A claim is known when a source offers one of its wanted keys: ``2026-11-21``
offers ``21 November``, ``1.5 s`` offers ``1500 ms``, ``src/config.py`` offers ``config.py``, but not the reverse.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from holdfast.text.plain import normalized
from holdfast_app.dream.grounding import quantities
from holdfast_app.dream.grounding.compact import Kept
from holdfast_app.dream.grounding.lexicon import STOP, USUAL_ACRONYMS, canonical, words
from holdfast_app.dream.grounding.quantities import Moment

#: Bytes of tokens that a reader remembers, unless another limit is given.
_SEEN: Final = 1 << 20
#: Characters of a line or sentence that are read.
MAX_CHARS: Final = 20_000

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_THOUSANDS: Final = re.compile("(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3})")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々ー]")
_CJK_RUN: Final = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々ー]+|[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々ー]+"
)
_CJK_MARKS: Final = re.compile("[\u3001-\u3003\u3008-\u3011\u30fb]")
_CJK_UNIT: Final = re.compile("時間|日間|秒|分|円|万")
_CJK_NAME: Final = re.compile("([\u4e00-\u9fff]{1,3}|[\u30a1-\u30fa\u30fc]{2,12})(?=(?:さん|氏|様|くん|ちゃん))")
_CJK_DATE: Final = re.compile(r"(?:([0-9]{4})年)?([0-9]{1,2})月([0-9]{1,2})日")
_CJK_TIME: Final = re.compile(r"([0-9]{1,2})時(?:([0-9]{1,2})分)?(?!間)")
_CHUNK: Final = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>"'`|\\)\]}*]+"""
    r"|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+"
    r"|[$€£¥]?[0-9]+(?:[,'_][0-9]+)+(?:\.[0-9]+)?[^\s,;()\[\]{}<>\"“”„«»`|=→—*!?&]*"
    r"|[^\s,;()\[\]{}<>\"“”„«»`|=→—*?&!]+(?:,[0-9]{3}(?![0-9]))*|![0-9]+"
)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+\Z")
_SHA: Final = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{7,64}\Z")
_CAMEL: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zäöüß]+|[0-9]+|[^\W\d_]+")
_COUNTED: Final = re.compile(r"[0-9]{1,6}-[a-z]{3,}\Z")
_ENDS: Final = frozenset(".:!?")
#: Maximum length of a chunk to take apart at its colons and the like, which is recursive.
_MAX_MIXED: Final = 300
_NO_IDENTIFIER: Final = frozenset(["e.g", "i.e", "a.m", "p.m", "u.s", "z.b", "d.h"])
#: Pairs that are not paths.
_PAIRS: Final = words(
    "and/or read/write he/she his/her client/server input/output on/off yes/no true/false i/o n/a w/o ci/cd ui/ux"
    " tcp/ip"
)


class Token(NamedTuple):
    """``kind``: word, number, version, date, time, url, email, path, identifier, name. ``root`` is a word's canonical
    stem, or the first key. ``opens``: it opens a sentence. ``group`` is the class of tokens that could replace it.
    """

    kind: str
    text: str
    root: str
    wants: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    opens: bool = False
    group: str = ""
    at: int = 0

    @property
    def is_claim(self) -> bool:
        return self.kind != "word"


def _weight(token: Token) -> int:
    """About how many bytes a token takes."""
    return 450 + sum(60 + len(key) for key in token.offers)


def plain(text: str) -> str:
    """``text`` in a normal form: without invisible characters and emphasis, full-width characters made narrow, digits
    of all scripts as 0-9, dashes and apostrophes in ASCII, weekdays in full, m/s as km/h."""
    text = _THOUSANDS.sub(",", _INVISIBLE.sub("", text))
    if not text.isascii():
        text = normalized("NFKC", text)
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
        for old, new in (
            ("–", "-"),
            ("−", "-"),
            ("‑", "-"),
            ("’", "'"),
            ("‘", "'"),
            ("×", "x"),
            ("≥", " "),
            ("≤", " "),
            ("≈", " "),
        ):
            text = text.replace(old, new)
        text = _CJK_MARKS.sub(" ", text)
        text = _CJK_DATE.sub(_cjk_date, text)
        text = _CJK_TIME.sub(lambda m: f" {m[1]}:{int(m[2] or 0):02} ", text)
    text = _SPACED.sub(lambda m: m[0].replace(" ", ","), text)
    text = _ROLLED_BACK.sub("reverted", text)
    text = _END_OF.sub(lambda m: f"{_LAST[m[1][:3].lower()]} {m[1]}", text)
    text = _WEEKDAYS_TO.sub(r"\1 to ", text)
    text = _WEEKDAY.sub(lambda m: _WEEKDAYS[m[1][:3]], text)
    text = _SPEED.sub(lambda m: f"{float(m[1]) * 3.6:g} km/h", text)
    return text.replace("**", "").replace("~~", "")


#: Thousands with spaces: 120 000, 3 400 EUR; but not two numbers in a row.
_SPACED: Final = re.compile(
    # Not begun again inside of a row of groups, which would be searched from each of them.
    r"(?<![\w.,:/-])(?:(?<!(?<![\w.,:/-])[0-9]{3} )|(?![0-9]{3}))"
    r"[0-9]{1,3}(?: [0-9]{3})*(?: 000(?![\w.,:/-]*[0-9])| [0-9]{3}(?= ?(?:[A-Z]{3}\b|[€$£])))"
)
_ROLLED_BACK: Final = re.compile(r"\broll(?:s|ed|ing)? back\b", re.IGNORECASE)
_LAST: Final = dict.fromkeys(("jan", "mar", "may", "jul", "aug", "oct", "dec"), 31) | dict.fromkeys(
    ("apr", "jun", "sep", "nov"), 30
)
_END_OF: Final = re.compile(
    r"\b(?:the )?end of (January|March|April|May|June|July|August|September|October|November|December)\b"
)
_WEEKDAYS_TO: Final = re.compile(
    r"\b((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*)-(?=(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b)"
)
_WEEKDAY: Final = re.compile(r"(?<![\w.-])(Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b(?![\w'-])")
_WEEKDAYS: Final = {
    day[:3]: day for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
}
_SPEED: Final = re.compile(r"(?<![\w.,])([0-9]{1,4}(?:\.[0-9]{1,2})?) ?m/s\b")


def _cjk_date(found: re.Match[str]) -> str:
    year, month, day = found.groups()
    return (
        f" {year}-{int(month):02}-{int(day):02} " if year else f" {int(day)} {quantities.MONTH_NAMES[int(month) % 13]} "
    )


def words_of(text: str) -> list[str]:
    """The words in lower case, identifiers and paths taken apart."""
    return list(each_word(text))


def each_word(text: str) -> Iterator[str]:
    """As :func:`words_of`, one at a time."""
    return (part[0].lower() for part in _PARTS.finditer(text))


class Reader:
    """Splits text into tokens. Caches the latest chunks, up to ``limit`` bytes."""

    def __init__(self, limit: int = _SEEN) -> None:
        self._seen: Kept[str, tuple[Token, ...]] = Kept(limit)

    def tokens(self, text: str) -> list[Token]:
        """The tokens in text normalised by :func:`plain`, in order. Linear in its length."""
        raw: list[Token] = []
        breaks: set[int] = set()  # tokens preceded by a comma or the like
        end, opens = 0, True
        for found in _CHUNK.finditer(text[:MAX_CHARS]):
            chunk = found[0]
            if raw and found.start() > end:
                gap = text[end : found.start()]
                opens = opens or any(c in '("“”„«»—|→?!' for c in gap)
                if not gap.isspace() or text[end - 1] == ":":
                    breaks.add(len(raw))
            known = self._seen.get(chunk)
            if known is None:
                known = tuple(_classify(chunk))
                self._seen.put(chunk, known, len(chunk) + sum(map(_weight, known)))
            for token in known:
                # Most tokens are words in the middle of a sentence, which stay as first read.
                if opens or token.is_claim:
                    token = token._replace(opens=opens, at=found.start())
                    opens = False
                raw.append(token)
            opens = opens or chunk[-1] in _ENDS
            end = found.end()
        return _joined(raw, breaks)


def _classify(chunk: str) -> Iterator[Token]:
    chunk = chunk.strip("'").rstrip(".:'+\\-").lstrip(":")
    if chunk.startswith("_") and chunk.endswith("_") and "__" not in chunk:
        chunk = chunk.strip("_")
    chunk = chunk.removeprefix("~") if chunk[1:2].isdigit() else chunk
    if any(c.isdigit() or c == "_" for c in chunk):
        chunk = chunk.removesuffix("'s")
    if chunk in quantities.SYMBOLS:
        yield Token("word", chunk, chunk)
    if not chunk or not any(c.isalnum() for c in chunk):
        return
    if _CJK.search(chunk):
        yield from _cjk(chunk)
    elif "://" in chunk:
        yield _address("url", chunk, chunk.partition("://")[2])
    elif "@" in chunk and _EMAIL.match(chunk):
        key = "i:" + chunk.lower()
        host = chunk.lower().partition("@")[2]
        yield Token("email", chunk, key, (key,), (key, "i:" + host), group="entity")
    else:
        yield from _mixed(chunk)


def _mixed(chunk: str) -> Iterator[Token]:
    if len(chunk) > _MAX_MIXED:
        yield _identifier(chunk)
        return
    first, dash, last = chunk.partition("-")
    if dash and ":" in first and quantities.moments(first) and quantities.moments(last):  # 08:00-18:00
        yield from _mixed(first)
        yield from _mixed(last)
        return
    moments = quantities.moments(chunk)
    if moments:
        yield from (_moment(m) for m in moments)
        return
    found = quantities.numbers(chunk)
    if found:
        yield from (_number(q) for q in found)
        return
    for mark in (":", "@", "#"):
        head, here, tail = chunk.partition(mark)
        if here and head and tail and not chunk.startswith(("--", "~", "/")):
            yield from _classify(head)
            yield from _classify(("#" + tail) if mark == "#" else tail)
            return
    yield from _symbol(chunk)


def _symbol(chunk: str) -> Iterator[Token]:
    low = chunk.lower()
    if chunk.startswith("-"):
        if len(chunk) > 1 and chunk.lstrip("-")[:1].isalpha() and chunk.startswith("--"):
            yield _identifier(chunk)
        else:
            yield from _classify(chunk.lstrip("-"))
    elif chunk[0] in "#!" and chunk[1:].isdigit():
        key, number = f"i:#{chunk[1:]}", chunk[1:].lstrip("0") or "0"
        yield Token("identifier", chunk, key, (key, "ref:" + number), (key, "ref:" + number, "#" + number), group="ref")
    elif "/" in chunk or "\\" in chunk:
        yield from _slashed(chunk)
    elif "_" in chunk.strip("_") or chunk.startswith("__") or (chunk[0] == "." and chunk[1:].isidentifier()):
        yield _identifier(chunk)
    elif "." in chunk and all(part for part in chunk.split(".")) and low not in _NO_IDENTIFIER:
        yield _address("identifier" if "(" in chunk or not _hostlike(low) else "url", chunk, chunk)
    elif _COUNTED.match(chunk):
        for part in chunk.split("-"):
            yield from _classify(part)
    elif any(c.isdigit() for c in chunk) and chunk[0] != "'":
        yield _identifier(chunk)
    elif "-" in chunk:
        yield from _compound(chunk)
    elif _CAMEL.search(chunk.removesuffix("s")) or (len(chunk) > 1 and chunk.isupper() and not _is_usual(low)):
        yield _identifier(chunk.removesuffix("'s"))
    else:
        yield _word(chunk)


_TOP_LEVEL: Final = words("com org net io dev app ai co de jp uk eu fr info internal local cloud test example invalid")


def _hostlike(low: str) -> bool:
    return low.count(".") >= 1 and low.rpartition(".")[2] in _TOP_LEVEL


def _slashed(chunk: str) -> Iterator[Token]:
    norm = chunk.replace("\\", "/")
    parts = [p for p in norm.split("/") if p]
    rooted = norm.startswith(("/", "~", "./", "../")) or norm.endswith("/")
    per_unit = len(parts) == 2 and not rooted and (_is_long_unit(parts[0]) or quantities.unit_of(parts[1]) is not None)
    if (
        norm.lower() in _PAIRS
        or per_unit
        or (not rooted and len(parts) == 2 and all(p.isalpha() and p[:1].isupper() for p in parts))
    ):
        for part in parts:
            yield from _classify(part)
    elif not rooted and all(p.replace(".", "").isdigit() for p in parts):
        yield _identifier(norm)
        for part in parts:
            yield from _classify(part)
    else:
        yield _address("path", chunk, norm)


def _is_long_unit(text: str) -> bool:
    return len(text) > 2 and quantities.unit_of(text) is not None


def _address(kind: str, text: str, path: str) -> Token:
    """A path, address or dotted name. It also offers the parts between its borders."""
    norm = path.lower().removeprefix("www.").removeprefix("./").rstrip("/.,")
    dotted = "/" not in norm
    parts = [p for p in (norm.split(".") if dotted else norm.split("/")) if p][:24]
    joint = "." if dotted else "/"
    offers = {norm, norm.lstrip("/~")}
    for count in range(1, len(parts)):
        offers.add(joint.join(parts[:count]))
        offers.add(joint.join(parts[-count:]))
        offers.add(("/" if norm.startswith("/") else "") + joint.join(parts[:count]))
    if len(parts) > 2:
        offers |= set(parts) | {joint.join(pair) for pair in pairwise(parts)}
    if not dotted and "." in parts[-1]:
        offers.add(parts[-1].rpartition(".")[0])
    if parts and parts[-1].isdigit() and kind == "url":
        offers.add("#" + parts[-1])
    keys = tuple(sorted("i:" + o for o in offers if o))
    extra = (f"ref:{parts[-1]}",) if parts and parts[-1].isdigit() else ()
    wanted = dict.fromkeys(("i:" + norm, "i:" + norm.lstrip("/~")))
    return Token(kind, text, "i:" + norm, tuple(wanted), keys + extra, group="entity")


def _is_usual(low: str) -> bool:
    return low in USUAL_ACRONYMS or quantities.is_currency(low)


def _identifier(chunk: str) -> Token:
    low = chunk.lower().removesuffix("()")
    key = "i:" + low
    offers = [key]
    if _SHA.match(low):
        offers += ["i:" + low[:size] for size in range(7, min(len(low), 41))]
    if low.startswith("--"):
        offers.append("i:" + low.partition("=")[0])
    singular = low[:-1] if low.endswith("s") and len(low) > 3 else low
    wants = (key,) if singular == low else (key, "i:" + singular)
    return Token("identifier", chunk, key, wants, tuple(offers), group="entity")


def _compound(chunk: str) -> Iterator[Token]:
    number = quantities.number_word(chunk.lower())
    if number is not None:
        yield _number(number)
        return
    key = "i:" + chunk.lower()
    parts = [p for p in chunk.split("-") if p]
    if _CAMEL.search(chunk) or (len(parts[-1]) < 3 and parts[-1].isupper()):
        yield _identifier(chunk)
        return
    for index, part in enumerate(parts):
        word = _word(part)
        # The whole is kept with its last part, to distinguish siblings (billing-api, payments-api).
        yield word if index < len(parts) - 1 else word._replace(offers=(*word.offers, key), wants=(key,))


def _word(text: str) -> Token:
    low = text.lower()
    bare = low.removesuffix("'s").strip("'")
    if low.endswith("n't") or low == "cannot":
        bare = "not"
    number = quantities.number_word(bare)
    if number is not None:
        return _number(number._replace(text=text))
    return Token("word", text, canonical(bare), (), ("w:" + bare,))


def _number(found: quantities.Quantity) -> Token:
    kind = "version" if found.version else "number"
    return Token(kind, found.text, found.wants[0], found.wants, found.offers, group=f"number:{found.dimension}")


def _moment(found: Moment) -> Token:
    return Token(found.kind, found.text, found.wants[0], found.wants, found.offers, group=found.kind)


def _cjk(chunk: str) -> Iterator[Token]:
    runs = _CJK_RUN.findall(chunk)
    for number, run in enumerate(runs):
        if not _CJK.search(run):
            unit = _CJK_UNIT.match(runs[number + 1]) if number + 1 < len(runs) else None
            amount = quantities.with_unit(run, unit[0]) if unit else None
            yield from (_number(amount),) if amount else _classify(run)
            continue
        names = {m[1] for m in _CJK_NAME.finditer(run)}
        for name in sorted(names):
            yield Token("name", name, "w:" + name, ("w:" + name,), ("w:" + name,), group="entity")
        offers = [run[i : i + size] for size in (1, 2, 3) for i in range(min(len(run), 200) - size + 1)]
        pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        for index, pair in enumerate(pairs):
            yield Token("word", pair, pair, (), tuple("w:" + o for o in offers) if index == 0 else ("w:" + pair,))


def _joined(raw: list[Token], breaks: set[int]) -> list[Token]:
    """Tokens that only mean something together: amounts with their units, dates in words, times with am and pm."""
    out: list[Token] = []
    index = 0
    while index < len(raw):
        token = raw[index]
        if token.kind == "word" and token.text.lower().rstrip(".") not in quantities.OPENERS:
            out.append(token)
            index += 1
            continue
        window = [token.text.lower()]
        for at in range(index + 1, min(index + 4, len(raw))):
            # Nothing is joined over a comma but a year: "21 November, 2026".
            if at in breaks and not (len(raw[at].text) == 4 and raw[at].text.isdigit()):
                break
            window.append(raw[at].text.lower())
        moment, used = quantities.joined_moment(
            window, raw[index].text[:1].isupper(), [known.text.lower() for known in out[-2:]]
        )
        if moment is None and token.kind in ("number", "version"):
            quantity, used = quantities.joined_number(window)
            if quantity is not None:
                # The parts stay known as they are written, but not as numbers without a unit.
                offers = {o for t in raw[index : index + used] for o in t.offers if o[0] != "="} | set(quantity.offers)
                token = _number(quantity)._replace(offers=tuple(sorted(offers)))
            used = max(used, 1)
            if out:
                token = _with_context(token, out[-1])
        elif moment is not None:
            # The 5 of "5 October" is not an amount: "5 cents".
            offers = {o for t in raw[index : index + used] for o in t.offers if o[0] != "="} | set(moment.offers)
            token = _moment(moment)._replace(offers=tuple(sorted(offers)))
            _same_month(out, token)
        out.append(token._replace(opens=raw[index].opens, at=raw[index].at))
        index += max(used, 1)
    return out


def _same_month(out: list[Token], token: Token) -> None:
    """Give the first day of ``12 to 17 May`` its month."""
    for back in (1, 2):
        if len(out) < back:
            return
        first = out[-back]
        if first.kind == "number" and first.text.isdigit() and len(first.text) < 3:
            out[-back] = first._replace(offers=(*first.offers, *quantities.same_month(token.offers, int(first.text))))
            return
        if first.text.lower() not in ("to", "until", "till", "and", "bis", "und"):
            return


_REFERENCES: Final = words("pr prs issue issues ticket tickets bug mr request pull commit rfc adr")


def _with_context(token: Token, before: Token) -> Token:
    """``Postgres 16`` is known from ``Postgres 16.2``, ``PR 12`` from ``#12``."""
    unit = quantities.unit_before(before.text) if not token.group.removeprefix("number:") else ""
    if unit:
        amounts = quantities.with_unit(token.text, unit)
        if amounts is not None:
            if before.kind == "word":  # EUR 5
                return _number(amounts)
            token = token._replace(offers=(*token.offers, *amounts.offers))  # timeout_ms = 500
    low = before.text.lower()
    value = token.root.lstrip("#v:=")
    if low in _REFERENCES and value.isdigit():
        return token._replace(offers=(*token.offers, f"ref:{value}"), wants=(*token.wants, f"ref:{value}"))
    if before.kind != "word":
        return token
    major = value.partition(".")[0]
    if token.kind == "version" or ("." in value and token.group == "number:"):
        return token._replace(offers=(*token.offers, f"major:{low} {major}"))
    return token._replace(wants=(*token.wants, f"major:{low} {value}")) if value.isdigit() else token


def is_content(token: Token) -> bool:
    """Whether a word says something of its own."""
    return token.kind == "word" and token.text.lower().removesuffix("'s") not in STOP and len(token.root) > 1


def value_of(token: Token) -> float | None:
    """A token's number. None when it is not a plain number."""
    for key in token.wants:
        text = key.rpartition(":")[2].lstrip("#=")
        if token.kind == "number" and re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,9})?", text):
            return float(text)
    return None


def digits(value: float) -> int:
    """How many significant digits a number is written with."""
    return len(f"{value:g}".replace(".", "").rstrip("0"))
