"""holdfast: memory for agents that survives compaction, provider swaps, restarts and session ends.

Nothing is dropped until it is durable. Importing this package reads no file and imports nothing else; names
resolve on first use.
"""

# From the distribution holdfast-memory, see holdfast_memory.
_WHERE = {
    "Holdfast": "application",
    "HoldfastError": "errors",
    "FlushRefused": "errors",
    "Refused": "errors",
    "hookimpl": "hooks",
    "Session": "application",
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
