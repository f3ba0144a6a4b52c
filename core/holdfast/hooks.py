"""The five hooks, in the order of an agent's life. Hooks return facts; core acts on them.

An implementation may take any subset of the arguments, by name, without defaults. It must not depend on order:
no ``tryfirst``, no wrappers (they are refused when a plugin is registered). Only ``dispatch.py`` calls a hook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.config.values import StorageConfig
    from holdfast.models import DreamDraft, DreamSources, Evidence, Extraction, Fact, Finding, Payload, Receipt, Turn
    from holdfast.storage import StorageBackend
    from holdfast.subject import Portions, Subject

PROJECT = "holdfast"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """Provide the store. Called once, and only the backend that ``[storage] backend`` names is imported.

    :param config: the ``[storage]`` table: ``path`` (folder under ``root``), ``facts``, and ``options``, a mapping
        with whatever else the table holds.
    :param root: the project folder, absolute. Nothing may be written outside of it.
    :returns: the backend, or None to pass. Stops at the first that is not None.
    An error is a hard error: nothing works without a store.
    """


@hookspec
def on_validate(subject: Subject) -> Sequence[Finding] | Portions:  # type: ignore[empty-body]
    """Judge a text before it is stored, and again by ``holdfast validate``. A gate: every implementation is asked.

    :param subject: surface, document name, text and sources.
    :returns: findings, empty when all is well. A span with a replacement is masked by core; an error without one
        refuses the write. Of a long text they may come in :class:`~holdfast.subject.Portions`, each in its own time.
        An implementation that raises, hangs or returns anything else counts as a refusal.
    """


@hookspec
def on_extract(turns: Sequence[Turn], known: Sequence[Fact]) -> Extraction:  # type: ignore[empty-body]
    """Tell what a stretch of conversation holds. Collected from all; a failure is isolated and recorded.

    Asked when a flush is durable and its lock released, and never in a client's hook: the turns wait in a queue until
    then. A plugin that reads nothing but the turns, without a model, a network or a disk, says ``EXTRACTS_AT_ONCE =
    True`` (an attribute of the plugin) and is asked within the flush, for a few seconds at most.

    :param turns: the turns since the last flush, oldest first, already redacted.
    :param known: stored facts that share words with the turns, the closest first, as they may leave the store: at most
        30, and none for a plugin that is asked within the flush. An implementation may leave this parameter out.
    :returns: a summary, candidate facts and the payload fields that the turns state. Never invent. The payload fields
        are used of plugins that are asked within the flush.
    """


@hookspec
def on_flush(payload: Payload, receipt: Receipt) -> Evidence | Sequence[Evidence] | None:
    """Publish a flush elsewhere (a comment on an issue, say). A gate, called when all documents are verified.

    :param payload: what was written, complete and redacted.
    :param receipt: what was written where so far.
    :returns: Evidence, which core verifies, or several; None when there was nothing to publish.
    A failure fails the flush: the session stays UNSAFE and context is not dropped.
    """


@hookspec(firstresult=True)
def on_dream(sources: DreamSources) -> DreamDraft | None:
    """Consolidate daily notes into a new curated memory. Stops at the first result that is not None.

    :param sources: the current MEMORY.md and the notes of the window, oldest first.
    :returns: a draft that uses only what the sources say. A failure is recorded and changes nothing.
    """
