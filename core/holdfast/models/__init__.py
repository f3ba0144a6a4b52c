"""Values that cross a boundary. All are frozen. Construction checks the shape, and no code here touches a file.

Names resolve on first use, because building the classes of all models takes as long as starting Python, and a command
needs few of them.
"""

TYPE_CHECKING = False  # as in holdfast/__init__
if TYPE_CHECKING:
    from holdfast.models.conversation import Message as Message
    from holdfast.models.conversation import Turn as Turn
    from holdfast.models.conversation import turns_of as turns_of
    from holdfast.models.curated import CuratedDecision as CuratedDecision
    from holdfast.models.curated import CuratedEntry as CuratedEntry
    from holdfast.models.curated import CuratedLines as CuratedLines
    from holdfast.models.dream import DreamDraft as DreamDraft
    from holdfast.models.dream import DreamSources as DreamSources
    from holdfast.models.extraction import Extraction as Extraction
    from holdfast.models.extraction import FactCandidate as FactCandidate
    from holdfast.models.extraction import Profile as Profile
    from holdfast.models.facts import AddOutcome as AddOutcome
    from holdfast.models.facts import AddResult as AddResult
    from holdfast.models.facts import Category as Category
    from holdfast.models.facts import Fact as Fact
    from holdfast.models.finding import Finding as Finding
    from holdfast.models.finding import Severity as Severity
    from holdfast.models.payload import CuratedInput as CuratedInput
    from holdfast.models.payload import HandoffFields as HandoffFields
    from holdfast.models.payload import MutationKind as MutationKind
    from holdfast.models.payload import Payload as Payload
    from holdfast.models.payload import StateMutation as StateMutation
    from holdfast.models.payload import payload_of as payload_of
    from holdfast.models.receipt import Evidence as Evidence
    from holdfast.models.receipt import Receipt as Receipt
    from holdfast.models.receipt import Written as Written

_MODULES = {
    "conversation": ("Message", "Turn", "turns_of"),
    "curated": ("CuratedDecision", "CuratedEntry", "CuratedLines"),
    "dream": ("DreamDraft", "DreamSources"),
    "extraction": ("Extraction", "FactCandidate", "Profile"),
    "facts": ("AddOutcome", "AddResult", "Category", "Fact"),
    "finding": ("Finding", "Severity"),
    "payload": ("CuratedInput", "HandoffFields", "MutationKind", "Payload", "StateMutation", "payload_of"),
    "receipt": ("Evidence", "Receipt", "Written"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_WHERE)


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'holdfast.models' has no attribute {name!r}")
    import importlib

    found = getattr(importlib.import_module(f"holdfast.models.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)
