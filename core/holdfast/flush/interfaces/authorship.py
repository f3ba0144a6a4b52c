"""A flush's questions about who wrote a passage: the user, or a tool, page or client that the agent read.

An application offers it (:mod:`holdfast.session.collaborators`). Without one, all
text counts as the user's own. If the package cannot be imported, a flush is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.models import Message, Payload, Turn


class Authorship(Protocol):
    def own_words(self, text: str) -> str:
        """A user message's text, without a client's additions; empty when nothing remains."""

    def cleared(self, draft: Payload, turns: Sequence[Turn]) -> Payload:
        """An extractor's draft without sentences that instruct an agent and are not the user's own words."""

    def sources(self, payload: Payload, messages: Sequence[Message]) -> tuple[str, ...]:
        """``FIELD ID`` for each derived field and each message that it quotes."""

    def attributed(self, payload: Payload, summary: str, said: Iterable[Message]) -> tuple[Payload, str, Sequence[str]]:
        """A payload and a summary as a flush of the messages ``said`` may write them, and warnings. Sentences that
        instruct an agent are marked with their source, and kept out of curated memory."""


class Unknown:
    """Without a package that knows authors."""

    def own_words(self, text: str) -> str:
        return text

    def cleared(self, draft: Payload, turns: Sequence[Turn]) -> Payload:
        return draft

    def sources(self, payload: Payload, messages: Sequence[Message]) -> tuple[str, ...]:
        return ()

    def attributed(self, payload: Payload, summary: str, said: Iterable[Message]) -> tuple[Payload, str, Sequence[str]]:
        return payload, summary, ()
