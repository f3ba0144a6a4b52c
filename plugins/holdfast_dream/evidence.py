"""The sources of a dream, read once and indexed: which line says what, under which heading, on which day."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from holdfast_dream import quantities
from holdfast_dream.lexicon import GENERIC, STOP, canonical, is_ordinary
from holdfast_dream.tokens import Reader, Token, is_content, plain, words_of

_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING: Final = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
_COMMENT: Final = re.compile(r"<!--.*?-->")
_SENTENCE: Final = re.compile(
    r"(?<=[.!?。！？])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<! [A-Z]\.)(?:\s+|(?<=[。！？]))"
    r"(?=\S)(?!(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz]))|;\s+"
)
_DAY: Final = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})-([01][0-9])-([0-3][0-9])(?![0-9])")
_OF_PLACE: Final = re.compile(r"(?:ian|ean|an|ish|ese|ic)\Z")
_RELATIVE: Final = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1, "heute": 0, "gestern": -1, "morgen": 1}

#: Occurrences of one word that are looked at for a line; what is more frequent than this tells little.
_POSTINGS: Final = 2_000
_FINALISTS: Final = 24


class Unit(NamedTuple):
    """A sentence, item, heading or table row of a source. ``line`` is 1-based; ``roots`` and ``keys`` are what it says
    itself, ``above`` what its headings and parent items say, ``before`` what the sentences before it do."""

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
        """Whether the unit, or what it stands under, has the word or offers the claim. ``alone`` leaves out the
        sentences before it."""
        sets = (self.roots, self.keys, *self.above) if alone else (self.roots, self.keys, *self.above, *self.before)
        if not wants:
            return any(root in said for said in sets)
        return any(root in said or not said.isdisjoint(wants) for said in sets)

    def holds(self, wants: Sequence[str]) -> bool:
        """Whether the unit itself offers the claim."""
        return any(want in self.keys or want in self.roots for want in wants)


class Match(NamedTuple):
    """A unit, how much of a line it says (0 to 1), and its place among the units."""

    score: float
    unit: Unit
    at: int


class Evidence:
    """The index. The order in which sources are given does not matter."""

    def __init__(self, sources: Iterable[tuple[str, str]]) -> None:
        self.reader = Reader()
        self.units: list[Unit] = []
        self._parts: dict[str, frozenset[str]] = {}  # of identifiers, which come again and again
        self._postings: dict[str, list[int]] = {}
        self._places: dict[str, list[tuple[str, int]]] = {}
        flow: list[str] = []
        self._lower: set[str] = set()
        self._capital: set[str] = set()
        self._opening: set[str] = set()
        for name, text in sorted(set(sources)):
            flow += words_of(name)
            for unit, said in self._read(name, text):
                at = len(self.units)
                self.units.append(unit)
                flow += words_of(said)
                for key in unit.keys | unit.roots:
                    self._postings.setdefault(key, []).append(at)
                for token in unit.tokens:
                    if token.kind == "word":
                        low = token.text.lower().removesuffix("'s")
                        capital = self._opening if token.opens else self._capital
                        (capital if token.text[:1].isupper() else self._lower).add(low)
            flow.append("\n")
        self._flow = f" {' '.join(flow)} "
        self.words = set(flow)
        self.words |= {key[2:] for key in self._postings if key.startswith("w:")}
        self._sorted = sorted(self.words)
        compounds = [
            k[2:].split("-")
            for k in self._postings
            if k.startswith("i:") and "-" in k and k[2:].replace("-", "").isalpha()
        ]
        self._heads = {parts[0] for parts in compounds}
        self._tails = {parts[-1] for parts in compounds}

    # --- questions ---------------------------------------------------------------------------------------------

    def offers(self, wants: Sequence[str]) -> bool:
        """Whether any source offers one of the keys."""
        return any(want in self._postings for want in wants)

    def has_word(self, low: str) -> bool:
        """Whether a word occurs, in any form; from six letters on also one that begins with it or that begins it."""
        bare = low.removesuffix("'s").strip("'")
        if bare in self.words or canonical(bare) in self._postings or f"i:{bare}" in self._postings:
            return True
        if bare.endswith("s") and bare[:-1] in self.words:
            return True
        if len(bare) < 6:
            return False
        of = _OF_PLACE.sub("", bare)  # Canadian, where a source says Canada
        if of != bare and len(of) > 3 and self._begins(of):
            return True
        return self._begins(bare) or any(bare[:size] in self.words for size in range(6, len(bare)))

    def _begins(self, start: str) -> bool:
        at = bisect_left(self._sorted, start)
        return at < len(self._sorted) and self._sorted[at].startswith(start)

    def has_phrase(self, text: str) -> bool:
        """Whether the words of ``text`` stand one after the other in a source, whatever is between them."""
        words = words_of(text)
        return bool(words) and all(w in self.words for w in words) and f" {' '.join(words)} " in self._flow

    def has_compound(self, first: str, last: str) -> bool:
        """Whether there is a word with hyphens that begins or ends like ``first-last``."""
        return first in self._heads or last in self._tails

    def is_name(self, low: str) -> bool:
        """Whether the sources use a word as a name: with a capital, and never without."""
        if low in self._lower or low in STOP or canonical(low) in GENERIC:
            return False
        return low in self._capital or (low in self._opening and not is_ordinary(low))

    def places(self, body: str) -> Sequence[tuple[str, int]]:
        """Where a line stands word for word, as (document, line)."""
        return self._places.get(body, ())

    def units_with(self, keys: Sequence[str], limit: int) -> list[int] | None:
        """The units that offer one of the keys, in order; None when there are more than ``limit``."""
        found: set[int] = set()
        for key in keys:
            postings = self._postings.get(key, ())
            if len(postings) > limit:
                return None
            found.update(postings)
        return sorted(found)

    def best(self, features: Sequence[tuple[str, tuple[str, ...]]]) -> list[Match]:
        """The units that say most of the features, best first. A feature is a root and the keys that it wants."""
        weights: list[float] = []
        gathered: dict[int, float] = {}
        for root, wants in features:
            lists = [self._postings[k] for k in dict.fromkeys((root, *wants)) if k in self._postings]
            count = sum(map(len, lists))
            weight = math.log(1 + (len(self.units) + 1) / (count + 0.5)) if count else 1.0
            weights.append(weight)
            for at in {i for postings in lists for i in postings[:_POSTINGS]}:
                gathered[at] = gathered.get(at, 0.0) + weight
        total = sum(weights)
        if not total:
            return []
        finalists = sorted(gathered, key=lambda at: (-round(gathered[at], 6), at))[:_FINALISTS]
        found = []
        for at in finalists:
            unit = self.units[at]
            said = sum(w for (root, wants), w in zip(features, weights, strict=True) if unit.says(root, wants))
            own = gathered[at]
            found.append(Match(round((0.75 * said + 0.25 * own) / total, 3), unit, at))
        return sorted(found, key=lambda m: (-m.score, m.unit.document, m.unit.line))

    # --- reading -----------------------------------------------------------------------------------------------

    def _read(self, name: str, text: str) -> Iterator[tuple[Unit, str]]:
        noted = _day(name)
        title = frozenset(canonical(w) for w in words_of(name))
        stack: list[tuple[int, frozenset[str]]] = []  # open headings: level, what they say
        parents: list[tuple[int, frozenset[str]]] = []  # open items: indentation, what they say
        header: list[frozenset[str]] = []  # of a table: what its first row says
        heads = self._heads_of(title, stack, noted)
        for number, kind, level, said in _blocks(text):
            if kind == "heading":
                while stack and stack[-1][0] >= level:
                    stack.pop()
                noted = _day(said) or noted
                heads = self._heads_of(title, stack, noted)
            while parents and (kind != "item" or parents[-1][0] >= level):
                parents.pop()
            above = (heads, *(p for _, p in parents[-3:]), *(header if kind == "row" else ()))
            before: list[frozenset[str]] = []
            place, counted = number, 0
            for offset, sentence in _sentences(said):
                place, counted = place + said.count("\n", counted, offset), offset
                body = plain(sentence)
                unit = self._unit(name, place, body, noted, above, before[-2:])
                yield unit, body
                before.append(unit.roots | unit.keys)
            everything = frozenset().union(*before[:4]) if before else frozenset()
            if kind == "heading":
                stack.append((level, everything))
                heads = self._heads_of(title, stack, noted)
            elif kind == "item":
                parents.append((level, everything))
            header = [] if kind != "row" else header or [everything]
        for number, line in enumerate(text.splitlines(), 1):
            body = normal(line)
            if body:
                self._places.setdefault(body, []).append((name, number))
                said = body.removeprefix("fact: ").removeprefix("decision: ")  # the labels of a daily note
                if said and said != body:
                    self._places.setdefault(said, []).append((name, number))

    def _heads_of(
        self, title: frozenset[str], stack: Sequence[tuple[int, frozenset[str]]], noted: date | None
    ) -> frozenset[str]:
        """What stands above everything under the open headings; the day of the note is known without a place."""
        day = _offers(noted) if noted else ()
        for key in day:
            self._postings.setdefault(key, [])
        return title.union(day, *(said for _, said in stack[-4:]))

    def _roots_of(self, text: str) -> frozenset[str]:
        found = self._parts.get(text)
        if found is None:
            found = self._parts[text] = frozenset(canonical(w) for w in words_of(text))
        return found

    def _unit(
        self,
        name: str,
        line: int,
        body: str,
        noted: date | None,
        above: tuple[frozenset[str], ...],
        before: list[frozenset[str]],
    ) -> Unit:
        tokens = tuple(self.reader.tokens(body))
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
            if noted and token.text.lower() in _RELATIVE:
                keys.update(_offers(noted + timedelta(days=_RELATIVE[token.text.lower()])))
        return Unit(name, line, noted, body, tokens, frozenset(roots), frozenset(keys), above, tuple(before))


def supporting(matches: Sequence[Match], claims: Sequence[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, int], float]:
    """The source lines of ``matches``, best first, with their scores. Where the line makes ``claims``, a source line
    counts that has all of those that any has, or one that the better ones lack: "clock 2" is no source of "clock 1"."""
    said = [frozenset(n for n, (root, wants) in enumerate(claims) if m.unit.says(root, wants)) for m in matches]
    known = frozenset[int]().union(*said)
    covered = frozenset[int]()
    places: dict[tuple[str, int], float] = {}
    for match, says in sorted(zip(matches, said, strict=True), key=lambda pair: -len(pair[1])):
        if says == known or says - covered:
            covered |= says
            places.setdefault((match.unit.document, match.unit.line), match.score)
    return places


def is_abbreviation(low: str, matches: Sequence[Match]) -> bool:
    """Whether a word is ``bft`` where one of the three best units says Beaufort."""
    if not 2 < len(low) < 6 or any(c in "aeiou" for c in low[1:]):
        return False
    near = (t.text.lower() for match in matches[:3] for t in match.unit.tokens)
    return any(word[:1] == low[0] and len(word) > len(low) and _in_order(low, word) for word in near)


def _in_order(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def normal(line: str) -> str:
    """A line without its marks and with single spaces, in one form of its characters and in lower case."""
    return " ".join(plain(strip_marks(line)).replace("`", "").split()).lower()


def strip_marks(line: str) -> str:
    """A line without the marks of an item, heading or quotation."""
    line = _COMMENT.sub(" ", line).strip().lstrip("> ")
    heading = _HEADING.match(line)
    if heading:
        return heading[2]
    item = _ITEM.match(line)
    return line[item.end() :] if item else line


def _day(text: str) -> date | None:
    found = _DAY.search(text)
    try:
        return date(*(int(part) for part in found.groups())) if found else None
    except ValueError:
        return None


def _offers(day: date) -> tuple[str, ...]:
    made = quantities.day("", day.year, day.month, day.day)
    return (*(o for o in made.offers if not o.startswith(("#", "="))), f"#{day.year}") if made else ()


def _blocks(text: str) -> Iterator[tuple[int, str, int, str]]:
    """(line, kind, level, text) of headings, items with what continues them, rows and paragraphs."""
    held: list[str] = []
    start, kind, level = 0, "", 0
    fenced = False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = _COMMENT.sub(" ", line)
        bare = line.strip().lstrip("> ")
        fence = bare.startswith(("```", "~~~"))
        heading = None if fenced else _HEADING.match(line)
        item = None if fenced or heading else _ITEM.match(line)
        alone = fence or fenced or heading or bare.startswith("|") or not bare
        if held and (alone or item):
            yield start, kind, level, "\n".join(held)
            held = []
        fenced = fenced != fence
        if heading:
            yield number, "heading", len(heading[1]), heading[2]
        elif item:
            start, kind, level, held = number, "item", len(item[1].expandtabs(4)), [line[item.end() :]]
        elif alone:
            if bare and not fence:
                yield number, "row", 0, bare
        else:
            if not held:
                start, kind, level = number, "paragraph", 0
            held.append(bare)
    if held:
        yield start, kind, level, "\n".join(held)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for found in _SENTENCE.finditer(text):
        yield start, text[start : found.start()]
        start = found.end()
    if start < len(text):
        yield start, text[start:]
