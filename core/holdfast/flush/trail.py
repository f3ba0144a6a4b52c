"""The daily summary for the operator, to which a flush appends its changes of state."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from holdfast.config.serde import stamp
from holdfast.storage import block_marker
from holdfast.text.plain import one_line

if TYPE_CHECKING:
    from holdfast.models import Payload


def header(day: date) -> str:
    """The beginning of a new daily summary."""
    return f"# Daily Summary: {day.isoformat()}\n"


def block(payload: Payload, *, block_id: str, flush_id: str, note: str, session: str, at: datetime) -> str:
    """The state mutations of one flush, for the operator, with a pointer to the full note."""
    lines = [
        "",
        f"## State changes ({at:%H:%M})",
        block_marker(block_id),
        f"<!-- at={stamp(at.astimezone(UTC))} -->",
        "",
    ]
    lines += [f"- **{m.kind}** {one_line(m.target)}: {one_line(m.summary)}" for m in payload.state_mutations or ()]
    lines += ["", f"Source: {note}, block {flush_id}"]
    return "\n".join(lines) + "\n"
