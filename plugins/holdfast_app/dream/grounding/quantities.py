"""Numbers, amounts, versions, dates and times in one comparable form.

Keys: ``#N`` a value as written, ``=N`` a value without a unit, ``DIMENSION:N`` an amount in base units (seconds, bytes,
...), ``v:N`` a version and its prefixes, ``d:`` a day, ``d?:`` a day without a year, ``m:`` a month of a year, ``mon:``
a month, ``wd:`` a weekday (0 is Monday), ``t:`` a time of day.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from fractions import Fraction
from typing import Final, NamedTuple

from holdfast_app.dream.grounding.lexicon import words as _words

MONTH_NAMES: Final = (
    "", "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTHS: Final = {name: n for n, name in enumerate(MONTH_NAMES) if n} | {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10,
    "nov": 11, "dec": 12, "januar": 1, "februar": 2, "märz": 3, "mai": 5, "juni": 6, "juli": 7, "oktober": 10,
    "dezember": 12, "okt": 10, "dez": 12,
}  # fmt: skip
_MONTH_LIKE: Final = frozenset(["may", "march", "mar", "jun", "sep", "dec", "jan", "mai"])
_WEEKDAYS: Final = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "montag": 0, "dienstag": 1, "mittwoch": 2, "donnerstag": 3, "freitag": 4, "samstag": 5, "sonntag": 6,
}  # fmt: skip
_BEFORE_MONTH: Final = _words(
    "in of for since until till by from to last next early late mid end during through every im seit bis"
)

#: Verbs before "by" that name a person: "written by Jun", unlike "due by Jun" and "finished by Jun".
_OF_A_PERSON: Final = _words(
    "approved authored composed designed invented led maintained owned proposed reported reviewed said signed "
    "suggested translated written"
)

_WORDS: Final = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12, "hundred": 100, "thousand": 1000,
    "million": 10**6, "billion": 10**9, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "twelfth": 12, "twice": 2, "thrice": 3, "zwei": 2, "drei": 3,
    "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "neun": 9, "zehn": 10, "zwölf": 12,
}  # fmt: skip
_SCALES: Final = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "mio": 10**6, "mrd": 10**9,
    "tausend": 1000,
}  # fmt: skip
_SUFFIXES: Final = {"k": 1000, "bn": 10**9, "m": 10**6, "mn": 10**6, "万": 10_000}

_TIME: Final[dict[str, int | Fraction]] = {
    "microsecond": Fraction(1, 10**6), "nanosecond": Fraction(1, 10**9), "ms": Fraction(1, 1000),
    "millisecond": Fraction(1, 1000), "µs": Fraction(1, 10**6), "us": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6), "ns": Fraction(1, 10**9), "s": 1, "sec": 1, "second": 1, "sekunde": 1,
    "sekunden": 1, "秒": 1, "min": 60, "minute": 60, "minuten": 60, "分": 60, "h": 3600, "hr": 3600, "hour": 3600,
    "stunde": 3600, "stunden": 3600, "時間": 3600, "d": 86400, "day": 86400, "tag": 86400, "tage": 86400,
    "tagen": 86400, "日間": 86400, "w": 604800, "week": 604800, "wochen": 604800, "woche": 604800,
}  # fmt: skip
_CALENDAR: Final = {
    "month": 1, "monate": 1, "monaten": 1, "year": 12, "jahre": 12, "jahren": 12, "quarter": 3, "decade": 120,
}  # fmt: skip
_BYTES: Final = {
    "kb": 1, "mb": 2, "gb": 3, "tb": 4, "kib": 1, "mib": 2, "gib": 3, "tib": 4, "kilobyte": 1, "byte": 0,
    "megabyte": 2, "gigabyte": 3,
}  # fmt: skip
_MONEY: Final = {
    "$": "usd", "usd": "usd", "dollar": "usd", "€": "eur", "eur": "eur", "euro": "eur", "£": "gbp",
    "gbp": "gbp", "pound": "gbp", "¥": "jpy", "yen": "jpy", "jpy": "jpy", "円": "jpy", "chf": "chf",
    "cent": "cent",
}  # fmt: skip
_OTHER: Final = {
    "v": "volt", "mv": "millivolt", "a": "ampere", "ma": "milliampere", "µa": "microampere",
    "μa": "microampere", "dbm": "dbm", "µf": "microfarad", "μf": "microfarad", "%": "percent",
    "percent": "percent", "pct": "percent", "prozent": "percent", "x": "times", "times": "times",
    "fold": "times", "px": "px", "km": "km", "m": "m", "cm": "cm", "mm": "mm", "kg": "kg", "g": "g", "hz": "hz",
    "khz": "khz", "mhz": "mhz", "ghz": "ghz", "rps": "rps", "qps": "rps", "°c": "celsius", "°": "degree",
    "fps": "fps", "dpi": "dpi", "mbit": "mbit", "gbit": "gbit", "mbps": "mbit", "gbps": "gbit", "kw": "kw",
    "kwh": "kwh", "w": "w",
}  # fmt: skip

_NUMBER: Final = re.compile(
    r"([+-]?)([$€£¥]?)([0-9][0-9_,']*(?:\.[0-9]+)*(?:,[0-9]+)?)(?:\.?-(?:st|nd|rd|th))?([a-zµμ%°€$£¥]{0,10})\Z",
    re.IGNORECASE,
)
_RANGE: Final = re.compile(r"([$€£¥]?[0-9][0-9.,_]*[a-z%]{0,3})-([$€£¥]?[0-9][0-9.,_]*)([a-z%]{0,8})\Z", re.IGNORECASE)
_HYPHEN_UNIT: Final = re.compile(r"([0-9][0-9.,]*)-([a-z]+)\Z", re.IGNORECASE)
_VERSION: Final = re.compile(
    r"v?([0-9]{1,8}(?:\.[0-9]{1,8}){1,5})([-+][0-9A-Za-z.-]{1,40}|(?:a|b|rc|\.dev|\.post)[0-9]{1,4})?\Z", re.IGNORECASE
)
_V: Final = re.compile(r"v([0-9]{1,8})\Z", re.IGNORECASE)
_ISO: Final = re.compile(
    r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:T([0-9:]{2,8})(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?\Z"
)
_DOTTED: Final = re.compile(r"([0-9]{1,2})([./])([0-9]{1,2})\2([0-9]{4})\Z")
_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})\Z")
_CLOCK: Final = re.compile(r"([0-9]{1,2})[:h]([0-9]{2})(?::([0-9]{2}))?(?:\.[0-9]+)?(am|pm|z)?\Z", re.IGNORECASE)
_HOUR: Final = re.compile(r"([0-9]{1,2})(am|pm)\Z", re.IGNORECASE)
_DAY: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th|\.)?\Z")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}\Z")


#: Words that a date or time can begin with.
OPENERS: Final = frozenset([*_MONTHS, *_WEEKDAYS, *(f"{day}s" for day in _WEEKDAYS), "noon", "midnight"])
#: Signs that are a unit by themselves.
SYMBOLS: Final = frozenset("%€$£¥°")


class Quantity(NamedTuple):
    """A number. ``dimension`` is ``""`` without a unit; ``readings`` are its values, each with how it is written."""

    text: str
    wants: tuple[str, ...]
    offers: tuple[str, ...]
    dimension: str = ""
    version: bool = False
    readings: tuple[tuple[str, Fraction], ...] = ()


class Moment(NamedTuple):
    """A date (``kind`` date; ``parts`` year, month, day, 0 where unsaid) or a time of day (``kind`` time)."""

    kind: str
    text: str
    wants: tuple[str, ...]
    offers: tuple[str, ...]
    parts: tuple[int, int, int] = (0, 0, 0)


# --- numbers --------------------------------------------------------------------------------------------------


def numbers(chunk: str) -> list[Quantity]:
    """The numbers that a chunk consists of; empty when it is something else."""
    first = chunk.lstrip("+-$€£¥vV")[:1]
    if not first.isdigit() or len(chunk) > 60:
        return []
    span = _RANGE.match(chunk)
    if span:
        low, high, unit = span.groups()
        pair = [_number(low if low[-1].isalpha() or low[-1] == "%" else low + unit), _number(high + unit)]
        return [q for q in pair if q is not None] if None not in pair else []
    hyphen = _HYPHEN_UNIT.match(chunk)
    if hyphen and unit_of(hyphen[2]):
        chunk = hyphen[1] + hyphen[2].lower()
    one = _number(chunk)
    return [one] if one else []


def _number(chunk: str) -> Quantity | None:
    version = _V.match(chunk) or _VERSION.match(chunk)
    found = _NUMBER.match(chunk)
    if (
        version
        and (chunk[:1] in "vV" or chunk.count(".") >= 2 or not found)
        and not re.fullmatch(r"[0-9]{1,3}(?:\.000)+", chunk)
    ):
        return _version(chunk, version[1], (version[2] or "") if version.re is _VERSION else "")
    if not found:
        return None
    _, currency, digits, tail = found.groups()
    million = tail == "M"
    tail = tail.lower()
    readings = _readings(digits)
    if not readings:
        return None
    if tail in ("st", "nd", "rd", "th"):
        tail = ""
    scale = _SUFFIXES.get(tail, 1) if tail and (tail != "m" or currency or million) else 1
    unit = currency or ("" if scale != 1 else tail)
    if unit and not unit_of(unit):
        return None
    return amount(chunk, [(str_of(v * scale) if scale != 1 else text, v * scale) for text, v in readings], unit)


def _readings(digits: str) -> list[tuple[str, Fraction]]:
    digits = digits.rstrip(",_'.")
    plain = digits.replace("_", "").replace("'", "")
    if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?", plain):
        thousands = plain.replace(".", "").replace(",", ".")
        both = [(thousands, Fraction(thousands))]
        return [*both, (plain, Fraction(plain))] if plain.count(".") == 1 and "," not in plain else both
    elif re.fullmatch(r"[0-9]+,[0-9]+", plain):
        plain = plain.replace(",", ".")
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", plain):
        return []
    whole, _, rest = plain.partition(".")
    plain = (whole.lstrip("0") or "0") + ("." + rest if rest else "")
    return [(plain, Fraction(plain))]


def str_of(value: Fraction) -> str:
    """A value as text: whole numbers plain, others as a decimal or a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = value * 10**6
    if decimal.denominator == 1:
        whole, rest = divmod(decimal.numerator, 10**6)
        return f"{whole}.{rest:06}".rstrip("0")
    return f"{value.numerator}/{value.denominator}"


def unit_of(unit: str) -> tuple[str, Fraction] | None:
    """A unit's dimension and its size in base units. None when it is not a unit."""
    low = unit.lower()
    for form in (low, low[:-1] if low.endswith("s") and len(low) > 2 else low):
        if form in _TIME:
            return "time", Fraction(_TIME[form])
        if form in _CALENDAR:
            return "calendar", Fraction(_CALENDAR[form])
        if form in _BYTES:
            return "bytes", Fraction(1000 ** _BYTES[form])
        if form in _MONEY:
            return _MONEY[form], Fraction(1)
        if form in _OTHER:
            return _OTHER[form], Fraction(1)
    return None


def amount(text: str, readings: list[tuple[str, Fraction]], unit: str) -> Quantity:
    """A number with its unit (``""`` for none), in all its readings."""
    known = unit_of(unit) if unit else None
    dimension = known[0] if known else ""
    wants: list[str] = []
    offers: list[str] = []
    for written, value in readings:
        offers += (f"#{written}", f"#{str_of(value)}")
        if "." in written:
            offers.append(f"v:{written}")
        if known:
            size = known[1]
            keys = [f"{dimension}:{str_of(value * size)}"]
            if dimension == "bytes":
                keys.append(f"bytes:{str_of(value * _binary(size))}")
            offers += keys
            wants += [*keys, f"={written}", f"={str_of(value)}"]
        else:
            offers += (f"={written}", f"={str_of(value)}")
            wants += [f"#{written}", *([f"v:{written}"] if "." in written else [])]
    unique = tuple(dict.fromkeys(wants)), tuple(dict.fromkeys(offers))
    return Quantity(text, *unique, dimension, readings=tuple(readings))


def is_currency(text: str) -> bool:
    """Whether a word in lower case is the name or code of a currency."""
    return text in _MONEY


def unit_before(text: str) -> str:
    """The unit that the word before a number gives it: ``EUR 5``, ``timeout_ms = 5``; ``""`` for none."""
    low = text.lower()
    if low in _MONEY:
        return low
    last = low.rpartition("_")[2] if "_" in low else ""
    return last if last and unit_of(last) else ""


def with_unit(text: str, unit: str) -> Quantity | None:
    """The number ``text`` as an amount of ``unit``. None when it is not a plain number."""
    found = numbers(text)
    if len(found) != 1 or not found[0].readings or found[0].dimension:
        return None
    return amount(text, list(found[0].readings), unit)


def _binary(size: Fraction) -> Fraction:
    power = 0
    while size > 1:
        size /= 1000
        power += 1
    return Fraction(1024**power)


def _version(text: str, digits: str, tail: str) -> Quantity:
    parts = digits.split(".")
    whole = digits + tail.lower()
    prefixes = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    offers = {f"v:{whole}", *(f"v:{p}" for p in prefixes)}
    if text[:1] in "vV" and not tail:
        offers.add(f"#{digits}")
    wants: tuple[str, ...] = (f"v:{whole}", *([f"#{digits}"] if len(parts) < 3 and not tail else []))
    return Quantity(text, wants, tuple(sorted(offers)), version=True)


def number_word(word: str) -> Quantity | None:
    """``twenty-one`` and the like; None for ``one``, ``first`` and ``second``, which mostly count nothing."""
    if word in _WORDS:
        value = _WORDS[word]
    else:
        tens, dash, ones = word.partition("-")
        if not dash or tens not in _WORDS or ones not in _WORDS | {"one": 1, "first": 1, "second": 2}:
            return None
        if not 20 <= _WORDS[tens] < 100:
            return None
        value = _WORDS[tens] + (_WORDS | {"one": 1, "first": 1, "second": 2})[ones]
    return amount(word, [(str(value), Fraction(value))], "")


def joined_number(words: list[str]) -> tuple[Quantity | None, int]:
    """The amount at the start of ``words`` (lower case) and its number of words. (None, 0) for a single known word."""
    first = number_word(words[0])
    if first is None:
        found = numbers(words[0])
        if len(found) != 1 or found[0].version or (found[0].dimension and found[0].dimension not in _MONEY.values()):
            return None, 0
        first = found[0]
    readings, used = list(first.readings), 1
    while used < len(words) and words[used] in _SCALES and words[used - 1] not in _SCALES:
        readings = [(str_of(value * _SCALES[words[used]]), value * _SCALES[words[used]]) for _, value in readings]
        used += 1
    money = next((unit for unit in (words[0][:1],) if unit in _MONEY), "")
    unit = money
    if (
        not money
        and used < len(words)
        and unit_of(words[used])
        and not (len(words[used]) == 1 and words[used] in "gwdxa")
    ):
        unit, used = words[used], used + 1
    if used == 1:
        return None, 0
    return amount(" ".join(words[:used]), readings, unit), used


# --- dates and times -------------------------------------------------------------------------------------------


def moments(chunk: str) -> list[Moment]:
    """The date or time (or both, for an ISO stamp) that a chunk is; empty when it is something else."""
    if not chunk[:1].isdigit():
        return []
    stamp = _ISO.match(chunk)
    if stamp:
        found = [day(chunk, int(stamp[1]), int(stamp[2]), int(stamp[3]))]
        clock = _CLOCK.match(stamp[4]) if stamp[4] else None
        if clock:
            found.append(_time(chunk, int(clock[1]), int(clock[2]), clock[3]))
        return [m for m in found if m is not None]
    dotted = _DOTTED.match(chunk)
    if dotted:
        one, other, year = int(dotted[1]), int(dotted[3]), int(dotted[4])
        pair = [day(chunk, year, other, one), day(chunk, year, one, other) if dotted[2] == "/" else None]
        readings = [m for m in pair if m is not None]
        if readings:
            both = tuple(dict.fromkeys(o for m in readings for o in m.offers))
            wants = tuple(dict.fromkeys(w for m in readings for w in m.wants))
            return [readings[0]._replace(offers=both, wants=wants)]
        return []
    month = _MONTH.match(chunk)
    if month and 1 <= int(month[2]) <= 12 and _YEAR.match(month[1]):
        made = day(chunk, int(month[1]), int(month[2]), 0)
        return [made] if made else []
    clock = _CLOCK.match(chunk)
    if clock:
        hour = _half(int(clock[1]), (clock[4] or "").lower())
        made = _time(chunk, hour, int(clock[2]), clock[3])
        return [made] if made else []
    hour_only = _HOUR.match(chunk)
    made = _time(chunk, _half(int(hour_only[1]), hour_only[2].lower()), 0, None) if hour_only else None
    return [made] if made else []


def _half(hour: int, half: str) -> int:
    return hour % 12 + 12 if half == "pm" else hour % 12 if half == "am" else hour


def day(text: str, year: int, month: int, number: int) -> Moment | None:
    """A date whose year or day may be missing (0). None when the day does not exist."""
    if not 1 <= month <= 12 or not 0 <= number <= 31:
        return None
    offers = [f"mon:{month}"]
    if number:
        try:
            exact = date(year or 2024, month, number)
        except ValueError:
            return None
        offers.append(f"d:{month}-{number}")
        if year:
            offers += [f"d:{year}-{month}-{number}", f"wd:{exact.weekday()}"]
        else:
            offers += [f"d?:{month}-{number}", f"#{number}"]
    if year:
        offers += [f"m:{year}-{month}", f"#{year}"]
    wants: tuple[str, ...]
    if year and number:
        wants = (f"d:{year}-{month}-{number}", f"d?:{month}-{number}")
    elif number:
        wants = (f"d:{month}-{number}",)
    else:
        wants = (f"m:{year}-{month}",) if year else (f"mon:{month}",)
    return Moment("date", text, wants, tuple(offers), (year, month, number))


def _time(text: str, hour: int, minute: int, second: str | None) -> Moment | None:
    if hour > 24 or minute > 59:
        return None
    key = f"t:{hour}:{minute:02}"
    offers = [key]
    if second:
        offers.append(f"{key}:{second}")
    if hour < 12 and ("am" not in text.lower()):
        offers.append(f"t:{hour + 12}:{minute:02}")
    return Moment("time", text, (f"{key}:{second}" if second else key,), tuple(offers))


def joined_moment(words: list[str], capital: bool, before: list[str]) -> tuple[Moment | None, int]:
    """The date or time in words at the start of ``words`` (lower case), and how many of them it takes. ``before``: the
    words before it, lower case."""
    first = words[0]
    rest = words[1:]
    if first in _WEEKDAYS or (first.endswith("s") and first[:-1] in _WEEKDAYS):
        key = f"wd:{_WEEKDAYS[first] if first in _WEEKDAYS else _WEEKDAYS[first[:-1]]}"
        return Moment("date", first, (key,), (key,)), 1
    if first in ("noon", "midnight"):
        key = "t:12:00" if first == "noon" else "t:0:00"
        wants = (key,) if first == "noon" else (key, "t:24:00")
        return Moment("time", first, wants, (key,)), 1
    if rest and rest[0] in ("am", "pm", "a.m", "p.m", "a.m.", "p.m.", "uhr", "o'clock"):
        clock = re.fullmatch(r"([0-9]{1,2})(?::([0-9]{2}))?", first)
        half = rest[0].replace(".", "")
        made = _time(" ".join(words[:2]), _half(int(clock[1]), half), int(clock[2] or 0), None) if clock else None
        return (made, 2) if made else (None, 0)
    numbered = _DAY.match(first)
    if numbered and rest:
        skip = 1 if rest[0] == "of" and len(rest) > 1 else 0
        month = _MONTHS.get(rest[skip].rstrip("."))
        if month:
            year = int(rest[skip + 1]) if len(rest) > skip + 1 and _YEAR.match(rest[skip + 1]) else 0
            made = day(" ".join(words[: 2 + skip + bool(year)]), year, month, int(numbered[1]))
            return (made, 2 + skip + bool(year)) if made else (None, 0)
    month = _MONTHS.get(first.rstrip("."))
    return _month_first(words, month, capital, before) if month else (None, 0)


def _month_first(words: list[str], month: int, capital: bool, before: list[str]) -> tuple[Moment | None, int]:
    rest = words[1:]
    number = _DAY.match(rest[0]) if rest else None
    if number and 1 <= int(number[1]) <= 31:
        year = int(rest[1]) if len(rest) > 1 and _YEAR.match(rest[1]) else 0
        made = day(" ".join(words[: 2 + bool(year)]), year, month, int(number[1]))
        return (made, 2 + bool(year)) if made else (None, 0)
    if rest and _YEAR.match(rest[0]):
        return day(" ".join(words[:2]), int(rest[0]), month, 0), 2
    # "May" and "March" are words as well, "Jun" and "Jan" names.
    opened = before[-1:] and before[-1] in _BEFORE_MONTH and not (before[-1] == "by" and before[0] in _OF_A_PERSON)
    if capital and (words[0] not in _MONTH_LIKE or opened):
        return day(words[0], 0, month, 0), 1
    return None, 0


def same_month(offers: tuple[str, ...], number: int) -> tuple[str, ...]:
    """What another day of the month that ``offers`` is of offers: 12 in ``12 to 17 May``."""
    full = next((key for key in offers if re.match(r"d:[0-9]{4}-", key)), "")
    short = next((key for key in offers if re.match(r"d:[0-9]{1,2}-", key)), "")
    year = int(full[2:].split("-")[0]) if full else 0
    made = day("", year, int(short[2:].split("-")[0]), number) if short else None
    return made.offers if made else ()


def in_year(offers: tuple[str, ...], noted: date) -> tuple[str, ...]:
    """``offers`` of a note, plus the keys that follow from its day: the year for dates without a year, and the date
    for each weekday."""
    more: list[str] = []
    dated = any(key.startswith(("d:", "d?:")) for key in offers)
    for key in offers:
        if key.startswith("d?:"):
            month, _, number = key[3:].partition("-")
            for year in (noted.year - 1, noted.year, noted.year + 1):
                try:
                    exact = date(year, int(month), int(number))
                except ValueError:
                    continue
                if abs((exact - noted).days) < 200:
                    more += [f"d:{year}-{month}-{number}", f"m:{year}-{month}", f"wd:{exact.weekday()}"]
        elif key.startswith("wd:") and not dated:
            for offset in range(-7, 8):
                near = noted + timedelta(days=offset)
                if near.weekday() == int(key[3:]):
                    more += [f"d:{near.year}-{near.month}-{near.day}", f"d:{near.month}-{near.day}"]
    kept = tuple(k for k in offers if not k.startswith("d?:")) if more else offers
    return (*kept, *more)
