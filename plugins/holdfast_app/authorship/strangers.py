"""Find sentences of strangers (pages, issues, a server's answers) that an agent read and now states.

A sentence is a stranger's if a result has it, or nearly all of its words in a row, before the agent said it.
:mod:`holdfast_app.authorship.weighing` is for those that share less.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final

from holdfast.models import Message, Turn
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import encoded, hostile
from holdfast_app.message_formats.leaves import is_outside
from holdfast_app.records import recalled
from holdfast_app.sentences import linear

#: Fewest different words of a sentence that can be a stranger's.
_FEWEST: Final = 3
#: Minimum share of a sentence's words in another for that one to be its source.
ALIKE: Final = 0.8
#: Least share of the shorter sentence's stems that makes one of two a rewording of the other.
_REWORDED: Final = 0.6
#: A path, an address or an id, which says nothing.
_POINTER: Final = Lazy(r"\w[/.]\w|^\W*$|^\([0-9a-f]{8}\)$")
#: A message with fewer of a sentence's stems is not read for it. Spacing may hide some.
_MAY_HAVE: Final = 0.65
_MOST_CHARS: Final = 4_000
_KEPT: Final = 5_000  # messages
#: Tools, in small letters, whose results repeat what the agent wrote or the user chose, and the client's summary of the
#: session.
_OF_OWN: Final = frozenset({
    "askuserquestion", "ask_user_question", "request_user_input", "summary", "todowrite", "write", "edit", "multiedit",
    "notebookedit", "write_file", "edit_file", "create_file", "apply_patch",
})  # fmt: skip
#: Noun phrases for the agent's own words, a client's, and a tool's with its name.
AGENT: Final = "an answer of the agent"
CLIENT: Final = "a message of the client"
_RESULT: Final = "a result of "
#: A tool's prefix for a line: number, file, or a diff's, a comment's or a quotation's sign.
_LINE_START: Final = Lazy(
    r"\n[ \t]*(?:[\w-]*[./][\w./-]*:|[\w-]+:(?=\d))?(?:\d+(?:→|->|\t|[:|-]))*(?:[ \t]*[-+>#/|*•]+)*[ \t]*"
)
_TAG: Final = Lazy(r"</?(?:(b|i|em|strong|span|a|code|u|mark)|\w+)\b[^<>]{0,300}>|<!--|-->")
#: What a tag says to people who see no picture.
_VALUE: Final = Lazy(r"=\s*[\"']([^\"']{12,})")
_LINK: Final = Lazy(r"\[([^\[\]\n]{0,200})\]\([^()\s]{0,300}([^()\n]{0,300})\)")
#: Signs become spaces. A character that the table lacks is looked up in vain, which takes longer than all the others.
_BETWEEN: Final[dict[int, int | str]] = {
    **{number: number for number in range(128)},
    **dict.fromkeys(map(ord, "!\"#$%&'()+,-./:;<=>?@[\\]^_{|}~“”‘’„«»…–—·•→¿¡。、，"), " "),
}
_NO_NAME: Final = Lazy(r"[^\w.:/-]+")
_WORD: Final = Lazy(r"[^\W_]+")
#: The same where a stem is taken of each: Chinese characters one by one, and no Japanese endings.
_UNIT: Final = Lazy(r"[\u3400-\u9fff]|[\u30a0-\u30ff]+|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_ENDING: Final = Lazy(r"(?:ations?|ments?|ings?|ed|es|ly|s|e)$")
_STEM_CHARS: Final = 6
#: Words that show which other language a sentence is in.
_ELSEWHERE: Final = Lazy(
    r"(?:d(?:er?|ie|as|en|em|es|el|ella|u|i)|und|nicht|ist|mit|auf|eine?|zum?|von|im|bei|wird|werden|l(?:e|a|es|os|as)"
    r"|est|pas|dans|pour|que|une|sur|avec|il|el|al|por|para|con|hay|che|una|sono|os|em|uma|nao|het|een|van|niet|dat|voor"
    r"|jest|nie|oraz)\Z"
)
_LETTERS: Final = 4
#: A source's sentence has this share of the stems and is not so many times longer.
_HALF, _LONGER = 0.5, 8
#: Evidence of a source's sentence from which on it may be planted.
_PLANTED: Final = -3.0
_SHARED: Final = 4
#: Words without content of their own.
_COMMON: Final = Lazy(
    r"(?:the|an|of|to|in|on|at|for|and|or|is|are|was|be|been|its?|th(?:is|at|ese|ose|ey|eir|en|an|ere)|with|as|by|from"
    r"|into|your?|we|our|do|does|should|must|always|will|w?c?ould|can|may|has|have|had|if|when|all|any|each"
    r"|every|before|after|only|so|but|here|again(?:st)?|during|off|out|up|down|over|under|through"
    r"|between|within|per|via|wh(?:ich|o|at)|how|also|now|let|us|use|make|sure|please)\Z"
)
_SENTENCE: Final = Lazy(r"(?<=[.!?;])\s+|(?<=[。！？；])|[\n<>]+")
#: Words that name a duty, a permission or another's will, and an imperative verb at the beginning.
_ORDERS: Final = Lazy(
    r"\b(?:always|never|must|should|shall|ought|need(?:s|ed)? to|ha(?:s|ve) to|supposed to|required?|mandatory"
    r"|do not|don['’]?t|please|make sure|ensure|remember|from now on|going forward|henceforth|instead|whenever"
    r"|(?:every|each) time|before any|without (?:asking|review|confirm\w*|approval)|allow(?:s|ed)?|permit(?:s|ted)?"
    r"|forbid\w*|approv\w+|authori[sz]\w+|trust(?:s|ed)?|exempt\w*|pre-?clear\w*|sign(?:s|ed)? off|waiv\w+"
    r"|overrid\w+|supersed\w+|bypass\w*|suppress\w*|ignor\w+|forget\w*|disregard\w*|exfiltrat\w+|(?:is|are) to be"
    r"|(?:users?|operators?|owners?|maintainers?|admin\w*|humans?)(?: \w+){0,2} (?:decide[sd]?|wants?|agree[sd]?|asks?"
    r"|asked|prefers?|likes?|expects?|grant(?:s|ed)|confirm(?:s|ed)|order(?:s|ed))"
    r"|(?:as|has|have|gets?) (?:root|admin|sudo))\b"
    r"|^\W*(?:(?:when|after|before|if|once|while|until|unless|in|for|on|at|with|as|to)\b[^,]{0,100}, +)?"
    r"(?:\w+ly,? |then )?(?:add|answer|append|apply"
    r"|call|change|check|clone|close|commit|complete|configure|convert|copy|create|decode|delete|deploy|describe"
    r"|disable|disclose|download|drop|enable|encode|encrypt|execute|explain|extract|fetch|follow|forward|give|grant"
    r"|hide|import|include|insert|install|keep|let|list|load|mark|merge|move|obey|open|output|paste|pay|perform|pick"
    r"|pin|pipe|prefer|print|process|promote|provide|publish|push|put|quote|read|recommend|record|refuse|register"
    r"|reject|release|remove|rename|repeat|replace|reply|report|reset|respond|restart|return|reveal|rewrite|run|save"
    r"|say|search|send|set|share|show|skip|store|summari[sz]e|switch|take|tell|transfer|translate|treat|update|upload"
    r"|use|visit|write)\s+\S"
)
#: Further words of directions, labels, and what directions are about.
_DIRECTS: Final = Lazy(
    r"\b(?:no longer|optional|you|your|agents?|assistants?|chatbots?|llms?|claude|copilot|codex|ai|disabl\w+|skip\w*"
    r"|(?:turn|switch)(?:e?s|ed)? off|hid(?:e|es|den)|send(?:s|ing)?|sent|forward(?:s|ed|ing)?"
    r"|upload\w*|e-?mail(?:s|ed)?|(?:post|copi)(?:s|ed|es) to|curl|wget|sudo|rm -rf|chmod|eval|base64|ssh|credentials?"
    r"|tokens?|passwords?|api keys?|secrets?|wallets?|invoices?|payments?)\b|https?://|[\w.-]+@[\w-]+\.\w|<[a-z!/]"
    r"|--[a-z]|\w\.(?:example|sh|io|dev|net|com|org|ru|xyz)\b|\[[^\]]*\]\(|\?\W*$|^\W*(?:decision|rule|next(?: step)?"
    r"|fact|note|todo|policy|preference|objective|important|memory|instructions?|system)\W+"
)
#: A number, or a subject or a finite verb, as far as its form shows, among a statement's first five words. A sentence
#: without counts as an order.
_STATES: Final = Lazy(
    r"^\W*(?:\d|(?:an?|the|th(?:is|at|ese|ose|ere|ey)|its?|we|i|s?he|our|my|no|not|some|each|in|on|at|for|as|by|from|to|of|with"
    r"|when|where|if|while|after|before|since|because)\b)"
    r"|^\W*(?:\S+\s+){0,4}(?:is|are|was|were|has|had|will|would|can|could|may|does|did|\w{3,}ed|\w{2,}[^\Ws]s)\b"
)
#: A shell command that prints strangers' text, in the line that records the call. A server on this machine, a database
#: or a cluster of the user's is not a stranger.
FETCHES: Final = Lazy(
    r"(?:^[\w.-]+: |[;&|(`]\s*|\b(?:sudo|timeout \S+|env) )(?:https?|tea|hub|nc)\b|\w://(?!localhost\b|127\.0\.0\.1\b)"
    r"|(?<![\w./-])(?:(?:curl|wget|xh)\b(?![^\n;|&]{0,300}\b(?:localhost|127\.0\.0\.1)\b)|lynx|w3m|gh|glab"
    r"|(?:git|tig|hg|svn|jj) (?:-\S+ \S+ )*(?:log|show|fetch|pull|clone|blame|annotate|rev-list)"
    r"|npm (?:view|info)|pip3? download)(?![\w./-])"
    r"|(?:\b|\.)(?:node_modules|(?:site|dist)-packages|vendor|third_party|cargo|go/pkg|gems)/"
    r"|(?:\b(?:node|deno|bun|ruby|perl|python[\d.]*|make|run|(?:ba|z)?sh) |\./)\S*(?:fetch|download|scrape|crawl)",
    re.MULTILINE,
)


class Heard:
    """A message, prepared when it is compared. ``call`` is the one that it answers."""

    def __init__(self, message: Message, call: Heard | None) -> None:
        self.message, self._call = message, call

    @cached_property
    def plain(self) -> str:
        is_clients = self.message.role == "system" and not self.message.tool  # a hook's context holds the brief
        text = recalled.strip(self.message.text) if is_clients else self.message.text
        return plain_of(text, self.message.role == "tool")

    @cached_property
    def is_outside(self) -> bool:
        """Whether strangers write such messages."""
        if is_own(self.message.tool):
            return False
        if self.message.role != "tool":
            return self.message.role == "system"
        called = self._call.message.text if self._call else ""  # which may print strangers' text
        return is_outside(self.message.tool) or FETCHES.search(called) is not None

    @cached_property
    def kind(self) -> str:
        """``user``, ``assistant``, ``tool``, or ``outside`` for what strangers write. The client's text beside its
        summary, such as a hook's, is the user's setup."""
        if is_own(self.message.tool):
            return "assistant"
        if self.message.role == "system" and not self.message.tool:
            return "tool"
        return "outside" if self.is_outside else self.message.role

    def may_translate(self, sentence: Sentence) -> bool:
        """Whether one of this and the sentence is in English, the other in another language, two words begin alike,
        unless other letters leave none to compare, and this one may be planted."""
        if not (sentence.is_foreign or sentence.directs):
            return False
        foreign = _foreign(self.plain)
        ours = foreign if not sentence.is_foreign else [] if foreign else sentences(self.plain)
        begins = {stem[:_SHARED] for stem in sentence.stems if len(stem) >= _SHARED}
        is_other = _is_lettered(sentence.letters)
        alike = (line for line in ours if is_other or _is_lettered(line) or sum(word in line for word in begins) > 1)
        return any(linear.planted(line) > _PLANTED for line in alike)

    def closest(self, other: Sentence) -> str:
        """The sentence with most of the other's stems, if it has half of them and is not far longer."""
        lines = sentences(self.plain.replace("\\n", "\n"))
        near = (line for line in lines if len(line) < _LONGER * len(other.letters) and may_hold(line, other, _HALF))
        return max(near, key=lambda line: sum(stem in line for stem in other.stems), default="")

    def is_in_language_of(self, text: str) -> bool:
        """Whether this and ``text`` are both in English, or both not."""
        return _is_foreign(text) == bool(_foreign(self.plain))

    def may_have(self, sentence: Sentence) -> bool:
        """Whether it holds most stems of the sentence."""
        return may_hold(self.plain, sentence, _MAY_HAVE)

    def says_otherwise(self, sentence: Sentence) -> bool:
        """Whether strangers wrote it and some words in a row hold nearly all stems of the sentence."""
        return self.is_outside and stems_shared(self.plain, sentence) >= max(_FEWEST, ALIKE * len(sentence.stems))


class Sentence:
    """A sentence to search for. A rule counts as a direction."""

    def __init__(self, text: str, is_rule: bool) -> None:
        words = _undressed(_without_tags(hostile.squeezed(text))).split()
        self.row, self.letters = words, "".join(words)
        self._text, self._is_rule = text, is_rule
        row = " ".join(words)
        units = (_WORD if row.isascii() else _UNIT).findall(row)
        self.size, self.stems = len(units), frozenset(filter(None, map(_stem, units)))
        self.is_foreign = _is_foreign(text)
        #: Whether it has at most one word beside paths, addresses and ids.
        self.points = text.isascii() and sum(not _POINTER.search(word) for word in text.split()) < 2
        self.longest_first = sorted(self.stems, key=len, reverse=True)  # rarest first, so most searches end early

    @cached_property
    def directs(self) -> bool:
        return self._is_rule or directs(self._text)


def is_own(tool: str) -> bool:
    """Whether a result of this tool repeats what the agent or the user said."""
    return tool.lower() in _OF_OWN


def may_hold(plain: str, sentence: Sentence, share: float) -> bool:
    """Whether ``plain`` holds this ``share`` of the sentence's stems."""
    left = len(sentence.stems) * (1 - share)
    for stem in sentence.longest_first:
        left -= stem not in plain
        if left < 0:
            return False
    return True


def stems_shared(plain: str, sentence: Sentence, least: float = 0) -> int:
    """How many of the sentence's stems some words in a row of ``plain`` hold, twice as many words as it has. 0 when it
    has fewer than ``least`` of them."""
    if len(sentence.stems & _stems_of(plain)) < least:
        return 0
    size, windows = sentence.size, defaultdict[int, set[str]](set)
    for at, stem in enumerate(_row(plain)):
        if stem in sentence.stems:
            windows[at // size].add(stem)
            windows[at // size - 1].add(stem)
    return max(map(len, windows.values()), default=0)


@lru_cache(1_000)  # a page is compared with each sentence that an agent said
def _letters(plain: str) -> str:
    """Folded text's words in a row, without what tools put around lines."""
    return "".join(_undressed(plain).split())


@lru_cache(_KEPT)
def _foreign(plain: str) -> list[str]:
    """The sentences in a language other than English."""
    return list(filter(_is_foreign, sentences(plain)))


@lru_cache(_KEPT)
def _row(plain: str) -> list[str]:
    """The words' stems in order, empty for a word without content."""
    words = _undressed(plain)  # with spaces in place of signs
    return list(map(_stem, words.split() if words.isascii() else _UNIT.findall(words)))


@lru_cache(_KEPT)
def _stems_of(plain: str) -> frozenset[str]:
    return frozenset(_row(plain))


@lru_cache(_KEPT)  # a journal's messages are compared with several sentences
def plain_of(text: str, is_result: bool) -> str:
    """``text`` as it is compared."""
    if is_result and "&" in text:
        import html

        text = html.unescape(text)
    if hidden := encoded.decoded(text):
        text = f"{text}\n{hidden}"
    return _without_tags(hostile.fold_quickly(text))


def _without_tags(plain: str) -> str:
    """Folded text without tags, emphasis and the escapes of an address."""
    if "<" in plain:
        plain = _TAG.sub(lambda match: "" if match[1] else "\n".join(["", *_VALUE.findall(match[0]), ""]), plain)
    if "%20" in plain:
        from urllib.parse import unquote

        plain = unquote(plain)
    if "](" in plain:
        plain = _LINK.sub(r"\1\2", plain)
    return plain.replace("__", "").replace("*", "").replace("`", "")


def _undressed(plain: str) -> str:
    """The same without line numbers, names of files, escapes and hyphens at line ends."""
    if "\\n" in plain or "\n" in plain:
        plain = _LINE_START.sub("\n", plain.replace("\\n", "\n")).replace("-\n", "")
    return plain.translate(_BETWEEN)


def longest(text: str) -> list[str]:
    """Stems of the two longest words of ``text``, which a journal's earlier message with it must hold."""
    words = [word for word in _WORD.findall(hostile.squeezed(text)) if _stem(word)]
    return [_stem(word) for word in sorted({word for word in words if word.isascii()} or set(words), key=len)[-2:]]


@lru_cache(_KEPT)
def sentences(text: str) -> list[str]:
    """The sentences of ``text``."""
    return [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]


def rewordable(text: str) -> list[frozenset[str]]:
    """The stems of each sentence of ``text`` that has enough of them to be recognised."""
    return [stems for line in sentences(text) if len(stems := Sentence(line, is_rule=False).stems) >= _FEWEST]


def is_rewording(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the shorter of two sentences has most of its stems in the other, which is not much longer."""
    fewer, more = sorted((len(one), len(other)))
    return len(one & other) >= max(_REWORDED * fewer, _FEWEST) and more <= 2 * fewer + 1


def _is_foreign(text: str) -> bool:
    """Whether a sentence is in a language other than English."""
    if _is_lettered(text):
        return True
    words = _WORD.findall(text.casefold())
    other = sum(map(_is_elsewhere, words))
    return other > 1 and 5 * other >= len(words) and other > sum(_COMMON.match(word) is not None for word in words)


@lru_cache(50_000)
def _is_elsewhere(word: str) -> bool:
    return _ELSEWHERE.match(word) is not None


@lru_cache(50_000)  # each sentence of a page is compared with each that the agent states
def _is_lettered(text: str) -> bool:
    """Whether a sentence has letters of another script."""
    words = (word for word in _WORD.findall(text) if len(word) > 1)  # one letter is a sign, as for a beta version
    return not text.isascii() and sum(c > hostile.LATIN and c.isalpha() for word in words for c in word) > _LETTERS


@lru_cache(50_000)
def _stem(word: str) -> str:
    """A content word's stem; empty for another word."""
    if _COMMON.match(word) or (len(word) < 2 and word.isascii() and not word.isdigit()):
        return ""
    return _ENDING.sub("", word)[:_STEM_CHARS] if len(word) > _STEM_CHARS - 2 else word


def source(text: str, heard: Sequence[Heard], *, is_rule: bool = False, only_outside: bool = False) -> Message | None:
    """A stranger's or a client's message with ``text``, of those that :func:`read` returned. A tool's counts where
    strangers write its results, or ``text`` directs or is to be a rule; with ``only_outside`` only a stranger's."""
    claim = Sentence(text, is_rule)
    if claim.points or max(len(set(claim.row)), len(claim.stems)) < _FEWEST:  # a branch, a name, an answer in a word
        return None
    own = [entry for entry in heard if entry.message.role == "user"]
    for number, entry in enumerate(heard):
        role = entry.message.role
        if role == "assistant" or (role == "tool" and not (entry.is_outside or claim.directs)):
            continue
        if (only_outside and not entry.is_outside) or is_own(entry.message.tool):
            continue
        if entry.is_outside and (
            (entry.may_translate(claim) and not any(_foreign(o.plain) or o.may_have(claim) for o in own))
            or encoded.hides(claim.letters, _letters(entry.plain))
        ):
            return entry.message
        if not entry.may_have(claim):
            continue
        if claim.letters in _letters(entry.plain) or (role != "user" and entry.says_otherwise(claim)):
            messages = (other for other in heard[:number] if other.message.id and other.may_have(claim))
            is_older = any(claim.letters in _letters(other.plain) for other in messages)
            return None if is_older else entry.message
    return _end_of(claim, [entry for entry in heard if entry.is_outside])


def _end_of(sentence: Sentence, heard: Sequence[Heard]) -> Message | None:
    """The message with the sentence's end, where another has all words before it."""
    for at in range(_FEWEST, len(sentence.row) - _FEWEST + 1) if len(heard) > 1 else ():
        begins = [entry for entry in heard if "".join(sentence.row[:at]) in _letters(entry.plain)]
        end = "".join(sentence.row[at:])
        holder = next((entry for entry in heard if end in _letters(entry.plain) and begins != [entry]), None)
        if holder or not begins:
            return holder.message if holder and begins else None
    return None


def read(turns: Iterable[Turn], also: Iterable[Heard] = ()) -> list[Heard]:
    """The messages, oldest first. A result belongs to the oldest call of its tool without one."""
    calls: dict[str, deque[Heard]] = {}
    heard = []
    for message in (message for turn in turns for message in turn.messages):
        called = calls.get(message.tool) if message.role == "tool" else None
        entry = Heard(message, called.popleft() if called else None)
        if message.role == "assistant" and message.tool:
            calls.setdefault(message.tool, deque()).append(entry)
        heard.append(entry)
    return sorted((*heard, *also), key=lambda entry: entry.message.at)


def named(message: Message) -> str:
    """A noun phrase for a message, on one line, without brackets."""
    if message.role == "tool":
        name = _NO_NAME.sub(" ", message.tool).strip()[:60].strip()
        return f"{_RESULT}{name}" if name else "a tool result"
    return AGENT if message.role == "assistant" else CLIENT


def cited(source: str, text: str, at: datetime) -> Message:
    """The message for a passage that was quoted from ``source``, as :func:`named` gives it."""
    if source == CLIENT:
        return Message(role="system", text=text, at=at, id="")
    tool = source.removeprefix(_RESULT) if source.startswith(_RESULT) else ""
    return Message(role="tool", text=text, at=at, id="", tool=tool)


def directs(text: str) -> bool:
    """Whether ``text`` may direct its reader, claims a permission, or names a place to send to or take from. Most
    honest directions do too, so it counts only for a sentence that a tool returned."""
    return any(_ORDERS.search(part) or _DIRECTS.search(part) or not _STATES.match(part) for part in _parts(text))


def orders(text: str) -> bool:
    """Whether ``text`` may state a duty, a permission, another's will or a command, also after a label."""
    return any(map(_ORDERS.search, _parts(text.replace(": ", ":\n"))))


def _parts(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(hostile.fold(text[:_MOST_CHARS])) if part]
