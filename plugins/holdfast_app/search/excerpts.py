"""The matching excerpt, with a line before and after it."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast_app.search import words

#: Maximum characters of the part that matched, and of each line around it.
_MATCH: Final = 240
_AROUND: Final = 120
#: Characters of the excerpt before the first word of the question.
_LEAD: Final = 60
#: Places of the question's words looked at for one excerpt.
_PLACES: Final = 40


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
    before, after = line[:begin] or _flat(previous[-2 * _AROUND :]), line[end:] or _flat(following[: 2 * _AROUND])
    return Excerpt(match, _end_of(before), _beginning_of(after))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _best(line: str, question: str) -> tuple[int, int]:
    if len(line) <= _MATCH:
        return 0, len(line)
    places = [(match.start(), match[0].lower()) for match in words.pattern(question).finditer(line)]
    most, best = 0, 0
    for number, (start, _) in enumerate(places):
        held = len({stem for at, stem in places[number : number + _PLACES] if at < start + _MATCH - _LEAD})
        if held > most:
            most, best = held, start
    first = min(max(best - _LEAD, 0), len(line) - _MATCH)
    begin = line.rfind(" ", 0, first) + 1 if first else 0
    part = line[begin : begin + _MATCH]
    return begin, begin + len(part if begin + len(part) == len(line) else part.rsplit(" ", 1)[0])


def _end_of(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _AROUND else f"… {line[-_AROUND:].partition(' ')[2] or line[-_AROUND:]}"


def _beginning_of(line: str) -> str:
    line = line.lstrip()
    return line if len(line) <= _AROUND else f"{line[:_AROUND].rpartition(' ')[0] or line[:_AROUND]} …"
