"""The cost of compactions in a recorded session: files, requests and rules that came again after one."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.humanize import tokens
from holdfast.text.plain import same_key
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.facts.relation import Relation, relation
from holdfast_app.message_formats.reading import SUMMARY, Transcript
from holdfast_app.offline import asked
from holdfast_app.offline.cues import Kind
from holdfast_app.offline.statements import Statements

#: Tools that read one file, as the clients name them.
READERS: Final = frozenset({"read", "read_file", "view", "notebookread"})
#: A shell command that prints one file.
_SHOWN: Final = re.compile(
    r"(?:^|['\" ])(?:cat|nl(?: -\w+)*|head(?: -n? ?\d+)?|sed -n '?[\d,]+p'?) (?P<path>[\w./-]+)['\"]?$"
)
#: Shares of equal words and fewest words of a request that repeats another.
_ALIKE: Final = 0.75
_LEAST_WORDS: Final = 4


class Repeated(NamedTuple):
    """One repetition: ``kind`` is file, request or rule, ``text`` the path or the words, ``at`` its time, and
    ``tokens`` an estimate of the repeated content."""

    kind: str
    text: str
    at: datetime
    tokens: int


def repeated(transcript: Transcript) -> list[Repeated]:
    """What followed a compaction although it was in the context before, in order."""
    found, before, now = list[Repeated](), _Seen(), _Seen()
    for one, answer in zip(transcript.kept, (*transcript.kept[1:], None), strict=True):
        if one.tool == SUMMARY and one.role == "system":
            before.update(now)
            now = _Seen()
            continue
        for kind, text, size in _marks(one, answer):
            if before.has(kind, text) and not now.has(kind, text):
                found.append(Repeated(kind, text, one.at, size))
            now.add(kind, text)
    return found


class _Seen:
    """Files, requests and rules of a part of a conversation."""

    def __init__(self) -> None:
        self._strings: dict[str, list[str]] = {"file": [], "request": [], "rule": []}

    def add(self, kind: str, text: str) -> None:
        self._strings[kind].append(text)

    def update(self, other: _Seen) -> None:
        for kind, strings in other._strings.items():
            self._strings[kind] += strings

    def has(self, kind: str, text: str) -> bool:
        strings = self._strings[kind]
        if kind == "file":
            return text in strings
        if kind == "rule":
            return any(relation(text, one) is Relation.SAME for one in strings)
        return any(_alike(text, one) for one in strings)


def _marks(one: Message, answer: Message | None) -> list[tuple[str, str, int]]:
    """The files, requests and rules of a message: kind, text and tokens."""
    if one.role == "assistant" and one.tool:
        words = one.text.partition("\n")[0].partition(": ")[2].strip()
        shown = _SHOWN.search(words)
        path = words if one.tool.casefold() in READERS else shown["path"] if shown else ""
        size = tokens(answer.text) if answer is not None and answer.role == "tool" else 0
        return [("file", path, size)] if path else []
    if one.role != "user" or one.tool:
        return []
    text = own_words(one.text)
    stated = Statements()
    stated.read(one)
    marks = [("rule", rule, tokens(rule)) for rule in stated.of(Kind.RULE)]
    if asked.kind_of_words(text) is asked.Kind.REQUEST and len(text.split()) >= _LEAST_WORDS:
        marks.append(("request", text, tokens(text)))
    return marks


def _alike(text: str, other: str) -> bool:
    one, two = set(same_key(text).split()), set(same_key(other).split())
    return bool(one and two) and len(one & two) >= _ALIKE * len(one | two)
