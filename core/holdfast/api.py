"""Everything that the author of a plugin or a program imports from holdfast.

Names resolve on first use, so importing this module costs nothing. docs/plugin-api.md lists it with signatures.
"""

TYPE_CHECKING = False  # as in holdfast/__init__
if TYPE_CHECKING:
    from holdfast.application import Config, Holdfast, Session
    from holdfast.config.values import StorageConfig
    from holdfast.errors import *
    from holdfast.hooks import *
    from holdfast.models import *
    from holdfast.plugin.discovery import *
    from holdfast.storage import *
    from holdfast.validation import *

__all__ = [
    "ABSENT", "CHUNK_CHARS", "MAX_DOCUMENT_CHARS", "Add", "AddOutcome", "AddResult", "AnswerUnusable", "Append",
    "BadValue", "Capability", "Category", "Change", "Check", "Chunks", "Committed", "ComposedBackend", "Condition",
    "Config", "ConfigError", "Conflict", "Corrupt", "CuratedDecision", "CuratedEntry", "CuratedInput", "CuratedLines",
    "Damage", "Document", "DreamDraft", "DreamSources", "DuplicateFact", "Evidence", "Extraction",
    "Fact", "FactCandidate", "FactOrder", "Finding", "FlushRefused", "HandoffFields", "Hit", "HitKind",
    "Holdfast", "HoldfastError", "HookFailed", "LimitsItems", "Message", "ModelFailed", "MutationKind", "NotFound",
    "NotTrusted", "NothingToFlush", "Outcome", "Payload", "PluginContext", "PluginError", "PluginLoadFailed",
    "PluginNotFound", "Profile", "Receipt", "Refused", "Remove", "Session", "SettingsIgnored", "Severity",
    "StateMutation", "StorageBackend", "StorageConfig", "StorageError", "TryLater", "Turn", "Unavailable",
    "Unsupported", "Update", "ValidationRequest", "Write", "Written", "block_marker", "check_name", "duplicate_key",
    "hookimpl", "payload_of", "sha256", "sha256_of", "tombstone", "turns_of",
]  # fmt: skip
#: Modules with the names, slowest to import last. The application's settings take the place of the kernel's.
_MODULES = ("errors", "validation", "hooks", "plugin.discovery", "models", "storage", "application", "config.values")


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'holdfast.api' has no attribute {name!r}")
    import importlib

    modules = (importlib.import_module(f"holdfast.{module}") for module in _MODULES)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def __dir__() -> list[str]:
    return list(__all__)
