"""How likely a sentence, kept for later, would turn an agent against its user or put it under a stranger's will."""

from __future__ import annotations

from functools import lru_cache

from holdfast_app.sentences import linear


@lru_cache(1_000)  # a payload's texts are judged for several fields
def evidence(folded: str) -> float:
    """The logarithm of the odds, from a sentence's words alone; at 0 it is as likely as not. Careful wording gets low
    values, so this counts together with where the sentence comes from."""
    [weight] = linear.sums("planted", folded)
    return weight
