"""The redactor of ``redact``: default rules, all kinds, placeholders with this process's key."""

from __future__ import annotations

from functools import lru_cache

from holdfast_redaction.engine import Scanner, redact_with
from holdfast_redaction.mark import Marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@lru_cache(1)
def default_redactor() -> Callable[[str], str]:
    """The shared function, so that expressions are compiled once."""
    scanner = Scanner()
    marker = Marker()

    def redactor(text: str) -> str:
        return redact_with(scanner, text, marker.placeholder)

    return redactor
