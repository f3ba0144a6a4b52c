"""The matching excerpt, with a line before and after it."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast_app.search import words

#: Maximum characters of the part that matched, and of each line around it.
_MATCH: Final = 240
_AROUND: Final = 120
#: Distance between the starts of two compared excerpts, in characters.
_STEP: Final = 60


class Excerpt(NamedTuple):
    """Three single lines. ``before`` and ``after`` are empty where the text and its neighbours end."""

    match: str
    before: str
    after: str


def excerpt(text: str, question: str, previous: str = "", following: str = "") -> Excerpt:
    """The part of ``text`` with most of the question's stems. Where it begins or ends the text, the line before or
    after it is of ``previous`` or ``following``."""
    line = _flat(text)
    begin, end = _best(line, question)
    match = ("… " if begin else "") + line[begin:end] + (" …" if end < len(line) else "")
    return Excerpt(match, _end_of(line[:begin] or _flat(previous)), _beginning_of(line[end:] or _flat(following)))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _best(line: str, question: str) -> tuple[int, int]:
    if len(line) <= _MATCH:
        return 0, len(line)
    asked = words.stems(question)
    starts = range(0, len(line) - _MATCH + _STEP, _STEP)
    best = max(starts, key=lambda start: (len(asked & words.stems(line[start : start + _MATCH])), -start))
    begin = line.rfind(" ", 0, best) + 1 if best else 0
    part = line[begin : begin + _MATCH]
    return begin, begin + len(part if begin + len(part) == len(line) else part.rsplit(" ", 1)[0])


def _end_of(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _AROUND else f"… {line[-_AROUND:].partition(' ')[2] or line[-_AROUND:]}"


def _beginning_of(line: str) -> str:
    line = line.lstrip()
    return line if len(line) <= _AROUND else f"{line[:_AROUND].rpartition(' ')[0] or line[:_AROUND]} …"
