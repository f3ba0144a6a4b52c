"""What redaction raises when it cannot vouch for a text."""

from __future__ import annotations

from holdfast.errors import Refused


class RedactionFailed(Refused):
    """A rule failed or ran too long, so the text was not searched to its end and must not be stored.

    The message names the rule and never the text.
    """
