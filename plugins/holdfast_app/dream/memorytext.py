"""Curated memory as items under headings, read from Markdown that people and models write."""

import re
from typing import Final

from attrs import field, frozen

from holdfast_app.markdown.lines import ITEM, TEXT, Lines
from holdfast_app.markdown.marks import without_boxes

#: Labels of a note's lines with lasting statements, and the memory's headings for them.
LASTING: Final = {"Rule": "Rules", "Decision": "Decisions", "Rejected": "Given up", "Fact": "Facts"}
#: The title for a memory without one.
TITLE: Final = "# Memory"

_BOLD_HEADING = re.compile(r"(\*\*|__)([^*_]{1,80}?):?\1:?")
_NOTHING = re.compile(
    r"[\W_]*+(?:none|nothing|empty|n/?a|null|todo|tbd|ok(?:ay)?|done|no (?:changes?|items?|memor(?:y|ies)|content))?"
    r"(?: yet| so far)?[\W_]*+",
    re.IGNORECASE,
)


@frozen(kw_only=True)
class Item:
    """One item of a memory. ``line`` is its first line in the source, 1-based."""

    text: str
    heading: str = ""
    line: int = 0


@frozen(kw_only=True)
class Memory:
    """A memory as its items, in order. ``prose`` holds the lines that are neither items nor headings."""

    title: str = ""
    items: tuple[Item, ...] = field(default=(), converter=tuple[Item, ...])
    prose: tuple[str, ...] = ()

    def render(self, title: str = "") -> str:
        """Markdown with a title, items without a heading, then the others under theirs. No heading is empty."""
        lines = [title or self.title or TITLE]
        heading: str | None = None
        for item in sorted(self.items, key=lambda i: bool(i.heading)):
            if item.heading != heading:
                heading = item.heading
                lines += ["", f"## {heading}", ""] if heading else [""]
            lines.append(f"- {item.text}")
        return "\n".join(lines) + "\n"


def read(text: str, *, prose_is_item: bool = False) -> Memory:
    """Parse a memory from Markdown. Items marked with ``*``, ``+``, ``1.`` or boxes become plain items, headings become
    second-level headings, and wrapped lines are joined. The first level-one heading is the title.

    Empty items ("none") are left out. All other lines go to ``prose``; with ``prose_is_item`` they become items, so
    nothing that a person wrote is lost.
    """
    rows: list[tuple[list[str], str, int]] = []  # each item's lines, heading and number
    prose: list[str] = []
    title = heading = ""
    wraps = False  # whether a line without a mark continues the last item
    for line in Lines(text, code_is_text=True):
        said = " ".join(line.text.split())
        bold = _BOLD_HEADING.fullmatch(said) if line.kind == TEXT else None
        if wraps and line.kind == TEXT and not bold:
            rows[-1][0].append(said)
            continue
        wraps = False
        if line.level == 1 and said and not title and not rows:
            title = f"# {said}"
        elif line.level or bold:
            heading = (bold[2] if bold else said).strip("*_ ").rstrip(": ")
        elif line.kind == ITEM:
            said = without_boxes(said)
            if wraps := not _NOTHING.fullmatch(said):
                rows.append(([said], heading, line.number))
        elif line.kind == TEXT and not prose_is_item:
            prose.append(said)
        elif line.kind == TEXT and not _NOTHING.fullmatch(said):
            rows.append(([said], heading, line.number))
    items = [Item(text=" ".join(lines), heading=under, line=number) for lines, under, number in rows]
    return Memory(title=title, items=items, prose=tuple(prose))
