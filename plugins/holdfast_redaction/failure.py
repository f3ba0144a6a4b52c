"""The error for text that redaction could not search completely."""

from __future__ import annotations

from holdfast.errors import Refused


class RedactionFailed(Refused):
    """A rule failed or took too long, so the text was not searched completely and must not be stored.

    The message names the rule, never the text.
    """
