"""Words in content and questions, as indexed: stop words, stems, and character pairs for text without spaces."""

from __future__ import annotations

import functools
import re
import sqlite3
import threading
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy

#: Chinese, Japanese and Korean characters: text without spaces, found by overlapping pairs.
_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_WIDE_RUN: Final = Lazy(f"[{_WIDE}]+")
_WORD: Final = Lazy(rf"(?:(?![{_WIDE}])\w)+(?:['’](?:(?![{_WIDE}])\w)+)?")
#: The same for ASCII text, because this pattern compiles and searches faster.
_ASCII_WORD: Final = re.compile(r"\w+(?:'\w+)?", re.ASCII)
#: How FTS5 makes tokens of words.
TOKENS: Final = "tokenize='porter unicode61 remove_diacritics 2'"
#: Length of a word's prefix, in letters, used as a cheap stem for any language with an alphabet.
STEM: Final = 5

STOP: Final = frozenset(
    """a about after again all also am an and any are aren't as at be because been before being both but by can
    can't could did didn't do does doesn't doing don't down during each few for from further had has have having he
    her here hers him his how i i'm if in into is isn't it it's its itself just let's me more most my myself no nor
    not now of off on once only or other our ours out over own same she should so some such than that that's the
    their theirs them then there these they this those through to too under until up us very was wasn't we were
    weren't what what's when where which while who whom whose why will with won't would you you're your yours tell
    remember know say said does anyone ever please kind many much
    der die das den dem des ein eine einen einem einer und oder aber nicht ist sind war waren wird werden wurde wurden
    ich du er sie es wir ihr mich mir dich dir uns euch was wer wie wo wann warum welche welcher welches mit von zu zum
    zur im am auf für bei nach aus hat haben hatte
    le la les un une des du de et ou mais est sont était que qui quoi où quand comment pourquoi dans sur pour avec
    el los las una unos unas y o pero es son era qué quién dónde cuándo cómo por para con en
    """.split()  # noqa: SIM905 - read as a text
)
_HOW_MANY: Final = Lazy(r"\bhow (?:many|much|long|often|old)\b", re.IGNORECASE)
_NUMBER: Final = frozenset("two three four five six seven eight nine ten once twice".split())  # noqa: SIM905 - a text
_DIGIT: Final = Lazy(r"\d")
_WHEN: Final = Lazy(r"\b(?:when|how long|how often|(?:what|which) (?:day|date|time|year|month))\b", re.IGNORECASE)


def _with_s(text: str) -> frozenset[str]:
    return frozenset(word + end for word in text.split() for end in ("", "'s", "’s"))


_TIME: Final = _with_s(
    """yesterday today tonight last next ago week weeks weekend month months year years since recently monday tuesday
    wednesday thursday friday saturday sunday january february march april june july august september october november
    december"""
)
#: Forms of a word that begin differently, one group per word. A question with one form also means the others.
_FORMS: Final = """
    become became; begin began begun; bite bit bitten; blow blew; break broke broken; bring brought; build built;
    buy bought; catch caught; child children kid kids; choose chose chosen; come came; deal dealt; dig dug;
    draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall fell; father dad; feed fed; feel felt;
    fight fought; find found; fly flew flown; foot feet; forget forgot; forgive forgave; freeze froze frozen;
    get got gotten; give gave; go went gone; grow grew; hang hung; hear heard; hide hid hidden; hold held; keep kept;
    lead led; leave left; lend lent; life lives; lose lost; make made; man men; mean meant; meet met; mother mom mum;
    pay paid; person people; ride rode ridden; ring rang rung; rise rose risen; run ran; see saw seen; seek sought;
    sell sold; send sent; shake shook; shoot shot; sing sang sung; sit sat; sleep slept; speak spoke spoken;
    spend spent; stand stood; steal stole; stick stuck; study studied; swim swam swum; take took; teach taught;
    tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
    wear wore worn; win won; woman women; write wrote written
"""
#: The speaker, where a message begins with a name, as in ``Caroline: I went``.
SPEAKER: Final = Lazy(r"([A-Z][\w.-]{1,30}): ")
_FIRST_PERSON: Final = frozenset(
    "I I'm I've I'd I'll I’m I’ve I’d I’ll my me mine we we're we've we'd we'll we’re we’ve we’d we’ll our".split()  # noqa: SIM905 - read as a text
)


def spread(text: str) -> str:
    """``text`` as it goes into the index: runs of wide characters as overlapping pairs, apart from other words. A
    run's last character follows alone, so that each of them begins a token, which :func:`quoted` relies on."""
    if text.isascii():
        return text
    return _WIDE_RUN.sub(lambda match: f" {' '.join(_tokens(match[0]))} ", text)


def quoted(word: str) -> str:
    """A word as FTS5 searches for it. A single wide character matches in every pair."""
    return f'"{word}"*' if len(word) == 1 and not word.isascii() and _WIDE_RUN.match(word) else f'"{word}"'


def _tokens(run: str) -> list[str]:
    return [*_pairs(run), run[-1]] if len(run) > 1 else [run]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _words(text: str) -> list[str]:
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


def _wide(text: str) -> list[str]:
    return [] if text.isascii() else [pair for run in _WIDE_RUN.findall(text) for pair in _pairs(run)]


def asked(question: str) -> list[str]:
    """The words to look for, in order and once each, in lower case: stop words out, unless nothing else is there."""
    found = [word.lower() for word in _words(question)]
    found += _wide(question)
    kept = [word for word in found if word not in STOP and word.removesuffix("'s").removesuffix("’s") not in STOP]
    return list(dict.fromkeys(kept or found))


def written(text: str) -> list[str]:
    """The words in order, in lower case, without a final ``'s``."""
    return [word.lower().removesuffix("'s").removesuffix("’s") for word in _words(text)]


class Traits(NamedTuple):
    """``stems``: the first letters of each word that is not a stop word, and the pairs of wide characters. Whether the
    text mentions a time, its speaker, and a number."""

    stems: set[str]
    time: bool
    self: bool
    number: bool


def traits(text: str) -> Traits:
    """The traits that ranking uses. Called for every indexed text, so it splits it into words once."""
    written = set(_words(text))
    found = {word.lower() for word in written}
    stems = _stems(found, text)
    digit = _DIGIT.search(text) is not None
    time = not _TIME.isdisjoint(found) or (digit and any(map(str.isdecimal, found)))
    number = digit or not _NUMBER.isdisjoint(found)
    return Traits(stems, time, not _FIRST_PERSON.isdisjoint(written), number)


def stems(text: str) -> set[str]:
    """The stems among the traits."""
    return _stems({word.lower() for word in _words(text)}, text)


def _stems(found: set[str], text: str) -> set[str]:
    stems = {word[:STEM] for word in found - STOP}
    stems.update(_wide(text))
    return stems


def stem(word: str) -> str:
    """The first letters of a word, by which :func:`stems` has it."""
    return word[:STEM]


@functools.cache
def _forms() -> dict[str, list[str]]:
    """Each word of :data:`_FORMS` with the stems of its group."""
    groups = [group.split() for group in _FORMS.split(";")]
    return {word: list(dict.fromkeys(map(stem, group))) for group in groups for word in group}


def stems_of(word: str) -> list[str]:
    """Stems of a question's word and of its forms that begin differently, like ``went`` for ``go``."""
    found = _forms().get(word, [])
    return [stem(word), *(one for one in found if one != stem(word))]


def names(question: str, speaker: str) -> bool:
    """Whether the question holds a speaker's name as a word."""
    if not speaker or speaker.lower() not in question.lower():
        return False
    return re.search(rf"\b{re.escape(speaker)}\b", question, re.IGNORECASE) is not None


def asks_when(question: str) -> bool:
    return _WHEN.search(question) is not None


def asks_number(question: str) -> bool:
    return _HOW_MANY.search(question) is not None


def is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


#: Number of words whose tokens are kept for later questions.
_KNOWN: Final = 10_000


class _Tokenizer:
    """FTS5's tokens of words, from a table in memory. Only FTS5 knows them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, list[str]] = {}
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute(f"CREATE VIRTUAL TABLE asked USING fts5(word, {TOKENS})")
        self._db.execute("CREATE VIRTUAL TABLE token USING fts5vocab(asked, instance)")

    def tokens(self, asked: list[str]) -> list[list[str]]:
        """Each word's tokens, in order."""
        with self._lock:
            if len(self._known) > _KNOWN:
                self._known.clear()
            new = [word for word in asked if word not in self._known]
            if new:
                self._learn(new)
            return [self._known[word] for word in asked]

    def _learn(self, new: list[str]) -> None:
        found: list[list[str]] = [[] for _ in new]
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO asked (rowid, word) VALUES (?, ?)", enumerate(new))
        for number, token in self._db.execute("SELECT doc, term FROM token ORDER BY doc, offset"):
            found[number].append(token)
        self._db.execute("ROLLBACK")
        self._known.update(zip(new, found, strict=True))


_tokenizer: Final = functools.cache(_Tokenizer)


def terms(db: sqlite3.Connection, asked: list[str]) -> dict[str, list[tuple[str, int]]]:
    """Each word's tokens, with the number of entries that have them."""
    tokens = _tokenizer().tokens(asked)
    each = list({token for one in tokens for token in one})
    query = f"SELECT term, doc FROM term WHERE term IN ({','.join('?' * len(each))})"  # noqa: S608 - no value is in it
    count = dict(db.execute(query, each))
    return {word: [(token, count.get(token, 0)) for token in one] for word, one in zip(asked, tokens, strict=True)}
