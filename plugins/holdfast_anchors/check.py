"""The judgement of a document with anchors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.models import Finding
    from holdfast.subject import Subject


def check(subject: Subject, required: tuple[str, ...] | None) -> tuple[Finding, ...]:
    """Findings in order of line; ``()`` when all is well."""
    return ()
