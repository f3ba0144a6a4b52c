"""The cost of compactions in a recorded session: files, requests and rules that came again after one."""

import re
from datetime import datetime
from typing import Final, NamedTuple, Self

from holdfast.models import Message
from holdfast.text.humanize import tokens
from holdfast.text.plain import same_key
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.message_formats.reading import Transcript
from holdfast_app.message_formats.summaries import SUMMARY
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

    def repeats(self, other: Self) -> bool:
        if self.kind != other.kind or self.kind == "file":
            return self.kind == other.kind and self.text == other.text
        if self.kind == "rule":
            return same_key(self.text) == same_key(other.text)
        one, two = set(same_key(self.text).split()), set(same_key(other.text).split())
        return bool(one and two) and len(one & two) >= _ALIKE * len(one | two)


def repeated(transcript: Transcript) -> list[Repeated]:
    """What followed a compaction although it was in the context before, in order."""
    repeats, before, now = list[Repeated](), list[Repeated](), list[Repeated]()
    for message, answer in zip(transcript.kept, (*transcript.kept[1:], None), strict=False):
        if message.tool == SUMMARY and message.role == "system":
            before += now
            now = []
            continue
        for mark in _marks(message, answer):
            if any(map(mark.repeats, before)) and not any(map(mark.repeats, now)):
                repeats.append(mark)
            now.append(mark)
    return repeats


def _marks(message: Message, answer: Message | None) -> list[Repeated]:
    if message.role == "assistant" and message.tool:
        words = message.text.partition("\n")[0].partition(": ")[2].strip()
        shown = _SHOWN.search(words)
        path = words if message.tool.casefold() in READERS else shown["path"] if shown else ""
        size = tokens(answer.text) if answer is not None and answer.role == "tool" else 0
        return [Repeated("file", path, message.at, size)] if path else []
    if message.role != "user" or message.tool:
        return []
    text = own_words(message.text)
    stated = Statements()
    stated.read(message)
    marks = [Repeated("rule", rule, message.at, tokens(rule)) for rule in stated.of(Kind.RULE)]
    if asked.kind_of_words(text) is asked.Kind.REQUEST and len(text.split()) >= _LEAST_WORDS:
        marks.append(Repeated("request", text, message.at, tokens(text)))
    return marks
