"""The archive of curated memory, for lines that a newer value replaced or that no longer fit.

It is never read into a prompt; search finds it. :mod:`holdfast_app.dream.room` moves the lines.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.storage import block_marker, sha256
from holdfast.text.plain import one_line
from holdfast_app.base import Services
from holdfast_app.records import ownlines

#: The first line of a new archive, see :attr:`holdfast_app.base.Services.archive`.
HEADER: Final = ownlines.ARCHIVE_HEADER + "\n"
#: From this share of the limit on a flush and `holdfast doctor` warn.
NEARLY: Final = 0.9


def append(services: Services, lines: Sequence[str], flush_id: str, at: datetime) -> None:
    """Put a flush's lines into the archive, once. Raises: Refused, PluginError; Unavailable."""
    block_id = "archive_" + sha256("\n".join([flush_id, *lines]))[:16]
    name = services.archive
    text = services.gate.admit(block(block_id, at, "", lines), surface=Surface.DIARY, name=name)
    services.store.append(Surface.DIARY, name, text, HEADER, block_id)


def block(block_id: str, at: datetime, about: str, lines: Iterable[str]) -> str:
    heading = ownlines.line(ownlines.ARCHIVED_BLOCK, ownlines.ARCHIVED_TITLE, f"{at:%Y-%m-%d}", f"{at:%H:%M}")
    head = ("", heading, block_marker(block_id), f"<!-- at={stamp(at.astimezone(UTC))}{about} -->", "")
    return "\n".join([*head, *lines]) + "\n"


def archived(services: Services, items: Iterable[str]) -> set[str]:
    stored = services.store.read(services.archive)
    return {text for text in items if stored and f"\n- {one_line(text)} (" in stored.text}


def warning(items: int, most: int, name: str) -> str:
    """A sentence when a curated document is nearly full, else an empty string."""
    if items < most * NEARLY:
        return ""
    return (
        f"{name} has {items} items of {most}. Beyond that the least confirmed and oldest items move to the archive, "
        "which search still finds."
    )
