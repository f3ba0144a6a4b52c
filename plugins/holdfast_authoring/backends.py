"""Examine a storage backend (its methods, its capabilities and how it fails)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from holdfast.config.values import StorageConfig
from holdfast.errors import BadValue, Conflict, HoldfastError, NotFound, PluginLoadFailed, Unsupported
from holdfast.plugin.discovery import Found
from holdfast.plugin.manager import PluginManager
from holdfast.storage import ABSENT, Capability, StorageBackend, update_fact

Row = tuple[str, str, str]


def examine(entry: Found, found: object, settings: Mapping[str, object]) -> Iterator[Row]:
    """Rows for the backend module ``found``, opened in the working directory."""
    declared = getattr(found, "known_options", None)
    if declared is None:
        yield "settings", "note", "known_options is not declared, so holdfast cannot report a misspelt key"
    else:
        yield "settings", "ok", f"declared: {', '.join(declared) or 'none'}"
    config = StorageConfig(backend=entry.name, options=dict(settings))
    try:
        manager = PluginManager()
        manager.register_backend(found, entry)
        store = manager.storage_backend(config, os.getcwd())
    except HoldfastError as error:
        yield (
            "storage_backend",
            "fail" if _is_fault(error, settings) else "note",
            f"did not open in an empty folder: {error}",
        )
        return
    yield "storage_backend", "ok", f"provides {type(store).__name__}"
    try:
        yield from _capabilities(store)
        yield from _failures(store)
    finally:
        store.close()
    yield "contract", "note", "run holdfast.testing.StorageContract for every clause"


def _is_fault(error: HoldfastError, settings: Mapping[str, object]) -> bool:
    """Whether this error is a fault when opening. Only missing settings or a missing server may stop a backend."""
    return bool(settings) or isinstance(error, PluginLoadFailed)


def _capabilities(store: StorageBackend) -> Iterator[Row]:
    names = store.capabilities
    if not isinstance(names, frozenset) or not all(isinstance(name, Capability) for name in names):
        yield "capabilities", "fail", "are not a frozenset of holdfast.storage.Capability"
        return
    overridden = type(store).search is not StorageBackend.search
    if overridden != (Capability.SEARCH in names):
        problem = "is declared and search() is missing" if not overridden else "is not declared, and search() exists"
        yield "capabilities", "fail", f"search {problem}"
        return
    yield "capabilities", "ok", ", ".join(sorted(names)) or "none beyond the contract"


def _failures(store: StorageBackend) -> Iterator[Row]:
    """The errors that core relies on, each provoked once."""
    cases: tuple[tuple[str, Callable[[], object], tuple[type[Exception], ...]], ...] = (
        ("a missing fact", lambda: update_fact(store, "fact_00000000"), (NotFound,)),
        ("deleting a missing document", lambda: store.delete("missing.md"), (NotFound,)),
        ("a name outside the store", lambda: store.read("../outside.md"), (BadValue, ValueError, HoldfastError)),
        ("a stale revision", lambda: _stale(store), (Conflict,)),
    )
    for case, call, expected in cases:
        try:
            call()
        except expected:
            continue
        except Unsupported as error:
            yield "failures", "note", f"{case}: {error.message}"
            continue
        except Exception as error:  # noqa: BLE001 - anything may be raised by other people's code
            yield "failures", "fail", f"{case} raises {type(error).__name__} instead of {expected[0].__name__}"
            return
        yield "failures", "fail", f"{case} raises nothing instead of {expected[0].__name__}"
        return
    if store.read("missing.md") is not None:
        yield "failures", "fail", "reading a missing document does not return None"
        return
    yield "failures", "ok", f"{', '.join(case for case, _, _ in cases)}: as specified"


def _stale(store: StorageBackend) -> None:
    store.write("MEMORY.md", "# Memory\n")
    store.write("MEMORY.md", "# Other\n", expected=ABSENT)
