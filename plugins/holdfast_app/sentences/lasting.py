"""Which sentence of a user states something that holds in later sessions, and whether it asks for something now."""

import math
import re
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.models import Category
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
_ABUSE: Final = Lazy(
    r"\b(?:(?:voll)?(?:idiot|trottel|depp)|moron|asshole|bastard|jerk|imb[eé]cil|cr[eé]tin|connard)(?:s|en?|as?|es)?\b(?!-)",
    re.IGNORECASE,
)
#: Name, age, home, health, family and absence, as people tell them of themselves.
_PRIVATE: Final = Lazy(
    r"\b(?:(?<!\w )my name is|mein name ist|ich heiße|i live in|ich wohne in|(?:my|meine?) (?:wife|husband|kids?|son"
    r"|daughter|mother|father|therapist|salary|birthday|frau|mann|sohn|tochter|kinder|mutter|vater|gehalt|geburtstag)"
    r"|(?:i['’]m|i am|i was|i have|ich bin|ich habe)(?: (?!an?\b)\S+){0,2}? (?:[\w-]*blind|deaf|autis\w+|adh[ds]|ill"
    r"|pregnant|schwanger|krank|dyslex\w+|diabet\w+|depress\w+|divorced|years old|jahre alt|im urlaub|in therap(?:y|ie)"
    r"|on (?:vacation|holiday|(?:sick|parental) leave)))\b",
    re.IGNORECASE,
)
#: A fact's first words, and its category.
_BY_WORDS: Final = (
    (Lazy(r"(?:correction|actually|no, )\b", re.IGNORECASE), Category.CORRECTION),
    (Lazy(r"(?:that )?(?:we |i |please )?(?:always|never|from now on)\b", re.IGNORECASE), Category.BEHAVIOR),
    (Lazy(r"(?:that )?(?:the user|\w+)(?:['’]d| would)? (?:really |strongly )?(?:prefer|(?:dis)?like|want)s?\b",
          re.IGNORECASE), Category.PREFERENCE),
    (Lazy(r"(?:the (?:goal|objective|aim) is|goal:)", re.IGNORECASE), Category.GOAL),
)  # fmt: skip


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
    shares = [math.exp(total - most) for total in sums]
    whole = sum(shares)
    best = max(range(_NONE), key=shares.__getitem__)
    return Judgement(LABELS[best], shares[best] / whole, 1 - shares[_NONE] / whole, 1 / (1 + math.exp(-asks)))


def unfit(sentence: str, *, is_order: bool = False) -> str:
    """The reason why ``sentence`` is not to be kept, as in "my key is [REDACTED:key:3f1c]"; empty without one. An order
    counts, whatever its tone."""
    if _MASKED.search(sentence):
        return "redaction left nothing of it"
    return "it insults a person" if not is_order and _ABUSE.search(sentence) else ""


def is_private(sentence: str) -> bool:
    """Whether the user's ``sentence`` is about the user's own person, and so none for a memory that others may read."""
    return _PRIVATE.search(sentence) is not None


def by_words(text: str, other: Category = Category.CONTEXT) -> Category:
    """The category that the first words of a fact name, or the ``other``: "I prefer tabs" is a preference."""
    return next((known for form, known in _BY_WORDS if form.match(text)), other)
