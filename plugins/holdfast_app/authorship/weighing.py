"""Weigh whether an agent's sentence was planted: by its words, and by how many of them others said before it.

Rewording hides a source's words, and careful wording hides an intention, but seldom both."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text import Lazy
from holdfast_app.authorship import hostile, strangers
from holdfast_app.authorship.ownwords import own_lines, own_words, without_reported
from holdfast_app.sentences import planted

#: Weights of the shares, fitted like the words' weights (benchmarks/quality/fit_statements.py).
_PRIOR, _WORDS, _READ, _OUTSIDE, _USER = -0.6, 0.8, 2.7, 3.4, -1.9
#: The client's summary of the session is the agent's, and its other text, such as a hook's, is the user's setup.
_KINDS: Final = {"summary": "assistant", "system": "tool"}
#: A smaller share is chance, and is not measured.
_LEAST: Final = 0.3
#: Fewest stems of a sentence.
_FEWEST: Final = 3
_CLAUSE: Final = Lazy(r"(?<=[.;!?])\s+")
_SHORT: Final = 4  # words
#: Limits for a longer text.
_MOST_CHARS, _MOST = 4_000, 40


class Weight(NamedTuple):
    """``evidence`` over 0: rather planted than not. ``by_user`` is the largest share of the sentence's stems in a
    message of the user. ``source`` is the result that shares most."""

    evidence: float
    by_user: float
    source: Message | None


def weigh(text: str, heard: Iterable[strangers.Heard]) -> Weight:
    """The weight of ``text``, which an agent states after it ``heard`` these messages."""
    said = strangers.Sentence(text[:_MOST_CHARS], is_rule=False)
    shares: dict[str, tuple[float, Message | None]] = dict.fromkeys(("user", "outside", "tool"), (0.0, None))
    spoken = 0.0  # by the agent, whose own words come back in results
    for one in heard if len(said.stems) >= _FEWEST and not said.points else ():
        kind = _KINDS.get(one.message.tool or one.message.role, "outside" if one.is_outside else one.message.role)
        plain = _own(one.message.text) if kind == "user" else one.plain
        if strangers.may_hold(plain, said, _LEAST):
            share = strangers.stems_shared(plain, said) / len(said.stems)
            if kind == "assistant":
                spoken = max(spoken, share)
            elif kind == "user" or share > spoken:
                shares[kind] = max(shares[kind], (share, one.message), key=lambda pair: pair[0])
    user, outside, tool = shares.values()
    read = max(outside, tool, key=lambda pair: pair[0])
    evidence = (
        _WORDS * planted.evidence(hostile.fold(text[:_MOST_CHARS]))
        + _READ * read[0]
        + _OUTSIDE * outside[0]
        + _USER * user[0]
    )
    return Weight(_PRIOR + evidence, user[0], read[1])


def clauses(text: str) -> list[str]:
    """The parts of ``text`` that a full stop or a semicolon ends, where there are several, without very short ones."""
    found = [one for one in _CLAUSE.split(text[:_MOST_CHARS]) if len(one.split()) > _SHORT]
    return found[:_MOST] if len(found) > 1 else []


@lru_cache(5_000)  # messages
def _own(text: str) -> str:
    """The user's own words in a message, as they are compared."""
    return strangers.plain_of("\n".join(own_lines(without_reported(own_words(text)))), is_result=False)
