"""Values that cross a boundary. All are frozen. Construction checks the shape, and no code here touches a file.

Names resolve on first use, because building these classes takes as long as starting Python.
"""

TYPE_CHECKING = False  # as in holdfast/__init__
if TYPE_CHECKING:
    from holdfast.models.payload import *
    from holdfast.models.records import *

__all__ = [
    "AddOutcome", "AddResult", "Category", "Check", "CuratedDecision", "CuratedEntry", "CuratedInput", "CuratedLines",
    "DreamDraft", "DreamSources", "Evidence", "Extraction", "Fact", "FactCandidate", "Finding", "HandoffFields",
    "Message", "MutationKind", "Outcome", "Payload", "Profile", "Receipt", "Severity", "StateMutation", "Turn",
    "Written", "payload_of", "turns_of",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'holdfast.models' has no attribute {name!r}")
    import importlib

    modules = (importlib.import_module(f"holdfast.models.{part}") for part in ("records", "payload"))  # slowest last
    value = globals()[name] = next(getattr(module, name) for module in modules if hasattr(module, name))
    return value
