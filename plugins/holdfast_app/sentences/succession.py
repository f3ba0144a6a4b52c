"""How likely a newer statement of a user ends an older one: by the words and values that they share, those that only
one of them has, and the words around them. The weights are fitted by benchmarks/quality/fit_statements.py.
"""

import math
from collections.abc import Iterable, Iterator, KeysView
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast_app.sentences import lasting, linear
from holdfast_app.sentences import vocabulary as v
from holdfast_app.sentences.statement import Token, reports_change, tokens

#: Longer statements say more than one thing, so they end nothing.
_MAX_CHARS: Final = 400
#: Kinds of values, in this order. Another token is a word or a name.
_KINDS: Final = (
    ("date", Lazy(r"(?i:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$|[a-z]+day$|\d{4}-\d\d(?:-\d\d)?$)")),
    ("amount", Lazy(r"[$€£]")),
    ("version", Lazy(r"\d+\.\d+\.[\d.]+$")),
    ("number", Lazy(r"\d[\d.,:]*[a-zA-Z%]{0,3}$")),
    ("code", Lazy(r"[/~]|.*\w[./@:_]\w|.*\d")),
)
#: Parts of a statement, each of which can hold alone.
_PARTS: Final = Lazy(r"[,;:，、；。]\s*|\.\s+|\s(?:and|but|or|und|et|y|e)\s")
#: Least probability that one has ended. An outdated line does less harm than a missing one.
_LIKELY: Final = 0.45
#: Least probability that what ends one lasts, and that a part of the older one states something of its own.
_LASTS, _STATES = 0.03, 0.3
_LENGTHS: Final = (4, 7, 10, 14, 20, 30)
_STEPS: Final = 4


class _Read(NamedTuple):
    """A statement's tokens in small letters, and of each that has content its stem and kind by its place."""

    words: tuple[str, ...]
    stems: dict[int, str]
    kinds: dict[str, str]


@lru_cache(4_096)
def _read(text: str) -> _Read:
    read = tokens(text)
    words = tuple(token.word for token in read)
    places = [n for n, word in enumerate(words) if any(map(str.isalnum, word)) and word not in v.UNSAID]
    stems = {n: v.stem(words[n]) if words[n].isalpha() else words[n] for n in places}
    return _Read(words, stems, {stem: _kind(read[n]) for n, stem in stems.items()})


def _kind(token: Token) -> str:
    other = "name" if token.is_name else "word"
    return next((name for name, form in _KINDS if form.match(token.word)), other)


def features(new: str, old: str) -> set[str]:
    """What tells whether ``new`` ends ``old``."""
    mine, theirs = _read(new), _read(old)
    common = mine.kinds.keys() & theirs.kinds.keys()
    own = [kind for stem, kind in mine.kinds.items() if stem not in common]
    missing = [kind for stem, kind in theirs.kinds.items() if stem not in common]
    values = [{*own} - {"word"}, {*missing} - {"word"}]
    judged, before = lasting.judge(new), lasting.judge(old)
    counts = {
        "share": int(_STEPS * len(common) / max(1, len(theirs.kinds))),
        "mine": int(_STEPS * len(common) / max(1, len(mine.kinds))),
        "common": min(3, len(common)),
        "own": min(3, own.count("word")),
        "missing": min(3, missing.count("word")),
        "values": f"{bool(values[0]):d}{bool(values[1]):d}{bool(values[0] & values[1]):d}",
        "changes": reports_change(new),
        "negations": f"{_negates(mine):d}{_negates(theirs):d}",
    }
    named = [f"{name}={value}" for name, value in counts.items()]
    signs = {f"{one} {other}" for one, other in combinations([*named, ""], 2)}  # each count, and each pair of them
    signs |= {f"#{sum(len(mine.words) >= least for least in _LENGTHS)}", f"label {judged.label} {before.label}"}
    signs |= {f"lasting {int(_STEPS * judged.lasting)}", f"asks {int(_STEPS * judged.asks)}"}
    signs |= {f"swap {kind}" for kind in values[0] & values[1]} | {f"named {theirs.kinds[stem]}" for stem in common}
    signs |= {f"without {word}" for word in theirs.words if word in v.UNSAID and word not in mine.words}
    return signs.union(["*"], _around(mine, theirs))


def _negates(read: _Read) -> bool:
    return sum(word in v.NEGATIONS for word in read.words) % 2 == 1


def _around(mine: _Read, theirs: _Read) -> Iterator[str]:
    """The newer statement's own words, alone, in pairs and threes, and those around the words that both have."""
    words = ["^", *("0" if any(map(str.isdigit, word)) else word for word in mine.words), "$"]
    is_both = [False, *(word in theirs.words and word not in v.UNSAID for word in mine.words), False]
    shown = ["_" if both else word for word, both in zip(words, is_both, strict=True)]
    yield from shown[1:-1]
    yield from (f"{one} {two}" for one, two in pairwise(shown) if {one, two} != {"_"})
    yield from (" ".join(three) for three in zip(shown, shown[1:], shown[2:], strict=False))
    for n, stem in mine.stems.items():
        if stem in theirs.kinds:
            yield from (f"<{words[n]}", f"{words[n + 2]}>", f"<{' '.join(words[max(0, n - 1) : n + 1])}")
        elif words[n] in v.UNSAID:
            yield f"<<{words[n]}"


def likelihood(new: str, old: str) -> float:
    """The probability that ``old`` no longer holds as it stands, after ``new``."""
    [odds] = linear.sums("succession", features(new, old))
    return 1 / (1 + math.exp(-odds))


def ended(new: str, known: Iterable[str]) -> str:
    """The statement of ``known`` that ``new``, which reports a change, most likely ends. Empty where none is likely to
    have ended."""
    if len(new) > _MAX_CHARS or not reports_change(new) or lasting.judge(new).lasting < _LASTS:
        return ""
    near = (old for old in known if not words(new).isdisjoint(words(old)) and not _says_more(old, new))
    odds, old = max(((likelihood(new, old), old) for old in near), default=(0.0, ""))
    return old if odds >= _LIKELY else ""


def _says_more(old: str, new: str) -> bool:
    """Whether a part of ``old`` states something else."""
    parts = [part for part in _PARTS.split(old) if part != old and _read(part).kinds]
    others = (part for part in parts if words(new).isdisjoint(words(part)))
    return len(old) > _MAX_CHARS or any(lasting.judge(part).lasting >= _STATES for part in others)


def words(text: str) -> KeysView[str]:
    """The stems of the words with content."""
    return _read(text).kinds.keys()
