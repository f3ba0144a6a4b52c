"""Days in questions, and days as the words that the index has of them.

A question with "in March" or "last Tuesday" finds content from that time by words (``March``, ``Tuesday``), and
content from the days that it names comes first.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
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
_ISO: Final = Lazy(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_MONTH_DAY: Final = Lazy(
    r"\b(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?)?"
    rf"(?P<month>{'|'.join(sorted(_MONTH, key=len, reverse=True))})\b\.?"
    r"(?:\s+(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<year>\d{4}))?",
    re.IGNORECASE,
)
_IN_YEAR: Final = Lazy(r"\bin\s+((?:19|20)\d\d)\b", re.IGNORECASE)
_RELATIVE: Final = Lazy(
    rf"\b(?:(?P<named>today|yesterday|last\s+night)"
    rf"|(?P<which>last|this|on|past)\s+(?P<unit>{'|'.join(_WEEKDAY)}|weekend|week|month|year)"
    rf"|(?P<n>\d{{1,3}}|{'|'.join(_NUMBER)})(?:\s+of)?\s+(?P<ago>day|week|month|year)s?\s+ago)\b",
    re.IGNORECASE,
)
_BETWEEN: Final = Lazy(r"\bbetween\b|\bfrom\b.*\b(?:to|until|till)\b", re.IGNORECASE)
#: What people type at ``--since`` and ``--until``: ``3d``, ``2w``, ``6m``, ``1y``, ``12h``.
_SPAN: Final = Lazy(r"(\d{1,5})([hdwmy])")
_HOURS: Final = {"h": 1, "d": 24, "w": 168, "m": 730, "y": 8_766}


class Span(NamedTuple):
    """From ``start`` up to and without ``end``."""

    start: datetime
    end: datetime


def local(at: float, zone: tzinfo | None) -> datetime:
    """A time stamp as an aware time in ``zone``; without one in the system's."""
    return datetime.fromtimestamp(at, UTC).astimezone(zone)


def spans(text: str, now: datetime, latest: datetime | None = None) -> list[Span]:
    """The spans of days that ``text`` names, seen from ``now``, which is in the zone of days. Empty when a day is
    impossible.

    Dates go before expressions like "last week", which are used only without a date. "Between" and "from ... to" make
    one span of two dates. A month without a year means the latest month that had started at ``latest`` (``now``).
    """
    try:
        found = list(dict.fromkeys(_dates(text, now, latest or now) or _relative(text, now)))
    except (ValueError, OverflowError):
        return []
    if len(found) == 2 and _BETWEEN.search(text):
        return [Span(min(found).start, max(span.end for span in found))]
    return found


def moment(text: str, now: datetime) -> datetime:
    """The moment that ``3d`` (three days ago), ``2026-11-02`` or an ISO time names. Raises: ValueError."""
    span = _SPAN.fullmatch(text.strip())
    if span:
        return now - timedelta(hours=int(span[1]) * _HOURS[span[2]])
    at = datetime.fromisoformat(text.strip())
    return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)


def _dates(text: str, now: datetime, latest: datetime) -> list[Span]:
    found = [
        _day(now, int(year), int(month), int(day)) if day else _month(now, int(year), int(month))
        for year, month, day in _ISO.findall(text)
    ]
    for match in _MONTH_DAY.finditer(text):
        month, day = _MONTH[match["month"].lower()], match["day"] or match["day2"]
        if match["month"].islower() and match["month"] in ("may", "mar") and not day:
            continue  # a verb, most often
        started = (month, int(day or 1)) <= (latest.month, latest.day)
        year = int(match["year"] or 0) or (latest.year if started else latest.year - 1)
        found.append(_day(now, year, month, int(day)) if day else _month(now, year, month))
    if not found:
        years = map(int, _IN_YEAR.findall(text))
        found = [Span(_start(now, year, 1, 1), _start(now, year + 1, 1, 1)) for year in years]
    return found


def _relative(question: str, now: datetime) -> list[Span]:
    found = []
    today = _start(now, now.year, now.month, now.day)
    for match in _RELATIVE.finditer(question):
        if match["named"]:
            start = today - timedelta(days=match["named"].lower() != "today")
            found.append(Span(start, start + timedelta(days=1)))
        elif match["ago"]:
            n = _NUMBER.get(match["n"].lower()) or int(match["n"])
            unit = match["ago"].lower()
            days = n * {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
            around = {"day": 0, "week": 3, "month": 15, "year": 182}[unit]
            start = today - timedelta(days=days + around)
            found.append(Span(start, today - timedelta(days=days - around - 1)))
        else:
            found.append(_unit(match["which"].lower(), match["unit"].lower(), today))
    return found


def _unit(which: str, unit: str, today: datetime) -> Span:
    last = which in ("last", "past")
    if unit in _WEEKDAY:
        back = (today.weekday() - _WEEKDAY[unit]) % 7 or (7 if last else 0)
        start = today - timedelta(days=back)
        return Span(start, start + timedelta(days=1))
    if unit == "weekend":
        monday = today - timedelta(days=today.weekday())
        start = monday + timedelta(days=-2 if last else 5)
        return Span(start, start + timedelta(days=2))
    if unit == "week":
        start = today - timedelta(days=today.weekday() + 7 * last)
        return Span(start, start + timedelta(days=7))
    if unit == "month":
        year, month = (today.year, today.month - 1) if last else (today.year, today.month)
        return _month(today, year - (month == 0), month or 12)
    return Span(_start(today, today.year - last, 1, 1), _start(today, today.year - last + 1, 1, 1))


def _day(now: datetime, year: int, month: int, day: int) -> Span:
    start = _start(now, year, month, day)
    return Span(start, start + timedelta(days=1))


def _month(now: datetime, year: int, month: int) -> Span:
    return Span(_start(now, year, month, 1), _start(now, year + month // 12, month % 12 + 1, 1))


def _start(now: datetime, year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=now.tzinfo)
