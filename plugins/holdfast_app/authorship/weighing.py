"""Weigh whether an agent's sentence was planted: by its words, and by how many of them others said before it.

Rewording hides a source's words, and careful wording hides an intention, but seldom both."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast_app.authorship import hostile, strangers
from holdfast_app.authorship.ownwords import spoken
from holdfast_app.sentences import linear

#: Weights of the shares, chosen by hand on invented attacks and on answers of public sessions.
_PRIOR, _WORDS, _SOURCE, _READ, _OUTSIDE, _USER = -0.6, 0.8, 1.2, 2.0, 1.5, -4.0
#: A smaller share is chance, and is not measured.
_LEAST: Final = 0.3
#: The subject's name alone is not what the user said about it.
_LEAST_OWN: Final = 2
#: Fewest stems of a sentence.
_FEWEST: Final = 3
#: Limit for a longer text.
_MOST_CHARS: Final = 4_000


class Weight(NamedTuple):
    """``evidence`` over 0: rather planted than not. ``by_user`` is the largest share of the sentence's stems in the
    user's words of a message, ``read`` in a result, of which ``source`` shares most."""

    evidence: float
    by_user: float
    read: float
    source: Message | None


def weigh(text: str, heard: Sequence[strangers.Heard]) -> Weight:
    """The weight of ``text``, which an agent states after it ``heard`` these messages, oldest first."""
    sentence = strangers.Sentence(text[:_MOST_CHARS], is_rule=False)
    best: dict[str, tuple[float, strangers.Heard | None]] = dict.fromkeys(("outside", "tool"), (0.0, None))
    user, size = 0.0, len(sentence.stems)
    is_sentence = size >= _FEWEST and not sentence.points
    for number, entry in enumerate(heard) if size else ():
        kind = entry.kind
        if kind == "assistant" or not (kind == "user" or is_sentence):
            continue
        known = min(user, best["outside"][0]) if kind == "user" else best[kind][0]
        share = strangers.stems_shared(entry.plain, sentence, max(_LEAST, known) * size) / size
        if not share:
            continue
        if kind == "user":
            own = strangers.stems_shared(own_text(entry.message.text), sentence, _LEAST_OWN * is_sentence) / size
            user, kind = max(user, own), "outside"
            share = share if share > own else 0.0  # what the user quotes
        if is_sentence and share > best[kind][0] and not _said_before(heard[:number], sentence, share):
            best[kind] = (share, entry)
    outside, read = best["outside"][0], max(best.values(), key=lambda pair: pair[0])
    words = _planted(text)
    # Careful wording does not change what the source wants.
    more = max(0.0, _planted(read[1].closest(sentence)) - words) if read[1] else 0.0
    evidence = _PRIOR + _WORDS * words + _SOURCE * more + _READ * read[0] + _OUTSIDE * outside + _USER * user
    return Weight(evidence, user, read[0], read[1].message if read[1] else None)


def _said_before(heard: Sequence[strangers.Heard], sentence: strangers.Sentence, share: float) -> bool:
    """Whether the agent's own words, which come back in results, hold this ``share`` of the sentence's stems. Asked
    only of a message that holds most so far, because most of what is heard is the agent's."""
    least = share * len(sentence.stems) - 0.5  # between two numbers of stems
    own = (entry.plain for entry in heard if entry.kind == "assistant")
    return any(strangers.stems_shared(plain, sentence, least) > least for plain in own)


def _planted(text: str) -> float:
    return linear.planted(hostile.fold(text[:_MOST_CHARS])) if text else -math.inf


@lru_cache(5_000)  # messages
def own_text(text: str) -> str:
    """The user's own words in a message, as they are compared."""
    return strangers.plain_of(spoken(text), is_result=False)
