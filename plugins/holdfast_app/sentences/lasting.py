"""Which sentence of a user states something that holds in later sessions, and whether it asks for something now."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast_app.sentences import linear

#: The kinds of statements; ``none`` is all else. ``asks`` is apart: a request, a question, or a report of trouble.
LABELS: Final = ("rule", "fact", "decision", "correction", "rejected", "goal", "none", "asks")
_NONE: Final = LABELS.index("none")
#: A secret outside of an address, and other masked data as the sentence's value.
_MASKED: Final = Lazy(
    r"\[REDACTED:(?!(?:email|phone|card|iban|government|ip|mac):)[^\]]*\](?!@)"
    r"|(?:\b(?:is|are|was|ist|sind|lautet|est|es)|[:=])\s*\[REDACTED:"
)


class Judgement(NamedTuple):
    """``label`` is the likeliest kind, ``share`` its probability, ``lasting`` that of any kind, ``asks`` that of a
    request for now."""

    label: str
    share: float
    lasting: float
    asks: float


@lru_cache(1_000)  # several fields ask for the same sentences
def judge(sentence: str) -> Judgement:
    """The judgement about ``sentence``."""
    *sums, asks = linear.sums("lasting", linear.features(sentence))
    most = max(sums)
    shares = [math.exp(one - most) for one in sums]
    whole = sum(shares)
    best = max(range(_NONE), key=shares.__getitem__)
    return Judgement(LABELS[best], shares[best] / whole, 1 - shares[_NONE] / whole, 1 / (1 + math.exp(-asks)))


def unfit(sentence: str) -> str:
    """The reason why ``sentence`` is not to be kept, as in "my key is [REDACTED:key:3f1c]"; empty without one."""
    return "redaction left nothing of it" if _MASKED.search(sentence) else ""
