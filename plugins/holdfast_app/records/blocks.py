"""Blocks of notes: read back, and those that features write or change (later summaries, decisions, purges, merges)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from holdfast import models
from holdfast.config.serde import moment
from holdfast.flush import notes
from holdfast.flush.notes import PARTS, by_label, comment, escape, part
from holdfast.storage import block_marker, tombstone
from holdfast.text.lazy import Lazy
from holdfast.text.plain import lines as split
from holdfast.text.plain import one_line
from holdfast_app.records import ownlines

_STAMP = Lazy(r"^<!-- at=(\S+) session=(.*) reason=(\S+) -->$", re.MULTILINE)
_BY = re.compile(r"^<!-- by=(.*) -->$", re.MULTILINE)
_OBJECTIVE = re.compile(r"^\*\*Objective:\*\* (.*)$", re.MULTILINE)
_MARK = Lazy(r"^<!-- holdfast:block id=(\S+) -->$", re.MULTILINE)
_GONE = Lazy(r"^<!-- holdfast:gone (\S+) -->$", re.MULTILINE)
#: A statement, or the beginning of a quoted message.
SAID = re.compile(r"^- (?:(?P<label>Fact|Decision|Rule|memory|user): |\(\w{8}\) )(?P<text>.+)", re.MULTILINE)
#: How many of the newest statements in notes a brief compares. A page shows fewer.
COMPARED = 200


class Block(NamedTuple):
    """A block as read back: ``at`` is UTC."""

    id: str
    at: datetime | None
    session: str
    reason: str
    title: str
    text: str
    objective: str
    by: str = ""

    @property
    def lines(self) -> Iterator[tuple[str, str, str]]:
        """(heading, label, text) of its list items, in order. Parsed from the text each time, because the items of many
        short lines would take many times the block's bytes."""
        heading = ""
        for _, line in split(self.text):
            if line == ownlines.SUMMARY:
                return  # always last, and its content is third-party Markdown
            if line.startswith("### "):
                heading = line.removeprefix("### ")
            elif line.startswith("- ") and heading:
                label, _, item = line.removeprefix("- ").partition(": ")
                yield heading, label, item

    def items(self, *labels: str) -> tuple[str, ...]:
        """The content of all lines with these labels, without ``none``. Labels are Rule, Fact, Decision, State,
        Rejected, Blocker, Needed, Next step, Promised and Artifact."""
        return tuple(t for _, label, t in self.lines if label in labels and t.casefold() != "none")


def blocks(text: str) -> Iterator[Block]:
    """A note's blocks in order of appearance. Manually written text between them is left alone. A block without its own
    heading begins at its marker and takes the title above."""
    text = text.replace("\r\n", "\n")  # an editor may have saved it so
    marks = list(_MARK.finditer(text))
    title = ""
    for number, mark in enumerate(marks):
        heading = text.rfind("\n## ", marks[number - 1].end() if number else 0, mark.start())
        start = heading + 1 if heading >= 0 or not number else mark.start()
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        following = text.find("\n## ", mark.end(), end)
        part = text[start : following if following >= 0 else end].strip("\n")
        stamped = _STAMP.search(part)
        title = part.split("\n", 1)[0].removeprefix("## ") if start < mark.start() else title
        yield Block(
            id=mark[1],
            at=_moment(stamped[1]) if stamped else None,
            session=stamped[2] if stamped else "",
            reason=stamped[3] if stamped else "",
            title=title,
            text=part,
            objective=objective[1] if (objective := _OBJECTIVE.search(part)) else "",
            by=by[1] if (by := _BY.search(part)) else "",
        )


def _moment(text: str) -> datetime | None:
    try:
        return moment(text)
    except ValueError:
        return None  # a manual edit of a timestamp must not keep a flush from being saved


def later(flush_id: str, by: str, text: str, *, session: str, at: datetime, part: str = "") -> tuple[str, str]:
    """Id and block of a summary that came after its flush's block, from the extractor ``by``. ``part`` names the
    piece when the summary covers only a piece of the flush."""
    block_id = "-".join(filter(None, (flush_id, by, part)))
    about = f" session={comment(session)} reason=summary"
    lines = ("", ownlines.line(ownlines.OF_BLOCK, flush_id, by), "", escape(text.strip()))
    return block_id, notes.block(ownlines.LATER_TITLE, block_id, at, about, *lines)


def decided(block_id: str, *, session: str, title: str, opens: bool, because: str, at: datetime) -> str:
    """The block that says that the work of ``session`` was closed or reopened by command."""
    return notes.block(
        ownlines.REOPENED_TITLE if opens else ownlines.CLOSED_TITLE,
        block_id,
        at,
        f" session={comment(session)} reason=work",
        "",
        f"Work is {'open again' if opens else 'closed'}: {one_line(title)}",
        *([f"\nBecause: {one_line(because)}"] if because else []),
    )


def late(draft: models.Payload) -> str:
    """The decisions and rejected approaches of a draft that comes after its flush, as parts of a block."""
    stated = by_label(draft)
    named = [(heading, label, many) for heading, labels in PARTS for label, many in labels.items() if stated[label]]
    shown = [row for row in named if row[1] in ("Decision", "Rejected")]
    return "\n\n".join(part(heading, stated, {label: many}) for heading, label, many in shown)


def without(text: str, gone: Callable[[Block], bool]) -> str:
    """A note or trail without the selected blocks. Their tombstones stay above the others."""
    plain = text.replace("\r\n", "\n")
    removed = [block for block in blocks(plain) if gone(block)]
    for block in removed:
        marker = block_marker(block.id)
        rest = block.text.partition("\n")[2]
        # Without its own heading the block begins at its marker, because the text above belongs to another block.
        own = block.text if rest.startswith(marker) else block.text[block.text.index(marker) :]
        whole = f"\n{own}\n"
        plain = plain.replace(whole, "", 1) if whole in plain else plain.replace(own, "", 1)
    return buried(plain, (tombstone(block.id) for block in removed)) if removed else text


def buried(text: str, stones: Iterable[str]) -> str:
    """A note or trail with further tombstones, above its first block."""
    first = _MARK.search(text)
    at = text.rfind("\n## ", 0, first.start()) + 1 if first else len(text)
    lines = "".join(f"<!-- holdfast:gone {stone} -->\n" for stone in stones)
    head = text[:at].rstrip("\n")
    return (f"{head}\n{lines}\n{text[at:]}" if first else f"{head}\n{lines}") if lines else text


def tombstones(text: str) -> list[str]:
    return _GONE.findall(text)


def in_order(text: str, at: datetime, reached: dict[str, datetime]) -> Iterator[tuple[Block, datetime]]:
    """A note's blocks, each with a time that orders its statements. A block without a time takes the
    previous block's, the first one ``at``. Within a session the times never go back, even when the clock did;
    ``reached`` holds each session's last one, for the next note."""
    for block in blocks(text):
        at = block.at or at
        if block.session:
            at = reached[block.session] = max(at, reached.get(block.session, at))
        yield block, at
