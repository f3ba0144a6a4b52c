"""The sentences of all sources. Each is stored as text and a few numbers and parsed on demand, because a unit as an
object takes two hundred times its text."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import Final, NamedTuple

from holdfast_app.dream.grounding import quantities
from holdfast_app.dream.grounding.compact import Kept
from holdfast_app.dream.grounding.lexicon import canonical
from holdfast_app.dream.grounding.tokens import Reader, Token, is_content, words_of

#: Words for a day near the note's day, in days from it.
RELATIVE: Final = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1, "heute": 0, "gestern": -1, "morgen": 1}
#: Limit for kept objects, in units of some nine bytes: a fixed part, and a part for each character of the sources.
_KEPT: Final = 1 << 20
_KEPT_EACH: Final = 1
_NONE: Final = -1
#: Maximum numbers of open headings and parent items that count, and of sentences in each.
_HEADINGS: Final = 4
_PARENTS: Final = 3
_OF_BLOCK: Final = 4
_BEFORE: Final = 2


class Unit(NamedTuple):
    """A sentence, item, heading or table row of a source. ``line`` is 1-based. ``roots`` and ``keys`` are its own,
    ``above`` those of its headings and parent items, ``before`` those of the sentences before it."""

    document: str
    line: int
    day: date | None
    text: str
    tokens: tuple[Token, ...]
    roots: frozenset[str]
    keys: frozenset[str]
    above: tuple[frozenset[str], ...]
    before: tuple[frozenset[str], ...]

    def says(self, root: str, wants: Sequence[str] = (), *, alone: bool = False) -> bool:
        """Whether the unit or its headings and parents have the word or offer the claim. ``alone`` ignores the
        sentences before it."""
        sets = (self.roots, self.keys, *self.above) if alone else (self.roots, self.keys, *self.above, *self.before)
        if not wants:
            return any(root in said for said in sets)
        return any(root in said or not said.isdisjoint(wants) for said in sets)

    def holds(self, wants: Sequence[str]) -> bool:
        """Whether the unit itself offers the claim."""
        return any(want in self.keys or want in self.roots for want in wants)


class Said(NamedTuple):
    """A unit's tokens, and its words and claims."""

    tokens: tuple[Token, ...]
    roots: frozenset[str]
    keys: frozenset[str]


class Units(Sequence[Unit]):
    """Filled in order: a document, then its headings, items and sentences. A block's id is its first unit."""

    def __init__(self, chars: int) -> None:
        limit = _KEPT + _KEPT_EACH * chars
        self._reader = Reader(5 * limit)
        self._parts: Kept[str, frozenset[str]] = Kept(limit + limit // 2)  # of identifiers, which come again and again
        self._texts = bytearray()
        self._ends, self._lines, self._contexts = array("Q"), array("I"), array("I")
        self._opens = bytearray()  # 1 for the first unit of a block
        self._documents: list[tuple[int, str, frozenset[str]]] = []
        self._days_from, self._days = array("I"), array("I")  # from that unit on, noted on that day; 0 for unknown
        self._nodes, self._up = array("i"), array("i")  # chains of open headings and items
        self._sections, self._parents, self._headers = array("i"), array("i"), array("i")
        self._kept: Kept[int, Unit] = Kept(limit + limit // 2)
        self._said: Kept[int, Said] = Kept(limit // 2)
        self._above: Kept[tuple[int, int, int], frozenset[str]] = Kept(limit // 4)

    def __len__(self) -> int:
        return len(self._lines)

    # --- filling -------------------------------------------------------------------------------------------------

    def begin(self, document: str) -> None:
        """The units that follow are of this document."""
        title = frozenset(canonical(word) for word in words_of(document))
        self._documents.append((len(self), document, title))

    def note(self, day: date | None) -> None:
        """The units that follow were noted on this day."""
        self._days_from.append(len(self))
        self._days.append(day.toordinal() if day else 0)

    def node(self, block: int, up: int) -> int:
        """A chain with one more open heading or item. ``block`` is -1 if it has no content."""
        self._nodes.append(block)
        self._up.append(up)
        return len(self._nodes) - 1

    def add(self, text: str, line: int, place: tuple[int, int, int], *, opens: bool) -> Said:
        """Add a sentence under ``place``: its chains of headings and of items, and the first row of its table."""
        if not self._sections or place != (self._sections[-1], self._parents[-1], self._headers[-1]):
            self._sections.append(place[0])
            self._parents.append(place[1])
            self._headers.append(place[2])
        self._texts += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._texts))
        self._lines.append(line)
        self._contexts.append(len(self._sections) - 1)
        self._opens.append(opens)
        return self._read(text, self._noted(len(self) - 1))

    # --- looking -------------------------------------------------------------------------------------------------

    def __getitem__(self, at: int) -> Unit:  # type: ignore[override]
        unit = self._kept.get(at)
        if unit is not None:
            return unit
        said, context = self.said(at), self._contexts[at]
        above = [self._heads(at, self._sections[context])]
        parents = islice(self._chain(self._parents[context]), _PARENTS)
        above += [self._block(block) for block in parents]
        if self._headers[context] != _NONE:
            above.append(self._block(self._headers[context]))
        before = []
        for earlier in range(at - 1, max(-1, at - 1 - _BEFORE), -1):
            if self._opens[earlier + 1]:
                break
            before.append(self._all(earlier))
        document = self._documents[self._document(at)][1]
        sets = (tuple(above), tuple(before))
        unit = Unit(document, self._lines[at], self._noted(at), self._text(at), *said, *sets)
        return self._kept.put(at, unit, 500 + len(unit.text) + _size(said))

    def place(self, at: int) -> tuple[str, int]:
        """The unit's document and line."""
        return self._documents[self._document(at)][1], self._lines[at]

    def around(self, at: int) -> tuple[list[int], frozenset[str]]:
        """The units whose words :meth:`Unit.says` counts, without reading them, and further words that it counts."""
        context, day, document = self._contexts[at], self._noted(at), self._document(at)
        units = [at]
        for earlier in range(at - 1, max(-1, at - 1 - _BEFORE), -1):
            if self._opens[earlier + 1]:
                break
            units.append(earlier)
        blocks = [*islice(self._chain(self._sections[context]), _HEADINGS)]
        blocks += [*islice(self._chain(self._parents[context]), _PARENTS), self._headers[context]]
        for first in blocks:
            if first != _NONE:
                units += self._of_block(first)
        return units, self._documents[document][2].union(offers(day) if day else ())

    def said(self, at: int) -> Said:
        """The unit's tokens, words and claims."""
        found = self._said.get(at)
        if found is None:
            found = self._read(self._text(at), self._noted(at))
            self._said.put(at, found, _size(found))
        return found

    def _text(self, at: int) -> str:
        start = self._ends[at - 1] if at else 0
        return self._texts[start : self._ends[at]].decode("utf-8", "surrogatepass")

    def _document(self, at: int) -> int:
        return bisect_right(self._documents, at, key=lambda document: document[0]) - 1

    def _noted(self, at: int) -> date | None:
        number = self._days[bisect_right(self._days_from, at) - 1]
        return date.fromordinal(number) if number else None

    def _chain(self, node: int) -> Iterator[int]:
        """A chain's blocks, innermost first."""
        while node != _NONE:
            yield self._nodes[node]
            node = self._up[node]

    def _all(self, at: int) -> frozenset[str]:
        said = self.said(at)
        return said.roots | said.keys

    def _block(self, first: int) -> frozenset[str]:
        """The roots and keys of a block's first sentences."""
        return frozenset().union(*map(self._all, self._of_block(first))) if first != _NONE else frozenset()

    def _of_block(self, first: int) -> Iterator[int]:
        yield first
        for at in range(first + 1, min(first + _OF_BLOCK, len(self))):
            if self._opens[at]:
                return
            yield at

    def _heads(self, at: int, section: int) -> frozenset[str]:
        """The roots and keys of the document's name, its day and the open headings."""
        document, day = self._document(at), self._noted(at)
        key = (document, section, day.toordinal() if day else 0)
        found = self._above.get(key)
        if found is None:
            said = (self._block(block) for block in islice(self._chain(section), _HEADINGS))
            found = self._documents[document][2].union(offers(day) if day else (), *said)
            self._above.put(key, found, 500 + 100 * len(found))
        return found

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self, text: str, noted: date | None) -> Said:
        tokens = tuple(self._reader.tokens(text))
        roots: set[str] = set()
        keys: set[str] = set()
        for token in tokens:
            if token.kind == "word":
                keys.update(token.offers)
                if is_content(token):
                    roots.add(token.root)
            else:
                keys.update(quantities.in_year(token.offers, noted) if noted and token.kind == "date" else token.offers)
                if token.kind not in ("number", "version", "date", "time"):
                    roots.update(self._roots_of(token.text))
            if noted and token.text.lower() in RELATIVE:
                keys.update(offers(noted + timedelta(days=RELATIVE[token.text.lower()])))
        return Said(tokens, frozenset(roots), frozenset(keys))

    def _roots_of(self, text: str) -> frozenset[str]:
        found = self._parts.get(text)
        if found is None:
            found = frozenset(canonical(word) for word in words_of(text))
            self._parts.put(text, found, 300 + len(text) + 100 * len(found))
        return found


def offers(day: date) -> tuple[str, ...]:
    """The keys that a day offers to its notes."""
    made = quantities.day("", day.year, day.month, day.day)
    return (*(o for o in made.offers if not o.startswith(("#", "="))), f"#{day.year}") if made else ()


def _size(said: Said) -> int:
    """About how many bytes it takes; most tokens are the reader's."""
    return 600 + 80 * (len(said.tokens) + len(said.roots) + len(said.keys))
