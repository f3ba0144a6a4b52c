"""The dream: consolidates daily notes into MEMORY.md, checking the draft instead of trusting it.

    notes of the window -> due? new? -> on_dream -> items -> gate, line by line -> loss guard
    -> backup -> diary -> MEMORY.md by compare-and-swap -> mark of the dreamt notes

A process that dies midway leaves either the old or the new MEMORY.md, complete. The mark comes last, so the next run
repeats unfinished work. Daily notes are read and never written. Every run leaves a record
(:mod:`holdfast_app.dream.dreamlog`), including skipped and failed runs.
"""

import contextlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import EllipsisType
from typing import Final

from attrs import define, evolve

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, Unavailable, must_be, must_be_whole
from holdfast.models import DreamDraft, DreamSources
from holdfast.storage import ABSENT
from holdfast.text import humanize
from holdfast.text.lazy import log
from holdfast_app.authorship import hostile, witness
from holdfast_app.base import Services
from holdfast_app.dream import confirmed, consolidate, dreamlog, memorytext, spoken, when
from holdfast_app.dream.checking import Check, NotApplied, Run, Skipped
from holdfast_app.dream.confirmed import Confirmation
from holdfast_app.dream.consolidate import MOST_ITEMS, MOST_STATEMENTS, Note, Statement, digest_of, window
from holdfast_app.dream.dreamlog import DreamResult, Proposal, Status
from holdfast_app.dream.when import Mark
from holdfast_app.dream.write import admitted, apply, lock, new_id
from holdfast_app.facts.rejected import REASON, Rejected, key_of
from holdfast_app.facts.store.lifecycle import Facts
from holdfast_app.progress import report
from holdfast_app.records import blocks, ownlines
from holdfast_app.trust import provenance
from holdfast_file import conflicts

logger = log("holdfast.dream")

#: Stages of a run, for its progress.
_STAGES: Final = 4
#: Maximum wait for another run, in seconds. After that, the other run counts as this period's dream.
WAIT_S: Final = 2.0
#: Recorded time of an edit that the last dream did not see: just after that dream.
_AFTER: Final = timedelta(seconds=1)


def deep_dream(
    services: Services,
    lookback_days: int | EllipsisType = ...,
    *,
    dry_run: bool = False,
    force: bool = False,
    if_due: bool = False,
) -> DreamResult:
    """See :meth:`holdfast.Holdfast.deep_dream`."""
    days = services.config.dream.lookback_days if lookback_days is ... else lookback_days
    must_be_whole(days, "lookback_days")
    must_be(bool, dry_run, "dry_run")
    result = DreamResult(id=new_id(), at=services.now(), status=Status.BEGUN, lookback_days=days, dry_run=dry_run)
    run = _Run(services=services, result=result, days=days, dry_run=dry_run, force=force, if_due=if_due)
    try:
        with lock(services, timeout_s=WAIT_S):
            run.go()  # raises nothing
            if not dry_run and when.mark(services.state).id == run.result.id:
                spoken.review(services)
    except Unavailable as error:
        run.end(Status.SKIPPED, f"Another run is under way: {error.message}", error.next_step)
    dreamlog.record(services.state, run.result)
    try:
        for conflict in Facts(services).conflicts() if run.result.ok and not dry_run else ():  # the fact log has them
            Facts(services).decide(conflict, conflict[0], why="a dream kept the newest of two machines' values")
    except HoldfastError as error:
        logger.warning("conflicting facts stay until the next dream: %s", error.message)
    return run.result


def is_due(services: Services) -> bool:
    """Whether an automatic dream would run now: it is time, and notes have news. Raises: Corrupt, Unavailable."""
    try:
        _news(services, services.config.dream.lookback_days, if_due=True)
    except Skipped:
        return False
    return True


def _news(
    services: Services, days: int, *, force: bool = False, if_due: bool = False
) -> tuple[int, Sequence[Note], str]:
    """How many days of notes to dream of, these notes and their digest. Raises: Skipped when there is nothing new, or
    with ``if_due`` when it is too early."""
    mark = when.mark(services.state)
    if days == 0:
        raise Skipped("It reads no notes, because it looks back 0 days.")
    if if_due and not force and (why := when.not_due(services, mark)):
        raise Skipped(why)
    if if_due and days == services.config.dream.lookback_days:
        days = when.lookback(services, mark)
    found = window(services, days)
    notes = [note for note in found if consolidate.content(note.text)]
    if found and not notes:
        raise Skipped("The recent daily notes are withheld until you have seen them.", next_step=provenance.NEXT_STEP)
    if not notes:
        raise Skipped("No recent daily note has content.")
    digest, waiting = digest_of(notes), dreamlog.proposal(services.state)
    if digest == mark.digest and not force:
        raise Skipped("The notes have not changed since the last dream.", next_step="`--force` dreams of them again.")
    if waiting is not None and waiting.digest == digest and not force:
        raise Skipped("A dream of these notes waits for review.", next_step="See it with `holdfast dream review`.")
    return days, notes, digest


# --- one run ---------------------------------------------------------------------------------------------------


@define(kw_only=True)
class _Run(Run):
    days: int
    dry_run: bool
    force: bool
    if_due: bool

    def end(self, status: Status, reason: str = "", next_step: str = "") -> None:
        reason, next_step = admitted(self.services, reason, next_step)
        self.note(status=status, reason=reason, next_step=next_step)

    def go(self) -> None:
        try:
            self._go()
        except Skipped as skip:
            self.end(Status.SKIPPED, skip.message, skip.next_step)
        except HoldfastError as error:
            self._failed(error.message, error.next_step)
        except Exception as error:  # a guard: any failure is recorded and nothing changes
            logger.debug("a dream failed", exc_info=True)
            self._failed(f"An unexpected error occurred: {type(error).__name__}.", "Run `holdfast doctor`.")

    def _failed(self, reason: str, next_step: str) -> None:
        self.end(Status.FAILED, reason, next_step)
        if not self.dry_run:
            with contextlib.suppress(HoldfastError):
                mark = when.mark(self.services.state)
                when.set_mark(self.services.state, evolve(mark, tried=self.services.now()))

    def _go(self) -> None:
        services, settled = self.services, self.services.config.dream
        self.days, notes, digest = _news(services, self.days, force=self.force, if_due=self.if_due)
        self.note(lookback_days=self.days)
        named, names = settled.plugin, services.plugins.implementing("on_dream")
        if named and named not in names:
            raise NotApplied(
                f"The plugin {named!r} of `[dream] plugin` is not loaded, or does not dream.",
                next_step=f"Loaded plugins that dream: {', '.join(names) or 'none'}.",
            )
        if not names:
            raise NotApplied("No plugin dreams.", next_step="Enable `[plugins.offline]`, or a model.")
        self.note(plugin=named or names[0])
        if self.if_due and not self.dry_run:  # hooks start no second one beside it
            when.set_mark(services.state, evolve(when.mark(services.state), tried=services.now()))
        dreamlog.record(services.state, self.result)
        self._dream(notes, digest)

    def _dream(self, notes: Sequence[Note], digest: str) -> None:
        services = self.services
        services.plugins.require_all()  # every enabled validator checks text sent to a model
        name = services.layout.name(Surface.MEMORY)
        document = services.store.read(name)
        if document is not None and services.store.sifted(document).withheld:
            why = f"{name} has lines that are withheld until you have seen them."
            raise NotApplied(why, next_step=provenance.NEXT_STEP)
        if document is not None and (problem := conflicts.described(name, document.text)):
            raise NotApplied(problem, next_step=f"{conflicts.BY_HAND}.")
        # A user may have written a secret into it.
        old = services.gate.outgoing(document.text, surface=Surface.MEMORY, name=name) if document else ""
        report(0, _STAGES, "Reading the notes")
        check, statements = self._begun(name, old, notes)
        report(1, _STAGES, f"Waiting for {self.result.plugin}")
        draft = self._draft(old, check)
        report(2, _STAGES, "Checking each line against its sources")
        try:
            new = check.checked(draft.memory)
            report(3, _STAGES, "Comparing with the memory before")
            check.compare(old, new, force=self.force)
            story = check.story(draft.diary)
        except Skipped:  # the notes were read, and hold nothing for the memory
            if not self.dry_run:
                when.set_mark(services.state, Mark(digest=digest, at=services.now(), id=self.result.id))
            raise
        if self.dry_run:
            self.end(Status.PROPOSED, "This was a dry run. Nothing was written.")
            return
        base = document.revision if document else ABSENT
        proposal = Proposal(
            result=self.result, name=name, text=new, base=base, digest=digest, diary=story, said=tuple(statements)
        )
        if services.config.dream.apply == "propose" and self.result.diff:
            self.end(Status.PROPOSED, "It waits for review.", "`holdfast dream review`")
            dreamlog.propose(services.state, evolve(proposal, result=self.result))
            return
        self.result = apply(services, proposal)

    def _begun(self, name: str, old: str, notes: Sequence[Note]) -> tuple[Check, list[Statement]]:
        """A coming draft's check, and its notes' statements. Raises: NotApplied."""
        heard = witness.Witness(self.services)
        memory = memorytext.read(old, prose_is_item=True)
        rejected, record, stale = self._since_last(old, memory)
        sources = self._sources(name, old, notes, heard, rejected)
        before = consolidate.Before(item.text for item in memory.items)
        days = {note.name: note.day for note in notes}
        statements, unread = consolidate.statements([Note(days[source], source, text) for source, text in sources[1:]])
        if unread:
            newest = f"because a dream reads the newest {MOST_STATEMENTS:,}"
            self.warn(f"{unread:,} older statements were not read, {newest}.")
        if (stated := sum(len(blocks.SAID.findall(note.text)) for note in notes[-2:])) > blocks.COMPARED:
            self.warn(f"A brief compares the newest {blocks.COMPARED} of the {stated:,} statements in the last notes.")
        if (further := len(memory.items) - MOST_ITEMS) > 0:
            self.warn(f"{further:,} items of {name} were not compared: a dream compares the first {MOST_ITEMS:,}.")
        check = Check(
            run=self,
            heard=heard,
            name=name,
            title=memory.title or memorytext.TITLE,
            before=before,
            sources=sources,
            record=record,
            stale=stale,
            newest=max((statement.at for statement in statements), default=None),
        )
        return check, statements

    def _draft(self, old: str, check: Check) -> DreamDraft:
        """The dreamer's draft. Raises: NotApplied, PluginError."""
        sources = DreamSources(memory=old, notes=check.sources[1:], confirmed=check.times(check.before.items))
        dreamt = self.services.plugins.on_dream(sources, only=self.services.config.dream.plugin)
        if dreamt is None:
            raise NotApplied(f"The plugin {self.result.plugin!r} had nothing to say.")
        plugin, draft = dreamt
        self.note(plugin=plugin)
        return draft

    def _since_last(
        self, old: str, memory: memorytext.Memory
    ) -> tuple[Rejected, dict[str, Confirmation], frozenset[str]]:
        """The rejected statements, with lines that a person removed since the last dream, the items' confirmations, and
        the items that were rejected after it.

        A memory that is missing as a whole was lost rather than rejected. An item that the last dream did not see was
        written after it, by a user or an agent, so it is newer than that dream's notes.
        """
        rejected, record = Rejected(self.services), confirmed.load(self.services.state)
        rejected.add_pulled(self.services, kept=not self.dry_run)
        items = [(item.text, record.get(key_of(item.text))) for item in memory.items]
        stale = frozenset(text for text, entry in items if entry and (at := rejected.at(text)) and at > entry.last)
        last, there = when.mark(self.services.state).at, {key_of(item.text) for item in memory.items}
        if last is not None and record:
            if old:
                rejected.add(set(record) - there, last, kept=not self.dry_run)
            record = dict.fromkeys(there, Confirmation(first=last, last=last + _AFTER)) | record
        return rejected, record, stale

    def _sources(
        self, name: str, old: str, notes: Sequence[Note], heard: witness.Witness, rejected: Rejected
    ) -> tuple[tuple[str, str], ...]:
        """MEMORY.md and the newest notes that fit, oldest first, without statements rejected later."""
        manager, named = self.services.plugins, self.services.config.dream.plugin
        endless = all(map(manager.dreams_of_everything, [named] if named else manager.implementing("on_dream")))
        room = sys.maxsize if endless else self.services.config.dream.max_chars - len(old)
        taken: list[tuple[str, str]] = []
        left: list[str] = []
        fit: list[Note] = []
        for note in reversed(notes):
            room -= len(note.text)
            fit.insert(0, note) if room >= 0 else left.insert(0, note.name)
        count, reached, outgoing = 0, dict[str, datetime](), self.services.gate.outgoing
        for day, source, text in fit:
            text, more = rejected.blanked(text, datetime(day.year, day.month, day.day, tzinfo=UTC), reached)
            text = ownlines.without(hostile.withheld(text, heard.is_own))  # none of it yields an item
            taken.append((source, outgoing(text, surface=Surface.DAILY, name=source)))
            count += more
        if count:
            self.warn(f"Left out {humanize.count(count, 'line')} of the notes: {REASON}.")
        if not taken:
            raise NotApplied(
                f"MEMORY.md and the newest note are longer than {self.services.config.dream.max_chars:,} characters.",
                next_step="Raise `[dream] max_chars`, or shorten MEMORY.md.",
            )
        self.note(read=(name, *(note for note, _ in taken)), left_out=left)
        return ((name, old), *taken)
