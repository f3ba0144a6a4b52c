"""holdfast: memory for agents that survives compaction, provider swaps, restarts and session ends.

Nothing is dropped until it is durable. Importing this package reads no file and imports nothing else; names
resolve on first use.
"""

# From the distribution holdfast-memory, see holdfast_memory.
__all__ = [
    "CuratedDecision", "CuratedEntry", "Extraction", "Fact", "Finding", "FlushRefused", "HandoffFields", "Holdfast",
    "HoldfastError", "Message", "Payload", "Receipt", "Refused", "Session", "StateMutation", "Turn", "hookimpl",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from holdfast import api

    return getattr(api, name)


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
