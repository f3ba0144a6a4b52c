"""Findings for text checked against its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.models import Finding
from holdfast_app.dream.grounding import Grounded, ground

if TYPE_CHECKING:
    from holdfast.subject import Subject

#: In strict mode more than this share of a line's words has to be in its source sentences.
STRICT: Final = 0.8

_SAID: Final = {
    "misattributed": "the sources say {} of something else",
    "negation": "the sources say the opposite ({})",
    "length": "is too long to be traced: {}",
    "unit": "{} has another unit in the sources",
}


_DOUBTED: Final = {
    "hedge": "they only suppose it ({})",
    "always": "they do not say {}",
    "roles": "they say it of something else than {}",
    "cause": "they name another cause than {}",
    "opposite": "one of the two has a {}",
    "clause": "nothing is known of {}",
    "wording": "they have other words than {}",
}


def check(subject: Subject, *, strict: bool) -> tuple[Finding, ...]:
    """Findings in line order, one per ungrounded line."""
    found = []
    for line in ground(subject.text.splitlines(), subject.sources):
        if line.is_open and line.text in subject.entailed:
            continue
        if line.inventions:
            kind, token = line.inventions[0]
            message = _SAID.get(kind, "{} is in no source").format(f"`{token[:80]}`")
            more = [t for _, t in line.inventions[1:4]]
            message += f", nor {', '.join(f'`{t[:80]}`' for t in more)}" if more and kind not in _SAID else ""
            found.append(_finding(subject, line, kind, message))
        elif line.doubts:
            kind, token = line.doubts[0]
            message = f"cannot be proved by its sources: {_DOUBTED[kind].format(f'`{token[:80]}`')}"
            found.append(_finding(subject, line, "unproven", message))
        elif strict and line.coverage <= STRICT and not line.text.lstrip().startswith("#"):
            message = f"only {line.coverage:.0%} of its words are in source sentences"
            found.append(_finding(subject, line, "unsupported", message))
    return tuple(found)


def _finding(subject: Subject, line: Grounded, kind: str, message: str) -> Finding:
    near = f"; nearest: {line.supports[0].document} line {line.supports[0].line}" if line.supports else ""
    return Finding(
        rule=f"grounding/{kind}",
        message=message + near,
        line=line.number,
        fix="Leave the line out, or write what the sources say.",
        name=subject.name,
    )
