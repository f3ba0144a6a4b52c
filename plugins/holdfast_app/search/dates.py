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
_MONTH: Final = {name.lower()[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, len(name))}
_WEEKDAY: Final = {name.lower(): n for n, name in enumerate(_DAYS)}
_NUMBER: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10,
    "couple": 2, "few": 3,
}  # fmt: skip
#: German words of such expressions, in English.
_GERMAN: Final = {
    "gestern": "yesterday", "heute": "today", "seit": "since", "im": "in", "am": "on", "letzte": "last",
    "letzten": "last", "letzter": "last", "letztes": "last", "diese": "this", "dieser": "this", "diesen": "this",
    "woche": "week", "monat": "month", "jahr": "year", "wochenende": "weekend",
    **dict(zip(("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"), _DAYS, strict=True)),
    "januar": "January", "februar": "February", "märz": "March", "mai": "May", "juni": "June", "juli": "July",
    "oktober": "October", "dezember": "December",
}  # fmt: skip
_GERMAN_WORD: Final = Lazy(rf"\b(?:{'|'.join(_GERMAN)})\b", re.IGNORECASE)
_DATE: Final = Lazy(
    r"(?:\b(?P<lead>since|after|before|until|till|in|on|from|during|of|between|and|to)\s+)?(?:\bthe\s+)?\b(?:"
    r"(?P<iso>\d{4})-(?P<iso_month>\d\d)(?:-(?P<iso_day>\d\d))?"
    r"|(?:(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?"
    rf"(?P<month>{'|'.join(sorted(_MONTH, key=len, reverse=True))})\b\.?"
    r"(?:\s+(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<year>\d{4}))?"
    r"|(?P<named>today|yesterday|last\s+night)"
    rf"|(?:(?P<which>last|this|past)\s+)?(?P<unit>{'|'.join(_WEEKDAY)}|weekend|week|month|year)"
    rf"|(?P<n>\d{{1,3}}|{'|'.join(_NUMBER)})(?:\s+of)?\s+(?P<ago>day|week|month|year)s?\s+ago"
    r"|(?P<only>(?:19|20)\d\d))\b",
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
    text = _GERMAN_WORD.sub(lambda word: _GERMAN[word[0].lower()], question)
    tomorrow = _start(now, now.year, now.month, now.day) + timedelta(days=1)
    found, rest, at = [], [], 0
    for match in _DATE.finditer(text):
        try:
            span = _span(match, now, latest or (lambda: now))
        except (ValueError, OverflowError):
            continue
        if span is None or span.start >= tomorrow:
            continue
        lead = (match["lead"] or "").lower()
        begin = {"since": span.start, "after": span.end}.get(lead)
        if begin or lead in ("before", "until", "till"):
            span = Span(begin, tomorrow) if begin else Span(_FIRST, span.start)
        found.append(span)
        rest.append(text[at : match.start()])
        at = match.end()
    if not found:
        return None, question
    return Span(min(found).start, max(span.end for span in found)), " ".join([*rest, text[at:]]).strip()


def _span(match: re.Match[str], now: datetime, latest: Callable[[], datetime]) -> Span | None:
    if match["iso"]:
        return _days(now, int(match["iso"]), int(match["iso_month"]), int(match["iso_day"] or 0))
    if match["month"]:
        month, day = _MONTH[match["month"].lower()], int(match["day"] or match["day2"] or 0)
        if not (day or match["year"] or match["lead"]):
            return None
        newest = latest()
        started = (month, day or 1) <= (newest.month, newest.day)
        if day and not (started or match["year"]):
            return None
        return _days(now, int(match["year"] or 0) or (newest.year if started else newest.year - 1), month, day)
    today = _start(now, now.year, now.month, now.day)
    if match["named"]:
        start = today - timedelta(days=match["named"].lower() != "today")
        return Span(start, start + timedelta(days=1))
    if match["ago"]:
        days, around = _UNITS[match["ago"].lower()]
        days *= _NUMBER.get(match["n"].lower()) or int(match["n"])
        return Span(today - timedelta(days=days + around), today - timedelta(days=days - around - 1))
    if match["only"]:
        year = int(match["only"])
        return Span(_start(now, year, 1, 1), _start(now, year + 1, 1, 1)) if match["lead"] else None
    return _unit(match["which"] or "", match["unit"].lower(), today, bool(match["lead"]))


def _unit(which: str, unit: str, today: datetime, leads: bool) -> Span | None:
    last = which.lower() in ("last", "past")
    if not which and not (leads and unit in _WEEKDAY):
        return None
    if unit in _WEEKDAY:
        back = (today.weekday() - _WEEKDAY[unit]) % 7 or (7 if last else 0)
        return Span(today - timedelta(days=back), today - timedelta(days=back - 1))
    monday = today - timedelta(days=today.weekday())
    if unit == "weekend":
        start = monday + timedelta(days=-2 if last else 5)
        return Span(start, start + timedelta(days=2))
    if unit == "week":
        return Span(monday - timedelta(days=7 * last), monday + timedelta(days=7 - 7 * last))
    if unit == "month":
        month = today.year * 12 + today.month - 1 - last
        return _days(today, month // 12, month % 12 + 1)
    return Span(_start(today, today.year - last, 1, 1), _start(today, today.year - last + 1, 1, 1))


def _days(now: datetime, year: int, month: int, day: int = 0) -> Span:
    """A day, or without one a month."""
    start = _start(now, year, month, day or 1)
    return Span(start, start + timedelta(days=1) if day else _start(now, year + month // 12, month % 12 + 1, 1))


def _start(now: datetime, year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=now.tzinfo)
