"""Blocks of notes that features write or change: summaries that come later, decisions about work, purges and merges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.flush import notes
from holdfast.flush.notes import PARTS, Block, block, blocks, by_label, comment, escape, part
from holdfast.storage import block_marker, tombstone
from holdfast.text.lazy import Lazy
from holdfast.text.plain import one_line
from holdfast_app.records import ownlines

if TYPE_CHECKING:
    from holdfast.models import Payload


_GONE = Lazy(r"^<!-- holdfast:gone (\S+) -->$", re.MULTILINE)


def later(flush_id: str, by: str, text: str, *, session: str, at: datetime, part: str = "") -> tuple[str, str]:
    """Id and block of a summary that came after its flush's block, from the extractor ``by``. ``part`` names the
    piece when the summary covers only a piece of the flush."""
    block_id = "-".join(filter(None, (flush_id, by, part)))
    about = f" session={comment(session)} reason=summary"
    lines = ("", ownlines.line(ownlines.OF_BLOCK, flush_id, by), "", escape(text.strip()))
    return block_id, block(ownlines.LATER_TITLE, block_id, at, about, *lines)


def decided(block_id: str, *, session: str, title: str, opens: bool, because: str, at: datetime) -> str:
    """The block that says that the work of ``session`` was closed or reopened by command."""
    return block(
        ownlines.REOPENED_TITLE if opens else ownlines.CLOSED_TITLE,
        block_id,
        at,
        f" session={comment(session)} reason=work",
        "",
        f"Work is {'open again' if opens else 'closed by command'}: {one_line(title)}",
        *([f"\nBecause: {one_line(because)}"] if because else []),
    )


def late(draft: Payload) -> str:
    """The decisions and rejected approaches of a draft that comes after its flush, as parts of a block."""
    stated = by_label(draft)
    named = [(heading, label, many) for heading, labels in PARTS for label, many in labels.items() if stated[label]]
    shown = [one for one in named if one[1] in ("Decision", "Rejected")]
    return "\n\n".join(part(heading, stated, {label: many}) for heading, label, many in shown)


def without(text: str, gone: Callable[[Block], bool]) -> str:
    """A note or trail without the selected blocks. Their tombstones stay above the others."""
    plain = text.replace("\r\n", "\n")
    found = [one for one in blocks(plain) if gone(one)]
    for one in found:
        marker = block_marker(one.id)
        rest = one.text.partition("\n")[2]
        # Without its own heading the block begins at its marker, because the text above belongs to another block.
        own = one.text if rest.startswith(marker) else one.text[one.text.index(marker) :]
        whole = f"\n{own}\n"
        plain = plain.replace(whole, "", 1) if whole in plain else plain.replace(own, "", 1)
    return buried(plain, (tombstone(one.id) for one in found)) if found else text


def buried(text: str, stones: Iterable[str]) -> str:
    """A note or trail with further tombstones, above its first block."""
    first = notes.MARK.search(text)
    at = text.rfind("\n## ", 0, first.start()) + 1 if first else len(text)
    lines = "".join(f"<!-- holdfast:gone {stone} -->\n" for stone in stones)
    head = text[:at].rstrip("\n")
    return (f"{head}\n{lines}\n{text[at:]}" if first else f"{head}\n{lines}") if lines else text


def tombstones(text: str) -> list[str]:
    """A note's or trail's tombstones, in order."""
    return _GONE.findall(text)


def in_order(text: str, at: datetime, reached: dict[str, datetime]) -> Iterator[tuple[Block, datetime]]:
    """A note's blocks, each with a time that orders its statements. A block without a time takes the
    previous block's, the first one ``at``. Within a session the times never go back, even when the clock did;
    ``reached`` holds each session's last one, for the next note."""
    for one in blocks(text):
        at = one.at or at
        if one.session:
            at = reached[one.session] = max(at, reached.get(one.session, at))
        yield one, at
