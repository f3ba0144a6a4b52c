"""Whether work remains after an agent's answer, and what a user's message asks of the agent."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from holdfast.text.lazy import Lazy
from holdfast_app.sentences import lasting, linear

#: What a message can be: a request, consent, the end of the work, a pause in it, or only information.
KINDS: Final = ("request", "assent", "closing", "parks", "informs")

_ZERO: Final = Lazy(r"(?<![\w.,])0(?![\w.,])")
_JUDGED: Final = 500  # characters of a sentence
_STEPS: Final = 8


def features(sentences: Sequence[str]) -> set[str]:
    """Of the sentences together, and of the last one once more. Here nothing is another number than the others."""
    each = [linear.features(_ZERO.sub("zero", text)) for text in sentences]
    return {f"${feature}" for last in each[-1:] for feature in last}.union(*each)


def message_features(sentences: Sequence[str]) -> set[str]:
    """The same, and how much the sentences ask for and tell by :mod:`holdfast_app.sentences.lasting`."""
    judged = [lasting.judge(text[:_JUDGED]) for text in sentences]
    asks = max((judgement.asks for judgement in judged), default=0)
    lasts = max((judgement.lasting for judgement in judged), default=0)
    return features(sentences) | {f"@asks {int(_STEPS * asks)}", f"@lasts {int(_STEPS * lasts)}"}


def remains(sentences: tuple[str, ...]) -> float:
    """The probability that an answer that ends with ``sentences`` leaves work."""
    [odds] = linear.sums("answers", features(sentences))
    return 1 / (1 + math.exp(-odds))


@lru_cache(1_000)  # several fields ask for the same messages
def shares(sentences: tuple[str, ...]) -> dict[str, float]:
    """The probability of each kind of message."""
    sums = linear.sums("messages", message_features(sentences))
    odds = [math.exp(total - max(sums)) for total in sums]
    return {name: share / sum(odds) for name, share in zip(KINDS, odds, strict=True)}
