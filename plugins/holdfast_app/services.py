"""The application's services for the kernel. Each imports its code when it is first used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.config.layout import Surface
from holdfast.config.values import Config
from holdfast.errors import HoldfastError
from holdfast.services.interfaces import Decided, Room
from holdfast.storage import Capability, Document, StorageBackend
from holdfast.text.lazy import log
from holdfast.text.plain import same_key
from holdfast_app import base
from holdfast_app.project_settings import files, resolved
from holdfast_app.trust.store import Store, Trusting

if TYPE_CHECKING:
    from holdfast.models import CuratedEntry, Message, Payload
    from holdfast_app.authorship.witness import Witness
    from holdfast_app.facts.flushing import FlushedFacts
    from holdfast_app.outbox.delivery import Deliveries
    from holdfast_app.spool import Spool


logger = log(__name__)


class Services(base.Services):
    """Services for a project opened with the application."""

    _witness: Witness | None = None

    @classmethod
    def root_of(cls, start: str | None) -> str:
        """See :func:`holdfast_app.project_settings.files.find_root`."""
        return files.find_root(start)

    @classmethod
    def settled(cls, root: str, *, lenient: bool = False) -> tuple[Config, tuple[str, ...]]:
        """The user's settings, and the project's as far as they are allowed or trusted."""
        merged = resolved.resolve(root, lenient=lenient)
        config = resolved.structured(merged, lenient=lenient)
        resolved.require_places(merged)
        return config, resolved.sentences(merged)

    @classmethod
    def check_state(cls, root: str, state: str) -> None:
        """Put aside files of the private folder that git tracks. Raises: Unavailable."""
        from holdfast_app.trust import gitlines

        gitlines.put_tracked_aside(state)

    @classmethod
    def store_of(cls, root: str, state: str, config: Config, backend: StorageBackend) -> Store:
        """Withholds what this machine did not write. The user named a server, so that is trusted."""
        from holdfast_app.trust.provenance import Provenance, trusts_all

        def repeating(passages: Iterable[str]) -> set[str]:
            from holdfast_app.authorship import witness

            return witness.repeating(state, passages)

        storage, judge = config.storage, Trusting()
        if Capability.LOCAL_FILES in backend.capabilities:
            facts = f"{storage.path}/{storage.facts}"
            judge = own = Provenance(root, state, folder=storage.path, facts=facts, repeating=repeating)
            judge_facts = getattr(backend, "judge", None)  # of a store whose rows a pull may bring
            if judge_facts is not None and not trusts_all(root):
                judge_facts(lambda fact: not own.unrecorded_facts([fact]))
        elif Capability.REMOTE not in backend.capabilities:
            judge = Provenance(root, state)
        return Store(backend, config.layout, state, judge)

    def is_expired(self, surface: str, at: datetime) -> bool:
        """Whether retention removes documents of that day."""
        rules = self.config.retention
        days = {Surface.DAILY: rules.daily, Surface.TRAIL: rules.trail}.get(Surface(surface), 0)
        return bool(days) and (self.now().date() - at.astimezone(self.config.tz).date()).days >= days

    @property
    def facts(self) -> FlushedFacts:
        from holdfast_app.facts.flushing import FlushedFacts

        return FlushedFacts(self, self._heard)

    @property
    def outbox(self) -> Deliveries:
        from holdfast_app.outbox.delivery import Deliveries

        return Deliveries(self)

    @property
    def spool(self) -> Spool:
        from holdfast_app.spool import Spool

        return Spool(self)

    def explain(self, error: HoldfastError) -> None:
        """Add the server's address, and mention that flushes can be kept on this machine."""
        from holdfast_app import spool

        spool.explain(self, error)

    def attributed(self, payload: Payload, summary: str, said: Sequence[Message]) -> tuple[Payload, str, Sequence[str]]:
        """Find authors by the messages of the session and the project's rules."""
        from holdfast.models import Turn
        from holdfast_app.authorship.witness import Witness, attributed

        self._witness = Witness(self, [Turn(messages=said)])
        return attributed(self._witness, payload, summary)

    def _heard(self, said: Sequence[Message]) -> Witness:
        """The witness of what was ``said``: that of the same flush's :meth:`attributed`, which has read all journals,
        or else a new one."""
        from holdfast.models import Turn
        from holdfast_app.authorship.witness import Witness

        turns, witness, self._witness = [Turn(messages=said)], self._witness, None
        return witness if witness and witness.said == turns else Witness(self, turns)

    def decided(self, session: str, flush: str) -> Decided | None:
        """The newest decision about the flush's work. Raises: Unavailable."""
        from holdfast_app.records import work_log

        decision = work_log.of_flush(self.state, session, flush)
        return Decided(decision.open, decision.because) if decision else None

    def origin(self, agent: str = "") -> str:
        """``person@machine`` and the agent for statements made now, masked; empty if origins are not recorded."""
        settings = self.config.identity
        if not (self.is_remote if settings.record is None else settings.record):
            return ""
        from holdfast_app.authorship.origin import origin_of
        from holdfast_app.capture import label

        return label(self.gate, origin_of(settings, agent))

    def later(self, *, goes_on: bool = False, flushed: bool = True) -> None:
        """Begin due work: extraction by a model, and the dream. ``flushed``: a note has just been written."""
        from holdfast_app import upkeep

        upkeep.begin(self, goes_on=goes_on, flushed=flushed)

    def ended(self) -> None:
        """Pack sessions that ended long ago, and index them in the background, so that no question waits for it."""
        from holdfast_app import background
        from holdfast_app.records import packs

        try:
            if packs.tidy(self.state):
                background.start(self.root, *background.INDEX)
        except HoldfastError as error:  # the next session's end tries again
            logger.warning("ended sessions could not be packed: %s", error.message)

    def said(self, role: str, tool: str) -> None:
        """An answer ends its turn. If no client is waiting, start to extract it where the settings ask for it."""
        from holdfast_app import background

        is_answer = role == "assistant" and not tool
        if self.config.extract.when == background.TURN and is_answer and not self.hurried:
            background.start(self.root, *background.EXTRACT)

    def room(
        self, surface: Surface, stored: Document | None, entries: Sequence[CuratedEntry], flush_id: str, at: datetime
    ) -> Room:
        """Move lines that are out of date, and the least confirmed ones of a full document, to the archive."""
        from holdfast_app.dream.room import room

        return room(self, surface, stored, entries, flush_id, at)

    def retract(self, statements: Sequence[str]) -> None:
        """Take lines that say what was removed or replaced out of MEMORY.md; else briefs leave them out."""
        from holdfast_app.dream import write

        try:
            write.take_out(self, statements)
        except HoldfastError as error:
            logger.warning("MEMORY.md keeps lines that were removed: %s", error.message)

    def let_go(self, surface: str, items: Sequence[str], at: datetime) -> set[str]:
        """Those of the items that a dream dropped, merged or replaced, or that are in the archive."""
        from holdfast.flush import curated
        from holdfast_app.dream import dreamlog
        from holdfast_app.records import archive

        lines = dreamlog.gone_since(self.state, at) if surface == Surface.MEMORY else ()
        dropped = {same_key(curated.item(line)) for line in lines}
        return archive.archived(self, items) | {text for text in items if same_key(text) in dropped}

    def standing(self, rules: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
        """The rules that none of ``new`` withdraws, repeats, replaces or brings up to date, without withdrawals. Those
        others are noted as rejected, so that no brief or dream takes them from the core memory or a note."""
        if not rules:
            return ()
        from holdfast_app.facts.rejected import Rejected, key_of
        from holdfast_app.sentences.relation import outdated
        from holdfast_app.sentences.withdrawal import ended, is_line

        earlier = [rule for rule in rules if rule not in new]
        gone = {old for rule in new for old in (ended if is_line(rule) else outdated)(rule, earlier)}
        gone |= set(filter(is_line, rules))
        if replaced := gone.difference(new):
            Rejected(self).add(map(key_of, replaced), self.now())
        return tuple(rule for rule in rules if rule not in gone)
