"""The application's answer to: which passages of the stored memory may agents have?

The kernel trusts its folder, so its own :class:`Provenance` gives agents everything and records nothing. An application
extends it (:meth:`holdfast.services.services.Services.provenance`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from holdfast.models import Fact


class Withheld(Protocol):
    """A passage that agents do not get. ``line`` is its first line, 1-based; ``key`` identifies its content."""

    @property
    def line(self) -> int: ...
    @property
    def lines(self) -> range: ...
    @property
    def text(self) -> str: ...
    @property
    def key(self) -> str: ...


class Sifted(NamedTuple):
    """A document's text for agents. Withheld passages became blank, so that line numbers stay."""

    text: str
    withheld: tuple[Withheld, ...]


class Provenance:
    """Withholds nothing. All methods raise Unavailable when the records cannot be read or written."""

    #: Whether anything may be withheld. If not, nothing needs to be read for :meth:`record`.
    withholds: ClassVar[bool] = False

    def begin(self, documents: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> None:
        """Record, once, the project's content from before this machine's first write."""

    def record(self, name: str, before: str, after: str) -> None:
        """Record the passages that a write of this machine is about to add."""

    def settle(self) -> None:
        """Make the records durable, before a flush counts as such."""

    def confirm(self, name: str, text: str) -> None:
        """Record that a document was read back after a write."""

    def delete(self, name: str) -> None:
        """Record durably that a call is about to delete the document."""

    def sift(self, name: str, text: str) -> Sifted:
        """The document's text without passages that are withheld from agents."""
        return Sifted(text, ())
