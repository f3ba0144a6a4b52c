"""Findings of validators."""

from __future__ import annotations

from enum import StrEnum

from attrs import field, frozen


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@frozen(kw_only=True)
class Finding:
    """A validator's finding.

    With ``span`` (start, end: character offsets into the request's text) and ``replacement``, core masks the span.
    An error without a replacement refuses the write. A warning is only reported. ``line`` is 1-based.
    """

    rule: str
    message: str
    severity: Severity = field(default=Severity.ERROR, converter=Severity)
    span: tuple[int, int] | None = None
    replacement: str | None = None
    line: int | None = None
    fix: str = ""
    name: str = ""
