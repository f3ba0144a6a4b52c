"""Values that cross a boundary. All are frozen. Construction checks the shape, and no code here touches a file."""

from holdfast.models.payload import *
from holdfast.models.records import *

__all__ = [
    "AddOutcome", "AddResult", "Category", "Check", "CuratedDecision", "CuratedEntry", "CuratedInput", "CuratedLines",
    "DreamDraft", "DreamSources", "Evidence", "Extraction", "Fact", "FactCandidate", "Finding", "HandoffFields",
    "Message", "MutationKind", "Outcome", "Payload", "Profile", "Receipt", "Severity", "StateMutation", "Turn",
    "Written", "payload_of", "turns_of",
]  # fmt: skip
