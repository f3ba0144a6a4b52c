"""Which sentence of a user states something that holds in later sessions, and whether it asks for something now: a
linear model over a sentence's words, fitted by benchmarks/quality/fit_statements.py.

Each line of lasting.tsv is a feature with its weights for :data:`LABELS`, times :data:`SCALE`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy

#: The kinds of statements; ``none`` is all else. ``asks`` is apart: a request, a question, or a report of trouble.
LABELS: Final = ("rule", "fact", "decision", "correction", "rejected", "goal", "none", "asks")
_NONE: Final = LABELS.index("none")
SCALE: Final = 100
#: Stands for code, paths, addresses and options, whose words are their own; digits become "0".
_CODE_MARK: Final = "¤"
_CODE: Final = Lazy(
    r"`[^`\n]+`|(?<!\w)--?[a-z][\w-]*|\b\w+(?:[._/@\\-]\w+)*(?:[._/@\\]\w+|\(\))|\b[a-z]+[A-Z]\w*", re.ASCII
)
_TOKEN: Final = Lazy(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[^\w\s]")
#: Scripts without spaces between words.
_DENSE: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_FIRST: Final = 3
_LENGTHS: Final = (4, 7, 11, 16, 25)


class Judgement(NamedTuple):
    """``label`` is the likeliest kind, ``share`` its probability, ``lasting`` that of any kind, ``asks`` that of a
    request for now."""

    label: str
    share: float
    lasting: float
    asks: float


@lru_cache(1_000)  # several fields ask for the same sentences
def judge(sentence: str) -> Judgement:
    """The judgement about ``sentence``, whose time grows with its length."""
    table = _weights()
    rows = (table[feature].split("\t") for feature in features(sentence) if feature in table)
    *sums, asks = (sum(map(int, column)) / SCALE for column in zip(*rows, strict=True))
    most = max(sums)
    shares = [math.exp(one - most) for one in sums]
    whole = sum(shares)
    best = max(range(_NONE), key=shares.__getitem__)
    return Judgement(LABELS[best], shares[best] / whole, 1 - shares[_NONE] / whole, 1 / (1 + math.exp(-asks)))


def features(sentence: str) -> set[str]:
    """Words, pairs of them, the first ones, ends of words, and the length. Of Chinese, Japanese and Korean, groups of
    one to three characters."""
    found = {"*"}  # of every sentence
    tokens: list[str] = []
    for number, match in enumerate(_TOKEN.finditer(_CODE.sub(_CODE_MARK, sentence))):
        token = match[0]
        if number and token[0].isupper():
            found.add("Name" if token[1:].islower() else "NAME")
        tokens.append("0" if token.isdigit() else token.lower().replace("’", "'"))
    padded = ["^", *tokens, "$"]
    found.update(tokens)
    found.update(f"{one} {two}" for one, two in pairwise(padded))
    found.update(f"<{token}" for token in tokens[:_FIRST])
    for token in tokens:
        found.update(_groups(token) if _DENSE.match(token) else {f"-{token[-3:]}"} if len(token) > 4 else ())
    return found | {f"#{sum(len(tokens) >= one for one in _LENGTHS)}"}


def _groups(token: str) -> Iterator[str]:
    for length in (1, 2, 3):
        yield from (token[at : at + length] for at in range(len(token) - length + 1))
    yield f"-{token[-2:]}"


@cache
def _weights() -> dict[str, str]:
    """Of each feature the rest of its line, because few are needed."""
    with open(os.path.join(os.path.dirname(__file__), "lasting.tsv"), encoding="utf-8") as file:
        return dict(line.split("\t", 1) for line in file)
