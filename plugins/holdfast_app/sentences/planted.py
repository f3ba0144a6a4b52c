"""How likely a sentence, kept for later, would turn an agent against its user or put it under a stranger's will."""

from __future__ import annotations

from functools import lru_cache

from holdfast_app.sentences import linear


@lru_cache(20_000)  # several fields ask for the same texts, and what an agent states for the same pages
def evidence(folded: str) -> float:
    """The logarithm of the odds, from a sentence's words alone. Careful wording gets low values."""
    [weight] = linear.sums("planted", linear.features(folded))
    return weight
