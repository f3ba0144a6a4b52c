"""holdfast: memory for agents that survives compaction, provider swaps, restarts and session ends.

Nothing is dropped until it is durable. Importing this package reads no file and imports nothing else; names
resolve on first use.
"""

# From the distribution holdfast-memory, see holdfast_memory.
TYPE_CHECKING = False  # importing typing would cost ten times as much as everything else here
if TYPE_CHECKING:
    from holdfast.engine import Holdfast as Holdfast
    from holdfast.errors import FlushRefused as FlushRefused
    from holdfast.errors import HoldfastError as HoldfastError
    from holdfast.errors import Refused as Refused
    from holdfast.hooks import hookimpl as hookimpl
    from holdfast.models import CuratedDecision as CuratedDecision
    from holdfast.models import CuratedEntry as CuratedEntry
    from holdfast.models import Extraction as Extraction
    from holdfast.models import Fact as Fact
    from holdfast.models import Finding as Finding
    from holdfast.models import HandoffFields as HandoffFields
    from holdfast.models import Message as Message
    from holdfast.models import Payload as Payload
    from holdfast.models import Receipt as Receipt
    from holdfast.models import StateMutation as StateMutation
    from holdfast.models import Turn as Turn
    from holdfast.session.session import Session as Session

    __version__: str

_WHERE = {
    "Holdfast": "engine",
    "HoldfastError": "errors",
    "FlushRefused": "errors",
    "Refused": "errors",
    "hookimpl": "hooks",
    "Session": "session.session",
    **dict.fromkeys(
        (
            "CuratedDecision",
            "CuratedEntry",
            "Extraction",
            "Fact",
            "Finding",
            "HandoffFields",
            "Message",
            "Payload",
            "Receipt",
            "StateMutation",
            "Turn",
        ),
        "models",
    ),
}

__all__ = list(_WHERE)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name not in _WHERE:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"holdfast.{_WHERE[name]}"), name)


def _version() -> str:
    """The installed distribution's version, such as ``1.2.3``; ``(not installed)`` in a plain source tree."""
    from importlib.metadata import PackageNotFoundError, version

    from holdfast_memory import DISTRIBUTION

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "(not installed)"


def __dir__() -> list[str]:
    return list(__all__)
