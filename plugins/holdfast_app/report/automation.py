"""Automation output for the operator: heartbeat or briefing entries, and which of them report a failure.

Reads JSON, JSON lines, Markdown lists and tables, and plain lines. An unclear entry counts as good, since most entries
only state something.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from holdfast.text import untrusted
from holdfast.text.plain import cut, one_line
from holdfast_app.markdown.lines import HEADING, ITEM, TEXT, read_line
from holdfast_app.markdown.marks import without_boxes

MAX_CHARS: Final = 300
_BAD: Final = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|critical|fatal|panic|down|dead|unreachable|crash(?:ed)?|refused"
    r"|timed?[ -]?out|broken|unhealthy|alert|emergency)\b"
    r"|\"(?:ok|healthy|success)\": false|\"(?:exit_status|exit_code|returncode)\": -?[1-9]",
    re.IGNORECASE,
)
#: Negations: "no errors", "0 failed", "errors: 0".
_NONE: Final = re.compile(
    r"\b(?:no|0|zero|without|never|not)\s+(?:\w+\s+)?(?:fail\w*|errors?|warnings?|alerts?|down|crash\w*)\b"
    r"|\b(?:fail\w*|errors?|warnings?|alerts?|crashes)\"?\s*[:=]\s*(?:0\b|none\b|no(?=\s*(?:[,;.|]|$))|false\b|\[\]|null\b)",
    re.IGNORECASE,
)
#: Characters of a table's rule and of a heading's underline.
_RULE: Final = " \t|:=-"


class Entry(NamedTuple):
    """One entry on one line. ``is_bad``: it reports a failure."""

    text: str
    is_bad: bool


def entries(name: str, text: str) -> list[Entry]:
    """Entries from the document ``name``, in its order."""
    shown = _of_json(text) if name.endswith((".json", ".jsonl", ".ndjson")) else _of_lines(text)
    return [Entry(cut(one_line(one), MAX_CHARS), _is_bad(one)) for one in shown]


def summary(found: Sequence[Entry]) -> list[str]:
    """Lines that report ``found``: the last entry, preceded by the last bad one when that is another."""
    if not found:
        return []
    last = found[-1]
    bad = next((one for one in reversed(found) if one.is_bad), last)
    if bad is last or last.is_bad:
        return [last.text]
    return [f"{bad.text} (the worst of {len(found)})", f"{last.text} (the last of {len(found)})"]


def _of_json(text: str) -> Iterator[str]:
    """Values from a JSON document, or from each line."""
    try:
        yield from _of_value(untrusted.from_json(text))
    except (ValueError, RecursionError):
        for line in filter(str.strip, text.splitlines()):
            try:
                yield from _of_value(untrusted.from_json(line))
            except (ValueError, RecursionError):
                yield f"{line} (not JSON)"


def _of_value(value: Any) -> Iterator[str]:
    """A value as one line. A list, and a table's list of tables, as several."""
    inner = next((v for v in value.values() if isinstance(v, list)), None) if isinstance(value, dict) else value
    if isinstance(inner, list) and (inner is value or isinstance(next(iter(inner), None), dict)):
        for one in inner:
            yield from _of_value(one)
    else:
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_lines(text: str) -> Iterator[str]:
    """Each line except headings that state nothing bad; all headings when there is nothing else."""
    # Line by line, because an unclosed fence in a log would hide the lines after it.
    read = (read_line(line) for line in text.splitlines())
    lines = [line for line in read if line.kind in (HEADING, ITEM, TEXT) and line.text.strip(_RULE)]
    for line in [line for line in lines if line.kind != HEADING or _is_bad(line.text)] or lines:
        yield without_boxes(line.text).strip("|> ")


def _is_bad(text: str) -> bool:
    return bool(_BAD.search(_NONE.sub("", text)))
