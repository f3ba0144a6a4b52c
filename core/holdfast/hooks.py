"""The five hooks, in order of an agent's lifecycle. Hooks return facts; core acts on them.

An implementation may take any subset of the arguments, by name, without defaults. It is an ordinary function: an async
one is refused when its plugin is registered, because nothing awaits it.

Plugins are called in this order: objects given to ``Holdfast.open``, plugins that settings enable, plugins on by
default, each group by name. ``tryfirst`` and ``trylast`` change it. It matters only for the hooks that stop at the
first result, ``storage_backend`` and ``on_dream``; None passes to the next plugin.

A wrapper (``hookimpl(wrapper=True)`` or ``hookwrapper=True``) is allowed for ``on_extract`` and ``on_dream``. It
surrounds the call of each plugin, and its failure fails that call. Elsewhere it is refused, because it could
hide a failed save. Only ``plugin/manager.py`` calls a hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

from holdfast.validation import Chunks, ValidationRequest

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.config.values import StorageConfig
    from holdfast.models import DreamDraft, DreamSources, Evidence, Extraction, Fact, Finding, Payload, Receipt, Turn
    from holdfast.storage import StorageBackend

PROJECT = "holdfast"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class LimitsItems:
    """A base for a validator that limits a curated document's items. Core then moves surplus items to the archive
    before a write, so that the validator does not refuse it."""

    #: Maximum items of one document, at least 1.
    max_items: int


@hookspec(firstresult=True)
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """Provide the store. Called once, when a project is opened.

    Asked are the objects given to ``Holdfast.open`` and then the backend that ``[storage] backend`` names; no other
    backend is imported. A plugin enabled by settings may not implement this hook.

    :param config: table ``[storage]`` with ``path`` (folder under ``root``), ``facts``, and ``options``, a mapping
            with all other keys of the table.
    :param root: absolute path to the project folder. Backends may write only inside it.
    :returns: the backend, or None to pass. The first backend returned is used.
    An error is fatal, because nothing works without a store.
    """


@hookspec
def on_validate(request: ValidationRequest) -> Sequence[Finding] | Chunks:  # type: ignore[empty-body]
    """Check content before it is stored, and again by ``holdfast validate``. A gate: every implementation is called.

    :param request: surface, document name, text and sources.
    :returns: findings, possibly none. Core masks a span with a replacement; an error without a replacement
            refuses the write. For long content they may come in :class:`~holdfast.validation.Chunks`, each with its own
            deadline. An implementation that raises, hangs or returns anything else counts as a refusal.
    """


@hookspec
def on_extract(turns: Sequence[Turn], known: Sequence[Fact], before: Payload) -> Extraction:  # type: ignore[empty-body]
    """Extract facts from a span of messages. All plugins' results are collected. Failures are isolated and recorded.

    Called when a flush is durable and its lock released, and never in a client's hook. Until then the turns wait in a
    queue. A plugin that reads only the turns, without a model, network or disk, sets ``EXTRACTS_AT_ONCE =
    True`` (an attribute of the plugin). It is called within the flush, for a few seconds at most.

    :param turns: turns since the last flush, oldest first, already redacted.
    :param known: stored facts that share words with the turns, closest first, masked for leaving the store: at most
            30, then rules that the turns state without a label (category ``rule``). None for a plugin called within
            the flush. An implementation may omit this parameter.
    :param before: for a plugin called within the flush, the state before the turns: the project's standing rules,
            related facts of a local store, and the fields of the session's open work, otherwise ``work_open`` false and
            the last flush's objective. ``derived`` names the unstated fields. For other plugins only ``facts``:
            summaries of the session's earlier turns.
    :returns: summary, candidate facts and a draft of the payload. Never invent. A field that the turns do not state but
            that follows from them is named in the draft's ``derived``. From a plugin called later ``decisions`` and
            ``rejected`` go into the note; ``objective``, ``next_step`` and ``work_open`` replace derived ones.
    """


@hookspec
def on_flush(payload: Payload, receipt: Receipt) -> Evidence | Sequence[Evidence] | None:
    """Publish a flush elsewhere (a comment on an issue, say). A gate, called when all documents are verified.

    :param payload: written content, complete and redacted.
    :param receipt: documents written so far.
    :returns: Evidence, which core verifies, or several; None when there was nothing to publish.
    A failure fails the flush. The session stays UNSAFE and context is not dropped.
    """


@hookspec(firstresult=True)
def on_dream(sources: DreamSources) -> DreamDraft | None:
    """Consolidate daily notes into a new curated memory. The first result that is not None is used.

    With ``[dream] plugin`` only that plugin is called.

    :param sources: current MEMORY.md and all notes in the window, oldest first.
    :returns: draft that uses only the sources. A failure is recorded and changes nothing.
    """
