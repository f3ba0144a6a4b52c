"""What a plugin of a forge (an issue tracker where people work) offers beside its hooks.

The trail is published by ``on_flush``; when that cannot be done, what should have been published waits in the outbox
(:mod:`holdfast.outbox`) and core sends it through :meth:`Forge.send`. The morning report asks :meth:`Forge.activity`.
A plugin whose object is a :class:`Forge` is used; no other entry point is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

from attrs import frozen

from holdfast.models import Evidence


@frozen(kw_only=True)
class Activity:
    """One thing that happened on a forge: ``kind`` is issue, pull, comment or review; ``pointer`` is its URL; ``text``
    is one line; ``at`` is aware."""

    kind: str
    target: str
    pointer: str
    text: str
    at: datetime
    author: str = ""


class Forge(ABC):
    """A forge that a plugin publishes to. All methods may raise Unavailable (try later) and any other StorageError or
    ConfigError (a person has to do something)."""

    @abstractmethod
    def send(self, item: Mapping[str, str]) -> Evidence:
        """Publish what :mod:`holdfast.outbox` kept, once: an item that is there already is only read back."""

    @abstractmethod
    def activity(self, since: datetime, until: datetime) -> Sequence[Activity]:
        """What happened from ``since`` to ``until``, oldest first."""
