"""Calls the extractors, and describes their failures for a person.

A flush uses the payload fields and summaries itself. :class:`holdfast_app.facts.flushing.FlushedFacts` stores the
candidate facts, and calls the extractors that run later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from attrs import evolve

from holdfast.errors import HoldfastError
from holdfast.flush.interfaces import Gathered
from holdfast.fs import paths
from holdfast.text import recall

if TYPE_CHECKING:
    from holdfast.errors import HookFailed
    from holdfast.models import Fact, Payload, Turn
    from holdfast_app.base import Services

#: HTTP status (None without a response) -> the next step besides waiting.
_PASSING: Final[Mapping[int | None, str]] = {
    None: "Check `base_url` and the network.",
    429: "The quota is used up for now.",
}


class Trouble(NamedTuple):
    """Why an extractor failed, as a sentence, and the next step. A failure that ``passes`` may be gone next time."""

    plugin: str
    sentence: str
    step: str
    passes: bool

    def text(self, *more: str) -> str:
        """The sentence, the next step and ``more`` sentences."""
        return " ".join(filter(None, (self.sentence, self.step, *more)))


def at_once(services: Services, turns: Sequence[Turn], before: Payload | None = None) -> Gathered:
    """Call the extractors that a flush may wait for. ``before`` is the session's state before the turns."""
    only = [name for name, quick in services.plugins.extractors().items() if quick]
    return ask(services, recall.without_recalled(turns), only, before=before)[0] if only else Gathered()


def ask(
    services: Services,
    said: Sequence[Turn],
    only: Collection[str] = (),
    known: Sequence[Fact] = (),
    before: Payload | None = None,
) -> tuple[Gathered, list[Trouble]]:
    """Call the extractors, or only the plugins in ``only``, with the stored facts ``known``. Returns results, and
    failures. An extractor can retire only facts that it was shown."""
    if not said:
        return Gathered(), []
    results, failures = services.plugins.on_extract(said, only=only, known=known, before=before)
    shown = {fact.id for fact in known}
    results = [(plugin, evolve(e, retire=[i for i in e.retire if i in shown])) for plugin, e in results]
    troubles = [_trouble(failure, services.root) for failure in failures]
    return Gathered(results=results, failed={one.plugin: one.text() for one in troubles}), troubles


def _trouble(failure: HookFailed, root: str) -> Trouble:
    """A failure, described for a person. Shows only the masked ``reason``, never the cause itself, because
    a plugin's error may quote the conversation."""
    from holdfast.errors import AnswerUnusable, ModelFailed

    cause = failure.__cause__
    if not isinstance(cause, HoldfastError):
        passes = isinstance(cause, TimeoutError | ConnectionError)
        step = "" if passes else failure.next_step
        return Trouble(failure.plugin, paths.rewrite(failure.message, root), step, passes)
    sentence = f"{failure.plugin}: {failure.reason}"
    step = failure.next_step
    if isinstance(cause, ModelFailed) and cause.retryable:
        step, passes = _PASSING.get(cause.status, ""), True
    elif isinstance(cause, AnswerUnusable):
        step, passes = f"Another model may do better: `[plugins.{failure.plugin}] model`.", True
    else:
        passes = False
    return Trouble(failure.plugin, paths.rewrite(sentence, root), paths.rewrite(step, root), passes)
