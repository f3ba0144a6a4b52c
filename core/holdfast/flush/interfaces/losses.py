"""Stored data that is missing. A package finds it by comparing receipts and journals with the store.

An application offers it (:mod:`holdfast.session.collaborators`). Without one, nothing is
known to be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from holdfast.models import Receipt, Written

_FIX = "Restore it from a copy or from git, or run `holdfast doctor --fix`: it writes the journals' contents again."


class Loss(NamedTuple):
    """Stored data that is missing. ``kind`` is journal, block, document, unproved (a document without a
    receipt), facts, waiting, lines, damaged or apart (private state that nothing reads); ``name`` its document or file.
    ``receipt`` and ``written`` are the proof that it was stored, for blocks and documents."""

    kind: str
    name: str
    message: str
    next_step: str = _FIX
    receipt: Receipt | None = None
    written: Written | None = None


class Losses(Protocol):
    def newest(self) -> Sequence[Loss]:
        """A quick check for missing journals and facts, and of the newest receipts' proof. Raises: Corrupt;
        Unavailable."""
