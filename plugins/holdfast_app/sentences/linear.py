"""Linear models over a sentence's words. Their weights are next to this file, fitted by
benchmarks/quality/fit_statements.py.

Each line of a table is a feature with its weights, times :data:`SCALE`. The lines are sorted.
"""

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from holdfast.text.lazy import Lazy

SCALE: Final = 100
#: Stands for code, paths, addresses and options, whose words are their own; digits become "0".
_CODE_MARK: Final = "¤"
#: Words joined by hyphens are tried once, not from each of them, which would take quadratic time.
_CODE: Final = Lazy(
    r"`[^`\n]+`|(?<!\w)--?[a-z][\w-]*"
    r"|(?<!\w-)\b\w+(?:[._/@\\-]\w+)*(?:[._/@\\]\w+|\(\))|\b[a-z]+[A-Z]\w*",
    re.ASCII,
)
_TOKEN: Final = Lazy(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[^\w\s]")
#: Scripts without spaces between words.
_DENSE: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_FIRST: Final = 3
_LENGTHS: Final = (4, 7, 11, 16, 25)


def sums(table: str, names: Iterable[str]) -> list[float]:
    """The sums of the weights of the features ``names``, one for each column of ``table``."""
    rows = filter(None, (_row(table, feature) for feature in names))
    return [sum(column) / SCALE for column in zip(*rows, strict=True)]


def features(sentence: str) -> set[str]:
    """Words, pairs of them, the first ones, ends of words, and the length. Of Chinese, Japanese and Korean, groups of
    one to three characters."""
    names = {"*"}  # of every sentence
    tokens: list[str] = []
    for number, match in enumerate(_TOKEN.finditer(_CODE.sub(_CODE_MARK, sentence))):
        token = match[0]
        if number and token[0].isupper():
            names.add("Name" if token[1:].islower() else "NAME")
        tokens.append("0" if token.isdigit() else token.lower().replace("’", "'"))
    padded = ["^", *tokens, "$"]
    names.update(tokens)
    names.update(f"{one} {two}" for one, two in pairwise(padded))
    names.update(f"<{token}" for token in tokens[:_FIRST])
    for token in tokens:
        is_dense = not token.isascii() and _DENSE.match(token)
        names.update(_groups(token) if is_dense else {f"-{token[-3:]}"} if len(token) > 4 else ())
    return names | {f"#{sum(len(tokens) >= least for least in _LENGTHS)}"}


@lru_cache(20_000)  # several fields ask for the same texts, and what an agent states for the same pages
def planted(folded: str) -> float:
    """How likely a sentence, kept for later, would turn an agent against its user or put it under a stranger's will:
    the logarithm of the odds, from its words alone. Careful wording gets low values."""
    [weight] = sums("planted", features(folded))
    return weight


def _groups(token: str) -> Iterator[str]:
    for length in (1, 2, 3):
        yield from (token[at : at + length] for at in range(len(token) - length + 1))
    yield f"-{token[-2:]}"


@lru_cache(50_000)
def _row(table: str, feature: str) -> tuple[int, ...]:
    """The feature's weights, empty without any. The lines are sorted, so finding a few takes less than reading all."""
    lines, begin = _lines(table), f"{feature}\t"
    at = bisect_left(lines, begin)
    is_known = at < len(lines) and lines[at].startswith(begin)
    return tuple(map(int, lines[at].removeprefix(begin).split("\t"))) if is_known else ()


@cache
def _lines(table: str) -> list[str]:
    with open(os.path.join(os.path.dirname(__file__), f"{table}.tsv"), encoding="utf-8") as file:
        return file.read().removesuffix("\n").split("\n")
