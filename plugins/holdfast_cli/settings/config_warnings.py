"""Warnings about changed settings that affect stored facts and documents."""

from __future__ import annotations

import os

from attrs import frozen

from holdfast.errors import HoldfastError
from holdfast.text.humanize import count

#: The settings this checks. For all others no store is opened.
KEYS = ("storage.backend", "facts.max_facts")


@frozen(kw_only=True)
class Held:
    """Counts of the store in use. ``facts`` and ``documents`` are numbers, ``most`` is the cap on facts."""

    backend: str
    facts: int
    documents: int
    most: int

    def __str__(self) -> str:
        return f"{count(self.facts, 'fact')} and {count(self.documents, 'document')}"


def held(root: str) -> Held | None:
    """The current counts. None when the project was never used or the store is unavailable, neither of which prevents a
    change of settings."""
    from holdfast import Holdfast
    from holdfast.config import settings

    folders = (os.path.join(root, *folder.split("/")) for folder in settings.STATE_FOLDERS.values())
    if settings.config_file(root) is None and not any(map(os.path.isdir, folders)):
        return None  # never used, and opening it would begin that
    try:
        with Holdfast.open(root) as memory:
            config = memory.config
            facts, documents = memory.facts.count(), len(memory.store.names())
            return Held(backend=config.storage.backend, facts=facts, documents=documents, most=config.facts.max_facts)
    except HoldfastError:
        return None


def warnings(root: str, before: Held | None) -> list[str]:
    """Warnings to print after the change. ``before`` is the result of :func:`held` before it."""
    if before is None:
        return []
    now = held(root)
    told = []
    if now is None or now.backend != before.backend:
        if now is None and (before.facts or before.documents):
            told.append(f"The {before.backend} store holds {before}. The new store is not available to compare.")
        elif now is not None and (before.facts > now.facts or before.documents > now.documents):
            told.append(
                f"The {before.backend} store holds {before}, the {now.backend} store {now}. Nothing is lost: to take"
                f" them along, `holdfast config storage.backend {before.backend}`, then"
                f" `holdfast migrate --to {now.backend}`."
            )
    if now is not None and now.facts > now.most:
        leaving = now.facts - now.most + 1
        told.append(f"{leaving:,} of the {now.facts:,} stored facts will be evicted when the next one is added.")
    return told
