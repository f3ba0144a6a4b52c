"""Days in questions, in English and German, and days as the words that the index has of them.

"In March", "last Tuesday" or "since yesterday" narrow a search to these days.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_GERMAN_DAYS: Final = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
_MONTH: Final = {name.lower()[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, len(name))} | {
    "januar": 1, "februar": 2, "märz": 3, "mai": 5, "juni": 6, "juli": 7, "oktober": 10, "dezember": 12,
}  # fmt: skip
#: The first day, counted from Monday, and the number of days.
_WEEKDAY: Final = {name.lower(): (n, 1) for names in (_DAYS, _GERMAN_DAYS) for n, name in enumerate(names)} | {
    "weekend": (5, 2), "wochenende": (5, 2),
}  # fmt: skip
_NUMBER: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10,
    "couple": 2, "few": 3, "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "sieben": 7, "zehn": 10,
}  # fmt: skip
#: How many days ago.
_NAMED: Final = {
    "today": 0, "heute": 0, "this morning": 0, "yesterday": 1, "gestern": 1, "last night": 1,
    "day before yesterday": 2, "vorgestern": 2,
}  # fmt: skip
_ENGLISH: Final = {
    "seit": "since", "nach": "after", "vor": "before", "bis": "until", "till": "until", "tag": "day", "woche": "week",
    "monat": "month", "jahr": "year",
}  # fmt: skip
_TO: Final = r"\s*(?:to|and|until|till|bis|und|[-–])\s*(?:(?:the|dem|zum)\s+)?"
_DATE: Final = Lazy(
    r"(?:\b(?P<lead>(?:in\s+)?(?:the\s+)?week\s+of|since|after|before|until|till|in|on|at|over|from|during|of|between|and|to"
    r"|seit|nach|vor|bis|im|am|vom|zwischen|und)\s+)?(?:\b(?:the|de[mnr]|zum)\s+)?\b(?:"
    r"(?P<iso>\d{4})-(?P<iso_month>\d\d)(?:-(?P<iso_day>\d\d))?"
    r"|(?P<dot_day>\d{1,2})\.(?P<dot_month>\d{1,2})\.(?P<dot_year>\d{4})?"
    rf"|(?:(?:(?P<first>\d{{1,2}})(?:st|nd|rd|th|\.)?{_TO})?(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?"
    rf"(?P<month>{'|'.join(sorted(_MONTH, key=len, reverse=True))})\b\.?"
    rf"(?:\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:{_TO}(?P<last>\d{{1,2}})(?:st|nd|rd|th)?\b)?)?"
    r"(?:,?\s+(?P<year>\d{4}))?"
    rf"|(?P<named>{'|'.join(_NAMED)})"
    r"|(?:(?P<which>last|past|previous|this|(?:letzt|vorig|dies)e[nrsm]?)\s+)?"
    rf"(?:(?P<weekday>{'|'.join(_WEEKDAY)})|(?:(?P<n>\d{{1,3}}|{'|'.join(_NUMBER)})(?:\s+of)?\s+)?"
    r"(?P<unit>day|week|month|year|tag|woche|monat|jahr)(?:e?[ns]|e)?(?P<ago>\s+ago)?)"
    r"|(?P<only>(?:19|20)\d\d))(?!\w)",
    re.IGNORECASE,
)
#: A number or the name of a time, in any text.
NAMED: Final = Lazy(
    rf"\b(?:\d|yesterday|to(?:day|morrow|night)|last|next|ago|week|month|year|{'|'.join((*_MONTHS, *_DAYS))})",
    re.IGNORECASE,
)
#: The beginning of time and the days in a unit, with how many around it "two weeks ago" means.
_FIRST: Final = datetime(1970, 1, 2, tzinfo=UTC)
_UNITS: Final = {"day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 182)}
#: What people type at ``--since`` and ``--until``: ``3d``, ``2w``, ``6m``, ``1y``, ``12h``.
_SPAN: Final = Lazy(r"(\d{1,5})([hdwmy])")
_HOURS: Final = {"h": 1, "d": 24, "w": 168, "m": 730, "y": 8_766}


class Span(NamedTuple):
    """From ``start`` up to and without ``end``."""

    start: datetime
    end: datetime

    def shown(self, now: datetime) -> str:
        """The days in words, like ``16 to 22 November``."""
        first, last = self.start, self.end - timedelta(seconds=1)
        year = "" if first.year == last.year == now.year else f" {last.year}"
        end = f"{last.day} {_MONTHS[last.month - 1]}{year}"
        if first <= _FIRST:
            return f"until {end}"
        if first.date() == last.date():
            return end
        begin = "" if first.year == last.year else f" {first.year}"
        same = (first.year, first.month) == (last.year, last.month)
        return f"{first.day}{'' if same else f' {_MONTHS[first.month - 1]}{begin}'} to {end}"


def moment(text: str, now: datetime) -> datetime:
    """The moment that ``3d`` (three days ago), ``2026-11-02`` or an ISO time names. Raises: ValueError."""
    if span := _SPAN.fullmatch(text.strip()):
        return now - timedelta(hours=int(span[1]) * _HOURS[span[2]])
    at = datetime.fromisoformat(text.strip())
    return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)


def narrowed(question: str, now: datetime, latest: Callable[[], datetime] | None = None) -> tuple[Span | None, str]:
    """The days that ``question`` names, seen from ``now``, and its other words. Several dates are one span.

    None without a past day. A month without a year is the latest that had started at ``latest()`` (``now``). A month or
    weekday alone ("May I push?"), and a day to come, are words.
    """
    tomorrow = _start(now, now.year, now.month, now.day) + timedelta(days=1)
    starts, ends, rest, at = [], [], [], 0
    until: datetime | None = None
    for match in _DATE.finditer(question):
        lead = _word(match, "lead")
        try:
            span = _span(match, lead, now, latest or (lambda: now))
        except (ValueError, OverflowError):
            continue
        if span is None or span.start >= tomorrow:
            continue
        if lead in ("before", "until") and not match["n"]:
            until = span.end if lead == "until" else span.start
        else:
            starts.append(span.end if lead == "after" else span.start)
            ends.append(tomorrow if lead in ("after", "since") else span.end)
        rest.append(question[at : match.start()])
        at = match.end()
    if not rest:
        return None, question
    return Span(min(starts, default=_FIRST), until or max(ends)), " ".join([*rest, question[at:]]).strip()


def _word(match: re.Match[str], group: str) -> str:
    """The group's word in English and lower case."""
    word = (match[group] or "").lower()
    return _ENGLISH.get(word, word)


def _span(match: re.Match[str], lead: str, now: datetime, latest: Callable[[], datetime]) -> Span | None:
    if match["iso"]:
        return _days(now, int(match["iso"]), int(match["iso_month"]), int(match["iso_day"] or 0))
    if match["month"] or (match["dot_day"] and (lead or match["dot_year"])):
        return _of_month(match, lead, now, latest)
    today = _start(now, now.year, now.month, now.day)
    if match["named"]:
        return _from(today - timedelta(days=_NAMED[match["named"].lower()]), 1)
    if match["only"]:
        year = int(match["only"])
        return Span(_start(now, year, 1, 1), _start(now, year + 1, 1, 1)) if lead else None
    is_last = match["which"] and match["which"][:4].lower() not in ("this", "dies")
    if match["n"]:
        days, around = _UNITS[_word(match, "unit")]
        days *= _NUMBER.get(match["n"].lower()) or int(match["n"])
        if match["ago"] or lead == "before":  # German "vor zwei Wochen"
            return _from(today - timedelta(days=days + around), 2 * around + 1)
        return _from(today - timedelta(days=days), days + 1) if is_last or lead == "since" else None
    if match["weekday"] and (lead or match["which"]):
        first, length = _WEEKDAY[match["weekday"].lower()]
        back = (today.weekday() - first) % 7
        return _from(today - timedelta(days=back + (7 if is_last and back < length else 0)), length)
    return _unit(_word(match, "unit"), today, last=bool(is_last)) if match["which"] else None


def _of_month(match: re.Match[str], lead: str, now: datetime, latest: Callable[[], datetime]) -> Span | None:
    """A day, several days, a month, or the week of a day."""
    month = int(match["dot_month"] or 0) or _MONTH[match["month"].lower()]
    days = [int(match[group]) for group in ("first", "day", "day2", "last", "dot_day") if match[group]]
    day, year = days[0] if days else 0, int(match["year"] or match["dot_year"] or 0)
    if not (day or year or lead):
        return None
    newest = latest()
    started = (month, day or 1) <= (newest.month, newest.day)
    if day and not (started or year):
        return None
    year = year or (newest.year if started else newest.year - 1)
    span = _days(now, year, month, day)
    if "week" in lead:
        return _from(span.start - timedelta(days=span.start.weekday()), 7)
    return Span(span.start, max(span.end, _days(now, year, month, days[-1]).end)) if days else span


def _unit(unit: str, today: datetime, *, last: bool) -> Span | None:
    if unit == "week":
        return _from(today - timedelta(days=today.weekday() + 7 * last), 7)
    if unit == "month":
        month = today.year * 12 + today.month - 1 - last
        return _days(today, month // 12, month % 12 + 1)
    if unit == "year":
        return Span(_start(today, today.year - last, 1, 1), _start(today, today.year - last + 1, 1, 1))
    return None


def _from(start: datetime, days: int) -> Span:
    return Span(start, start + timedelta(days=days))


def _days(now: datetime, year: int, month: int, day: int = 0) -> Span:
    """A day, or without one a month."""
    start = _start(now, year, month, day or 1)
    return Span(start, start + timedelta(days=1) if day else _start(now, year + month // 12, month % 12 + 1, 1))


def _start(now: datetime, year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=now.tzinfo)
