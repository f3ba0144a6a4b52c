"""Automation output for the operator: heartbeat or briefing entries with their severity.

Reads JSON, JSON lines, Markdown lists and tables, and plain lines. An entry is bad or doubtful when its status or its
words say so. An unclear entry counts as good, since most entries only state something.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, Final

from attrs import frozen

from holdfast.text import untrusted
from holdfast.text.plain import one_line
from holdfast_app.markdown.lines import HEADING, ITEM, TEXT, read_line
from holdfast_app.markdown.marks import without_boxes

MAX_CHARS: Final = 300
_STATUS: Final = ("status", "state", "level", "severity", "result", "outcome", "health", "ok", "healthy", "success")
_TIME: Final = ("at", "time", "timestamp", "ts", "date", "when")
_CODE: Final = ("exit_status", "exit_code", "returncode")
_BAD: Final = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|critical|fatal|panic|down|dead|unreachable|crash(?:ed)?|refused"
    r"|timed?[ -]?out|broken|unhealthy|alert|emergency)\b",
    re.IGNORECASE,
)
_DOUBTFUL: Final = re.compile(
    r"\b(?:warn(?:ings?)?|degraded|slow|stale|late|retry(?:ing)?|skipped|unknown)\b", re.IGNORECASE
)
#: Negations: "no errors", "0 failed", "errors: 0".
_NONE: Final = re.compile(
    r"\b(?:no|0|zero|without|never|not)\s+(?:\w+\s+)?(?:fail\w*|errors?|warnings?|alerts?|down|crash\w*)\b"
    r"|\b(?:fail\w*|errors?|warnings?|alerts?|crashes)\"?\s*[:=]\s*(?:0\b|none\b|no(?=\s*(?:[,;.|]|$))|false\b|\[\]|null\b)",
    re.IGNORECASE,
)
_CLOCK: Final = r"([0-2]?\d:[0-5]\d(?::[0-5]\d)?(?:\.\d+)?)"
_MOMENT: Final = re.compile(rf"\b(?:(\d{{4}}-\d\d-\d\d)[T ])?{_CLOCK}(Z|[+-]\d\d:?\d\d)?\b")
#: Characters of a table's rule and of a heading's underline.
_RULE: Final = " \t|:=-"


class Level(IntEnum):
    """An entry's severity. Greater is worse."""

    GOOD = 0
    DOUBTFUL = 1
    BAD = 2


@frozen(kw_only=True)
class Entry:
    """One entry on one line; ``at`` is its time in a form that sorts, empty when it has none."""

    text: str
    level: Level
    at: str = ""


def entries(name: str, text: str) -> list[Entry]:
    """Entries from the document ``name``, oldest first where they have times, otherwise in document order."""
    found = list(_of_json(text) if name.endswith((".json", ".jsonl", ".ndjson")) else _of_lines(text))
    if all(entry.at for entry in found):
        found.sort(key=lambda entry: entry.at)
    return found


def summary(found: Sequence[Entry]) -> list[str]:
    """Lines that report ``found``: the newest entry, preceded by the worst entry when that is worse."""
    if not found:
        return []
    newest = found[-1]
    worst = max(reversed(found), key=lambda entry: entry.level)  # the newest among the worst
    if worst.level <= newest.level:
        return [newest.text]
    return [f"{worst.text} (the worst of {len(found)})", f"{newest.text} (the newest of {len(found)})"]


def _of_json(text: str) -> Iterator[Entry]:
    try:
        yield from _of_value(untrusted.from_json(text))
        return
    except (ValueError, RecursionError):
        pass  # then each line is one value
    for line in text.splitlines():
        if line.strip():
            try:
                yield from _of_value(untrusted.from_json(line))
            except (ValueError, RecursionError):
                yield _of_text(f"{line} (not JSON)", least=Level.DOUBTFUL)


def _of_value(value: Any) -> Iterator[Entry]:
    if isinstance(value, list):
        for item in value:
            yield from _of_value(item)
        return
    if not isinstance(value, dict):
        yield _of_text(value if isinstance(value, str) else json.dumps(value))
        return
    inner = [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
    if inner:
        for item in inner:
            yield from _of_value(item)
        value = {key: item for key, item in value.items() if item not in inner}
        if not value or _level(value) is None:
            return
    text = one_line(json.dumps(value, ensure_ascii=False))
    level = _level(value)
    words = _of_text(text)
    yield Entry(text=words.text, level=words.level if level is None else level, at=_time(value) or words.at)


def _level(table: dict[str, Any]) -> Level | None:
    """The severity in the table's own status field, or None."""
    lower = {str(key).casefold(): value for key, value in table.items()}
    levels = [_level_of(lower[key]) for key in _STATUS if key in lower]
    levels += [Level.BAD if lower[key] else Level.GOOD for key in _CODE if isinstance(lower.get(key), int)]
    return max(levels, default=None)


def _level_of(value: object) -> Level:
    if isinstance(value, bool):
        return Level.GOOD if value else Level.BAD
    return _words(str(value))


def _time(table: dict[str, Any]) -> str:
    for key in _TIME:
        value = table.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11:
            return datetime.fromtimestamp(value, UTC).isoformat()
        if isinstance(value, str) and value:
            return _moment(value)
    return ""


def _moment(text: str) -> str:
    """The first time in ``text``: in UTC when it has a date and an offset, otherwise unchanged."""
    match = _MOMENT.search(text)
    if match is None:
        return ""
    day, clock, offset = match.groups()
    clock = clock.zfill(len(clock) + (clock.index(":") == 1))
    if day and offset:
        try:
            return datetime.fromisoformat(f"{day}T{clock}{offset}").astimezone(UTC).isoformat()
        except ValueError:
            pass
    return f"{day or ''}T{clock}"


def _of_lines(text: str) -> Iterator[Entry]:
    """Each line except headings that state nothing bad; all headings when there is nothing else."""
    # Line by line, because a log is not Markdown as a whole: an unclosed fence in it would hide what comes after.
    read = (read_line(line) for line in text.splitlines())
    lines = [line for line in read if line.kind in (HEADING, ITEM, TEXT) and line.text.strip(_RULE)]
    said = [line for line in lines if line.kind != HEADING or _words(line.text)] or lines
    for line in said:
        shown = without_boxes(line.text).lstrip("> ")
        yield _of_text(" | ".join(c.strip() for c in shown.strip("|").split("|")) if "|" in shown else shown)


def _of_text(text: str, *, least: Level = Level.GOOD) -> Entry:
    text = one_line(text)
    level = max(_words(text), least)
    text = text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1].rstrip() + "…"
    return Entry(text=text, level=level, at=_moment(text))


def _words(text: str) -> Level:
    text = _NONE.sub("", text)
    if _BAD.search(text):
        return Level.BAD
    return Level.DOUBTFUL if _DOUBTFUL.search(text) else Level.GOOD
