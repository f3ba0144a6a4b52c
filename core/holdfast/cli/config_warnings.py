"""What a changed setting means for the facts and documents that are stored, said when it is changed."""

from __future__ import annotations

from attrs import frozen

from holdfast.cli.humanize import count
from holdfast.errors import HoldfastError

#: The settings that are looked at; for all others nothing is opened.
KEYS = ("storage.backend", "facts.max_facts")


@frozen(kw_only=True)
class Held:
    """What the store in use holds: ``facts`` and ``documents`` are numbers, ``most`` is the cap on facts."""

    backend: str
    facts: int
    documents: int
    most: int

    def __str__(self) -> str:
        return f"{count(self.facts, 'fact')} and {count(self.documents, 'document')}"


def held(root: str) -> Held | None:
    """What is stored now, or None when the store cannot be asked: a setting can be changed all the same."""
    from holdfast import Holdfast

    try:
        with Holdfast.open(root) as memory:
            config = memory.config
            facts, documents = memory.facts.count(), len(memory.store.names())
            return Held(backend=config.storage.backend, facts=facts, documents=documents, most=config.facts.max_facts)
    except HoldfastError:
        return None


def warnings(root: str, before: Held | None) -> list[str]:
    """What a person should know after the change; ``before`` is what :func:`held` told ahead of it."""
    if before is None:
        return []
    now = held(root)
    told = []
    if now is None or now.backend != before.backend:
        if now is None and (before.facts or before.documents):
            told.append(f"The {before.backend} store holds {before}; the new one cannot be asked for them now.")
        elif now is not None and (before.facts > now.facts or before.documents > now.documents):
            told.append(
                f"The {before.backend} store holds {before}, the {now.backend} store {now}. Nothing is lost: to take"
                f" them along, `holdfast config storage.backend {before.backend}`, then"
                f" `holdfast migrate --to {now.backend}`."
            )
    if now is not None and now.facts > now.most:
        leaving = now.facts - now.most + 1
        told.append(f"{leaving:,} of the {now.facts:,} facts that are stored will leave when the next one is added.")
    return told
