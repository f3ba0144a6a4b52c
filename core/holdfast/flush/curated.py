"""Curated memory changes only by an explicit decision that adds a line or replaces a corrected line."""

from collections.abc import Iterable, Iterator, Sequence

from holdfast.models import CuratedEntry
from holdfast.text.lazy import Lazy
from holdfast.text.plain import BOM, lines, same_key

#: A line end of ``str.splitlines`` other than a newline.
_OTHER_END = Lazy("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
TITLES = {"memory": "# Memory", "user": "# User"}


def bullets(text: str) -> Iterator[str]:
    """A curated document's items, without their dashes, one at a time, because it can have very many."""
    return filter(None, (_item_of(line) for _, line in lines(text.removeprefix(BOM))))


def _item_of(line: str) -> str:
    """An item's text as a flush writes it. Empty for other lines. This is not Markdown on purpose. An entry that
    reads ``---``, or is added below an unclosed fence, must be found again too."""
    bare = line.strip()
    return bare[2:].strip() if bare.startswith("- ") else ""


def not_found(text: str | None, entries: Iterable[CuratedEntry]) -> list[str]:
    """Lines to be replaced that ``text`` lacks, unless their entry is already in it."""
    wanted = {
        entry.replaces: {same_key(item(entry.replaces)), same_key(item(entry.text))}
        for entry in entries
        if entry.replaces
    }
    keys = frozenset[str]().union(*wanted.values())
    there = {key for line in bullets(text or "") if (key := same_key(line)) in keys} if keys else keys
    return [old for old, either in wanted.items() if not there & either]


def item(text: str) -> str:
    """An item on one line, without its dash."""
    return " ".join(text.split()).removeprefix("- ").strip()


def apply(text: str | None, entries: Iterable[CuratedEntry], surface: str) -> str:
    """``text`` with the decided entries. Everything else stays byte for byte, an editor's byte-order mark too.

    An existing entry adds nothing. An entry that ``replaces`` a line takes its place. If that line is
    missing, the entry is added, so a correction is never lost and applying it twice changes nothing.
    """
    mark = BOM if text and text.startswith(BOM) else ""
    text = text.removeprefix(BOM) if text else ""
    body = text if text.strip() else TITLES[surface]
    body = "\n".join(line for _, line in lines(body)) if _OTHER_END.search(body) else body.removesuffix("\n")
    rows = body.split("\n") if body else []
    for entry in entries:
        wanted = "- " + item(entry.text)
        key = same_key(wanted[2:])
        old = same_key(entry.replaces.strip().removeprefix("- ")) if entry.replaces else key
        keys = [same_key(content) if (content := _item_of(row)) else None for row in rows]
        if old != key and old in keys:
            rows[keys.index(old) : keys.index(old) + 1] = [] if key in keys else [wanted]
        elif key not in keys:
            if rows and rows[-1].strip() and not _item_of(rows[-1]):
                rows.append("")
            rows.append(wanted)
    return mark + "\n".join(rows) + "\n"


def without(text: str, gone: Sequence[str]) -> str:
    """``text`` without these items; everything else stays byte for byte."""
    if not gone:
        return text
    keys = {same_key(line) for line in gone}
    return "".join(
        line for _, line in lines(text, keepends=True) if not (entry := _item_of(line)) or same_key(entry) not in keys
    )
