"""Findings for text checked against its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.models import Finding
from holdfast_app.dream.grounding.check import Grounded, ground

if TYPE_CHECKING:
    from holdfast.validation import ValidationRequest

_SAID: Final = {
    "misattributed": "no single source has {} and the rest",
    "negation": "the nearest source lines have no {}",
    "length": "is too long to be traced: {}",
}


def check(request: ValidationRequest, *, strict: bool) -> tuple[Finding, ...]:
    """Findings in line order, one per ungrounded line. ``strict`` accepts quotations only, whatever a judge said."""
    found = []
    for line in ground(request.text.splitlines(), request.sources):
        if line.inventions:
            kind, token = line.inventions[0]
            message = _SAID.get(kind, "{} is in no source").format(f"`{token[:80]}`")
            more = [t for _, t in line.inventions[1:4]]
            message += f", nor {', '.join(f'`{t[:80]}`' for t in more)}" if more and kind not in _SAID else ""
            found.append(_finding(request, line, kind, message))
        elif not line.is_quoted and strict:
            found.append(_finding(request, line, "unsupported", "is not quoted from a source"))
        elif not line.is_quoted and line.text not in request.entailed:
            message = "cannot be proved by its sources: its words are not theirs"
            found.append(_finding(request, line, "unproven", message))
    return tuple(found)


def _finding(request: ValidationRequest, line: Grounded, kind: str, message: str) -> Finding:
    near = f"; nearest: {line.supports[0].document} line {line.supports[0].line}" if line.supports else ""
    return Finding(
        rule=f"grounding/{kind}",
        message=message + near,
        line=line.number,
        fix="Leave the line out, or write the words of the source.",
        name=request.name,
    )
