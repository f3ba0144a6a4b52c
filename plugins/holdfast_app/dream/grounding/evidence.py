"""A dream's sources, read once and indexed by line, heading and day.

The index takes about ten bytes per byte of the sources.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from heapq import nlargest
from itertools import islice
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from holdfast.text.plain import lines
from holdfast_app.dream.grounding.blocks import blocks, normal, sentences
from holdfast_app.dream.grounding.compact import Postings, Words
from holdfast_app.dream.grounding.lexicon import GENERIC, STOP, canonical, is_ordinary
from holdfast_app.dream.grounding.tokens import each_word, plain, words_of
from holdfast_app.dream.grounding.units import Said, Unit, Units, offers

_DAY: Final = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})-([01][0-9])-([0-3][0-9])(?![0-9])")
_OF_PLACE: Final = re.compile(r"(?:ian|ean|an|ish|ese|ic)\Z")

#: Maximum occurrences of a word to examine for a line. More frequent words say little.
_POSTINGS: Final = 2_000
#: More than rounding moves a weight by.
_NEAR: Final = 1e-5
_FINALISTS: Final = 24
#: Words of a sentence processed at a time.
_WORDS: Final = 1_000


class Match(NamedTuple):
    """How much of a line a unit says (0 to 1), and the unit's place among all units."""

    score: float
    at: int
    units: Units

    @property
    def unit(self) -> Unit:
        """The unit, read on demand."""
        return self.units[self.at]


class _Document(NamedTuple):
    """A source. Its lines have numbers in a row with those of all documents; ``first`` is that of its first one."""

    name: str
    text: str
    first: int
    starts: array[int]

    def line(self, at: int) -> str:
        """A line with its end, by its index."""
        end = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[at] : end]


class Evidence:
    """The index. The order in which sources are given does not matter."""

    def __init__(self, sources: Iterable[tuple[str, str]]) -> None:
        texts = sorted(set(sources))
        self.units = Units(sum(len(text) for _, text in texts))
        self.words = Words()
        self._uses = Words()  # words with a capital and without, ends of compounds
        self._days: set[str] = set()  # offered by the days of notes, without a place
        self._postings = Postings()
        self._lines = Postings()
        self._documents: list[_Document] = []
        self._flow = bytearray(b" ")
        number = 0
        for name, text in texts:
            self._say(name)
            self._read(name, text)
            self._documents.append(_Document(name, text, number, array("I")))
            number += self._index_lines(self._documents[-1])
            self._flow += b"\n "
        self.words.close()
        self._uses.close()

    # --- questions ---------------------------------------------------------------------------------------------

    def offers(self, wants: Sequence[str]) -> bool:
        """Whether any source offers at least one key."""
        return any(map(self._is_offered, wants))

    def _is_offered(self, key: str) -> bool:
        return key in self._postings or key in self._days

    def has_word(self, low: str) -> bool:
        """Whether a word occurs in any form. From six letters on, a common beginning suffices."""
        bare = low.removesuffix("'s").strip("'")
        if bare in self.words or self._is_offered(canonical(bare)) or self._is_offered(f"i:{bare}"):
            return True
        if bare.endswith("s") and bare[:-1] in self.words:
            return True
        if len(bare) < 6:
            return False
        of = _OF_PLACE.sub("", bare)  # Canadian, where a source says Canada
        if of != bare and len(of) > 3 and self.words.begins(of):
            return True
        return self.words.begins(bare) or any(bare[:size] in self.words for size in range(6, len(bare)))

    def has_phrase(self, text: str) -> bool:
        """Whether the words of ``text`` follow each other in a source, ignoring signs between them."""
        words = words_of(text)
        return bool(words) and all(w in self.words for w in words) and _flowing(words) in self._flow

    def has_compound(self, first: str, last: str) -> bool:
        """Whether there is a word with hyphens that begins or ends like ``first-last``."""
        return f"head:{first}" in self._uses or f"tail:{last}" in self._uses

    def is_name(self, low: str) -> bool:
        """Whether the sources use a word as a name: with a capital, and never without."""
        if f"lower:{low}" in self._uses or low in STOP or canonical(low) in GENERIC:
            return False
        return f"capital:{low}" in self._uses or (f"opening:{low}" in self._uses and not is_ordinary(low))

    def places(self, body: str, most: int) -> Sequence[tuple[str, int]]:
        """The first places with exactly this line, as (document, line)."""
        found: list[tuple[str, int]] = []
        postings = self._lines.places(body)
        for place in postings.take(len(postings)):
            at = bisect_right(self._documents, place, key=lambda document: document.first) - 1
            document, line = self._documents[at], place - self._documents[at].first
            if body in _forms(document.line(line)):
                found.append((document.name, line + 1))
                if len(found) == most:
                    break
        return found

    def units_with(self, keys: Sequence[str], limit: int) -> list[int] | None:
        """The units that offer at least one key, in order. None when there are more than ``limit``."""
        found: set[int] = set()
        for key in keys:
            postings = self._postings.places(key)
            if len(postings) > limit:
                return None
            found.update(postings.take(limit))
        return sorted(found)

    def best(self, features: Sequence[tuple[str, tuple[str, ...]]]) -> list[Match]:
        """The units that say most of the features, best first. A feature is a root and the keys that it wants."""
        weights: list[float] = []
        gathered: dict[int, float] = {}
        offered = [[self._postings.places(key) for key in dict.fromkeys((root, *wants))] for root, wants in features]
        for lists in offered:
            count = sum(map(len, lists))
            weight = math.log(1 + (len(self.units) + 1) / (count + 0.5)) if count else 1.0
            weights.append(weight)
            for at in {i for postings in lists for i in postings.take(_POSTINGS)}:
                gathered[at] = gathered.get(at, 0.0) + weight
        total = sum(weights)
        if not gathered:
            return []
        least = nlargest(_FINALISTS, gathered.values())[-1] - _NEAR  # most units are far below and need no sorting
        near = (at for at, weight in gathered.items() if weight >= least)
        found = []
        for at in sorted(near, key=lambda at: (-round(gathered[at], 6), at))[:_FINALISTS]:
            units, words = self.units.around(at)
            said = sum(
                weight
                for (root, wants), weight, lists in zip(features, weights, offered, strict=True)
                if root in words or not words.isdisjoint(wants) or any(p.has(i) for p in lists for i in units)
            )
            found.append(Match(round((0.75 * said + 0.25 * gathered[at]) / total, 3), at, self.units))
        return sorted(found, key=lambda match: (-match.score, *self.units.place(match.at)))

    # --- reading -----------------------------------------------------------------------------------------------

    def _read(self, name: str, text: str) -> None:
        self.units.begin(name)
        noted = self._note(_day(name))
        stack: list[tuple[int, int]] = []  # open headings: level, chain
        parents: list[tuple[int, int]] = []  # open items: indentation, chain
        header: int | None = None  # of a table: its first row
        for number, kind, level, said in blocks(text):
            if kind == "heading":
                while stack and stack[-1][0] >= level:
                    stack.pop()
                if (day := _day(said)) and day != noted:
                    noted = self._note(day)
            while parents and (kind != "item" or parents[-1][0] >= level):
                parents.pop()
            section, parent = (chain[-1][1] if chain else -1 for chain in (stack, parents))
            above = (section, parent, header if header is not None and kind == "row" else -1)
            first, place, counted = len(self.units), number, 0
            for offset, sentence in sentences(said):
                place, counted = place + said.count("\n", counted, offset), offset
                body = plain(sentence)
                self._index(len(self.units), self.units.add(body, place, above, opens=len(self.units) == first))
                self._say(body)
            block = first if len(self.units) > first else -1
            if kind == "heading":
                stack.append((level, self.units.node(block, section)))
            elif kind == "item":
                parents.append((level, self.units.node(block, parent)))
            header = None if kind != "row" else block if header is None else header

    def _note(self, day: date | None) -> date | None:
        self.units.note(day)
        self._days.update(offers(day) if day else ())
        return day

    def _index(self, at: int, said: Said) -> None:
        uses = set()
        for key in said.keys | said.roots:
            self._postings.add(key, at)
            if key.startswith("i:") and "-" in key and key[2:].replace("-", "").isalpha():
                parts = key[2:].split("-")
                uses |= {f"head:{parts[0]}", f"tail:{parts[-1]}"}
        for token in said.tokens:
            if token.kind == "word":
                use = ("opening" if token.opens else "capital") if token.text[:1].isupper() else "lower"
                uses.add(f"{use}:{token.text.lower().removesuffix(chr(39) + 's')}")
        self._uses.update(uses)
        self.words.update([key[2:] for key in said.keys if key.startswith("w:")])

    def _say(self, text: str) -> None:
        """Add the words of ``text`` to the index of word sequences."""
        words = each_word(text)
        while some := list(islice(words, _WORDS)):
            self._flow += _flowing(some)[1:]
            self.words.update(some)

    def _index_lines(self, document: _Document) -> int:
        """Index whole lines; their number."""
        for at, (offset, line) in enumerate(lines(document.text)):
            document.starts.append(offset)
            for form in _forms(line):
                self._lines.add(form, document.first + at)
        return len(document.starts)


#: Sources -> their index, while it is in use.
_INDEXED: Final[WeakValueDictionary[tuple[tuple[str, str], ...], Evidence]] = WeakValueDictionary()


def indexed(sources: Iterable[tuple[str, str]]) -> Evidence:
    """The index of ``sources``. As long as a caller keeps it, :func:`ground` uses it for the same sources."""
    texts = tuple(sorted(set(sources)))
    found = _INDEXED.get(texts)
    if found is None:
        found = _INDEXED[texts] = Evidence(texts)
    return found


def _forms(line: str) -> set[str]:
    """A line in the form used for comparison, without a daily note's label."""
    body = normal(line)
    return {body, body.removeprefix("fact: ").removeprefix("decision: ")} - {""}


def _flowing(words: Sequence[str]) -> bytes:
    return f" {' '.join(words)} ".encode("utf-8", "surrogatepass")


def supporting(matches: Sequence[Match], claims: Sequence[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, int], float]:
    """The source lines in ``matches``, best first, with their scores. Where the line makes ``claims``, a source line
    counts if it has all claims that any line has, or one that the better lines lack: "clock 2" is not a source of
    "clock 1"."""
    said = [frozenset(n for n, (root, wants) in enumerate(claims) if m.unit.says(root, wants)) for m in matches]
    known = frozenset[int]().union(*said)
    covered = frozenset[int]()
    places: dict[tuple[str, int], float] = {}
    for match, says in sorted(zip(matches, said, strict=True), key=lambda pair: -len(pair[1])):
        if says == known or says - covered:
            covered |= says
            places.setdefault((match.unit.document, match.unit.line), match.score)
    return places


def _day(text: str) -> date | None:
    found = _DAY.search(text)
    try:
        return date(*(int(part) for part in found.groups())) if found else None
    except ValueError:
        return None
