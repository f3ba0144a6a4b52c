"""A morning report's start, which fits a phone: what needs you, what changed, what does not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.text.plain import cut
from holdfast_app.outbox.forge import Activity
from holdfast_app.report.report import Line

#: Rows of the screen and characters of a row.
ROWS: Final = 25
WIDTH: Final = 60
#: Rows other than items: title, three headings and the blank lines between them, and the sentence at the end.
_FIXED: Final = 10
#: First entries under "Changed": kinds of activity, then first words of its text.
_FIRST: Final = (
    ("release", "tag", "push", "checks", "merge", "repository"),
    ("merged", "closed", "reopened"),
    ("opened",),
)
_NAMES: Final = ("Needs you", "Changed", "Does not fit together")


def screen(
    needs: Sequence[Line], changed: Sequence[str], findings: Sequence[Line], remarks: Sequence[str]
) -> tuple[str, ...]:
    """The rows, without the title and the remarks. Items without room are counted and follow in the sections."""
    needs = sorted(needs, key=lambda line: line.text.startswith("Promised: "))
    items = ([line.short or line.text for line in needs], [*changed], [line.short or line.text for line in findings])
    room = ROWS - _FIXED - sum(-(-len(remark) // WIDTH) + 1 for remark in remarks)
    rows = [0, 0, 0]
    for at in (0, 1, 2, 0, 1) * ROWS:
        if sum(rows) < max(room, 6) and rows[at] < len(items[at]):
            rows[at] += 1
    parts = []
    for name, found, most in zip(_NAMES, items, rows, strict=True):
        parts += ["", f"**{name}: {len(found) or 'nothing'}**"]
        shown = found[: most if most == len(found) else max(most - 1, 0)]
        parts += [f"- {cut(item, WIDTH - 2)}" for item in shown]
        if len(shown) < len(found):
            parts.append(f"- and {len(found) - len(shown)} more below")
    return (*parts[1:], "", "_The sections below have the rest and the proof._")


def grouped(happened: Iterable[tuple[Activity, Line]]) -> list[str]:
    """One row for each kind of event on the forge, the most important first."""
    groups: dict[tuple[int, str], dict[str, str]] = {}
    for one, line in happened:
        verb = one.text.partition(":")[0] if one.kind not in ("comment", "commit") else f"{one.kind}s"
        rank = next((n for n, words in enumerate(_FIRST) if one.kind in words or verb in words), len(_FIRST))
        group = groups.setdefault((rank + (one.kind == "comment"), verb), {})
        group[f"{one.target}\0{one.pointer}" if one.kind == "commit" else one.target] = line.short or line.text
    return [
        next(iter(shown.values())) if len(shown) == 1 else f"{verb}: {', '.join(dict.fromkeys(map(short, shown)))}"
        for (_, verb), shown in sorted(groups.items(), key=lambda pair: pair[0][0])
    ]


def short(target: str) -> str:
    """``owner/repo#12`` without the owner."""
    return target.partition("\0")[0].rpartition("/")[2]
