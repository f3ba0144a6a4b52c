"""Everything that the author of a plugin or a program imports from holdfast.

Names resolve on first use, so importing this module costs nothing. docs/plugin-api.md lists it with signatures.
"""

TYPE_CHECKING = False  # as in holdfast/__init__
if TYPE_CHECKING:
    from holdfast.application import Config as Config
    from holdfast.application import Holdfast as Holdfast
    from holdfast.application import Session as Session
    from holdfast.config.values import StorageConfig as StorageConfig
    from holdfast.errors import AnswerUnusable as AnswerUnusable
    from holdfast.errors import BadValue as BadValue
    from holdfast.errors import ConfigError as ConfigError
    from holdfast.errors import Conflict as Conflict
    from holdfast.errors import Corrupt as Corrupt
    from holdfast.errors import DuplicateFact as DuplicateFact
    from holdfast.errors import FlushRefused as FlushRefused
    from holdfast.errors import HoldfastError as HoldfastError
    from holdfast.errors import HookFailed as HookFailed
    from holdfast.errors import ModelFailed as ModelFailed
    from holdfast.errors import NotFound as NotFound
    from holdfast.errors import NothingToFlush as NothingToFlush
    from holdfast.errors import NotTrusted as NotTrusted
    from holdfast.errors import PluginError as PluginError
    from holdfast.errors import PluginLoadFailed as PluginLoadFailed
    from holdfast.errors import PluginNotFound as PluginNotFound
    from holdfast.errors import Refused as Refused
    from holdfast.errors import SettingsIgnored as SettingsIgnored
    from holdfast.errors import StorageError as StorageError
    from holdfast.errors import TryLater as TryLater
    from holdfast.errors import Unavailable as Unavailable
    from holdfast.errors import Unsupported as Unsupported
    from holdfast.hooks import LimitsItems as LimitsItems
    from holdfast.hooks import hookimpl as hookimpl
    from holdfast.models import AddOutcome as AddOutcome
    from holdfast.models import AddResult as AddResult
    from holdfast.models import Category as Category
    from holdfast.models import CuratedDecision as CuratedDecision
    from holdfast.models import CuratedEntry as CuratedEntry
    from holdfast.models import CuratedInput as CuratedInput
    from holdfast.models import CuratedLines as CuratedLines
    from holdfast.models import DreamDraft as DreamDraft
    from holdfast.models import DreamSources as DreamSources
    from holdfast.models import Evidence as Evidence
    from holdfast.models import Extraction as Extraction
    from holdfast.models import Fact as Fact
    from holdfast.models import FactCandidate as FactCandidate
    from holdfast.models import Finding as Finding
    from holdfast.models import HandoffFields as HandoffFields
    from holdfast.models import Message as Message
    from holdfast.models import MutationKind as MutationKind
    from holdfast.models import Payload as Payload
    from holdfast.models import Profile as Profile
    from holdfast.models import Receipt as Receipt
    from holdfast.models import Severity as Severity
    from holdfast.models import StateMutation as StateMutation
    from holdfast.models import Turn as Turn
    from holdfast.models import Written as Written
    from holdfast.models import payload_of as payload_of
    from holdfast.models import turns_of as turns_of
    from holdfast.plugin.checks import Check as Check
    from holdfast.plugin.checks import Outcome as Outcome
    from holdfast.plugin.discovery import PluginContext as PluginContext
    from holdfast.storage import ABSENT as ABSENT
    from holdfast.storage import Add as Add
    from holdfast.storage import Append as Append
    from holdfast.storage import Capability as Capability
    from holdfast.storage import Change as Change
    from holdfast.storage import Committed as Committed
    from holdfast.storage import ComposedBackend as ComposedBackend
    from holdfast.storage import Condition as Condition
    from holdfast.storage import Damage as Damage
    from holdfast.storage import Document as Document
    from holdfast.storage import DocumentPart as DocumentPart
    from holdfast.storage import FactOrder as FactOrder
    from holdfast.storage import FactPart as FactPart
    from holdfast.storage import Hit as Hit
    from holdfast.storage import HitKind as HitKind
    from holdfast.storage import Remove as Remove
    from holdfast.storage import StorageBackend as StorageBackend
    from holdfast.storage import Update as Update
    from holdfast.storage import Write as Write
    from holdfast.storage import block_marker as block_marker
    from holdfast.storage import check_name as check_name
    from holdfast.storage import sha256 as sha256
    from holdfast.storage import sha256_of as sha256_of
    from holdfast.storage import tombstone as tombstone
    from holdfast.text.factrules import duplicate_key as duplicate_key
    from holdfast.validation import CHUNK_CHARS as CHUNK_CHARS
    from holdfast.validation import MAX_DOCUMENT_CHARS as MAX_DOCUMENT_CHARS
    from holdfast.validation import Chunks as Chunks
    from holdfast.validation import ValidationRequest as ValidationRequest

_MODULES = {
    "application": (
        "Config",
        "Holdfast",
        "Session",
    ),
    "config.values": ("StorageConfig",),
    "errors": (
        "AnswerUnusable",
        "BadValue",
        "ConfigError",
        "Conflict",
        "Corrupt",
        "DuplicateFact",
        "FlushRefused",
        "HoldfastError",
        "HookFailed",
        "ModelFailed",
        "NotFound",
        "NotTrusted",
        "NothingToFlush",
        "PluginError",
        "PluginLoadFailed",
        "PluginNotFound",
        "Refused",
        "SettingsIgnored",
        "StorageError",
        "TryLater",
        "Unavailable",
        "Unsupported",
    ),
    "text.factrules": ("duplicate_key",),
    "hooks": (
        "LimitsItems",
        "hookimpl",
    ),
    "models": (
        "AddOutcome",
        "AddResult",
        "Category",
        "CuratedDecision",
        "CuratedEntry",
        "CuratedInput",
        "CuratedLines",
        "DreamDraft",
        "DreamSources",
        "Evidence",
        "Extraction",
        "Fact",
        "FactCandidate",
        "Finding",
        "HandoffFields",
        "Message",
        "MutationKind",
        "Payload",
        "Profile",
        "Receipt",
        "Severity",
        "StateMutation",
        "Turn",
        "Written",
        "payload_of",
        "turns_of",
    ),
    "plugin.checks": (
        "Check",
        "Outcome",
    ),
    "plugin.discovery": ("PluginContext",),
    "storage": (
        "ABSENT",
        "Add",
        "Append",
        "Capability",
        "Committed",
        "Change",
        "ComposedBackend",
        "Condition",
        "Damage",
        "Document",
        "DocumentPart",
        "FactOrder",
        "FactPart",
        "Hit",
        "HitKind",
        "Remove",
        "StorageBackend",
        "Update",
        "Write",
        "block_marker",
        "check_name",
        "sha256",
        "sha256_of",
        "tombstone",
    ),
    "validation": (
        "CHUNK_CHARS",
        "Chunks",
        "MAX_DOCUMENT_CHARS",
        "ValidationRequest",
    ),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_WHERE)  # noqa: PLE0605 - made from the table


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'holdfast.api' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"holdfast.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
