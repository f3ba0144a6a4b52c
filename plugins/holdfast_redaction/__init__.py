"""Keeps secrets and personal data out of memory. An ``on_validate`` plugin, and ``redact`` for anything else.

>>> from holdfast_redaction import redact
>>> redact("nothing to hide")
'nothing to hide'

Modules are imported on first use, because this package is loaded at every agent event. See docs/redaction.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast_redaction.plugin import Redaction as Redaction

__all__ = ["Redaction", "redact"]


def redact(text: str) -> str:
    """``text`` with all secrets and personal identifiers masked that the default rules find.

    A placeholder is ``[REDACTED:rule:xxxx]``. Equal secrets get the same one within a process, and redacting again
    changes nothing. Raises: RedactionFailed when a rule does not finish.
    """
    from holdfast_redaction.engine import default_redactor

    return default_redactor()(text)


def __getattr__(name: str) -> object:
    if name == "Redaction":
        from holdfast_redaction.plugin import Redaction

        return Redaction
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
