"""List, close and reopen the work of all sessions.

The handoff holds open work. Ended work is also found in this machine's journals. Closing and reopening are written to
the session's journal, the handoff and the daily note, in this order. They do not change a session's durability: an
UNSAFE marker stays.
"""

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import BadValue, HoldfastError, NotFound, must_be
from holdfast.flush import handoff, notes
from holdfast.flush.apply import Documents
from holdfast.flush.handoff import Work
from holdfast.fs import paths
from holdfast.text.humanize import nearest
from holdfast.text.plain import one_line
from holdfast_app.base import Services
from holdfast_app.facts import restated
from holdfast_app.journal.journal import Journal, session_files, session_id_of
from holdfast_app.printable import some
from holdfast_app.records import blocks, handoffs, work_log
from holdfast_app.records.work_log import Decision
from holdfast_app.trust import provenance

#: Minimum length of an id prefix, in characters.
_LEAST_PREFIX: Final = 4
_NAMED: Final = 8


class WorkList:
    """An opened project's work. Made by :attr:`holdfast.Holdfast.work`.

    Work has its session's id, which may be cut to a unique prefix of at least four characters. Entries are masked, like
    everything that leaves the store.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._name = services.layout.name(Surface.HANDOFF)

    def list(self, *, everything: bool = False) -> tuple[Work, ...]:
        """The open entries, newest first; with ``everything``, followed by ended entries, newest first. Withheld
        entries are left out. Raises: Corrupt; Unavailable; PluginError."""
        document = self._services.recalled(self._name)
        entries = handoff.parse(document.text, self._name) if document else ()
        there = tuple(w for w in entries if w.is_open)
        if not everything:
            return there
        ended = {w.session: w for w in self._others({w.session for w in there}, with_open=handoff.is_full(there))}
        ended |= {w.session: w for w in entries if not w.is_open}
        return (*there, *sorted(self._masked(ended.values()), key=lambda w: w.at, reverse=True))

    def get(self, work_id: str) -> Work:
        """One session's entry. Raises: NotFound, naming the nearest id; Corrupt; Unavailable; PluginError."""
        there = self.list()
        try:
            return _pick(work_id, there)
        except NotFound:
            step = provenance.NEXT_STEP if self._services.store.withheld_in(self._name) else ""
            return _pick(work_id, self.list(everything=True), step)

    def text(self, work_id: str) -> str:
        """One session's entry in handoff format, for programs and people. Raises: as :meth:`get`."""
        return handoff.render([self.get(work_id)])

    def close(self, work_id: str, because: str = "") -> Work:
        """Close open work; returns the updated entry. Closing it again changes nothing.

        Raises: NotFound; Conflict when its session wrote another entry meanwhile; Refused, PluginError; Corrupt,
        Unavailable.
        """
        return self._decide(work_id, because, opens=False)

    def reopen(self, work_id: str, because: str = "") -> Work:
        """Reopen ended or closed work; returns the updated entry. Raises: as :meth:`close`."""
        return self._decide(work_id, because, opens=True)

    # rules

    def rules(self) -> dict[str, str]:
        """The user's rules by id, newest first. Withheld ones are left out. Raises: as :meth:`list`."""
        return restated.rules(self._services)

    def remove_rule(self, name: str) -> None:
        """Remove the rule with this id, also from MEMORY.md. It stays in its note, and does not come back from there.
        Raises: as :meth:`list`, and NotFound; Conflict."""
        restated.remove_rule(self._services, name)

    # closing and reopening

    def _decide(self, work_id: str, because: str, *, opens: bool) -> Work:
        work = self.get(work_id)
        reason = self._admitted(because)
        last = work_log.of_flush(self._services.state, work.session, work.flush)
        if work.is_open is opens:
            if last is not None and last.open is opens and not last.by:
                self._note(work, last)  # a killed process may have stopped before this step
            return work
        if opens:
            work = self._masked([self._whole(work, last)])[0]
        decision = Decision(work.session, work.flush, opens, reason, self._services.now(), work)
        journal = Journal(self._services.state, work.session)
        if journal.exists():
            journal.append(work_log.record(decision))
        new = handoffs.reopened(work, reason) if opens else handoff.closed(work, handoff.CLOSED, reason)
        Documents(services=self._services, session_id=work.session).change_handoff(
            lambda there: handoffs.put(there, new)
        )
        self._note(new, decision)
        return new

    def _whole(self, work: Work, last: Decision | None) -> Work:
        """Ended work as its flush left it. The handoff holds a shortened marker."""
        if last is not None and last.work is not None:
            return evolve(last.work, note=work.note or last.work.note)
        there = self._of_journal(work.session) if work.short else None
        return there if there is not None and there.flush == work.flush else work

    def _admitted(self, because: str) -> str:
        must_be(str, because, "because")
        text = one_line(paths.rewrite(because, self._services.root))
        return self._services.gate.admit(text, surface=Surface.DAILY)[: handoff.MAX_CHARS] if text else ""

    def _note(self, work: Work, decision: Decision) -> None:
        """Record the decision once in the daily note of its day."""
        at = decision.at.astimezone(self._services.config.tz)
        name = self._services.layout.name(Surface.DAILY, at.date())
        block_id = work_log.block_id(decision)
        block = blocks.decided(
            block_id, session=decision.session, title=work.title, opens=decision.open, because=decision.because, at=at
        )
        block = self._services.gate.admit(block, surface=Surface.DAILY, name=name)
        self._services.store.append(Surface.DAILY, name, block, notes.header(at.date()), block_id)

    # ended work

    def _others(self, but: Iterable[str], *, with_open: bool) -> tuple[Work, ...]:
        """Work that ended, according to the sessions' journals; ``with_open`` also work that a full handoff lacks."""
        known = set(but)
        others = []
        for path in session_files(self._services.state, packed=True):
            try:
                session_id = session_id_of(path)
                work = self._of_journal(session_id) if session_id and session_id not in known else None
            except HoldfastError:
                continue  # a damaged journal is reported by `holdfast status`
            if work is not None and (with_open or not work.is_open):  # otherwise lost, as `doctor` reports
                others.append(work)
        return tuple(others)

    def _of_journal(self, session_id: str) -> Work | None:
        receipt, payload = restated.last_flush(self._services, session_id)
        if receipt is None:
            return None
        decided = work_log.of_flush(self._services.state, session_id, receipt.flush_id)
        work = decided.work if decided is not None and decided.work is not None else handoffs.entry(receipt, payload)
        if decided is not None and not decided.open and not decided.by:
            return handoff.closed(work, handoff.CLOSED, decided.because)
        return work

    def _masked(self, entries: Iterable[Work]) -> tuple[Work, ...]:
        """The masked entries."""
        listed = tuple(entries)
        if not listed:
            return ()
        text = handoff.render(listed)
        return handoff.parse(self._services.gate.outgoing(text, surface=Surface.HANDOFF, name=self._name), self._name)


def _pick(work_id: str, entries: tuple[Work, ...], step: str = "") -> Work:
    """Raises: NotFound; BadValue for a prefix of several ids, and for no text."""
    must_be(str, work_id, "work_id")
    known = {w.session: w for w in entries}
    near = [name for name in known if len(work_id) >= _LEAST_PREFIX and name.startswith(work_id)]
    if work_id in known or len(near) == 1:
        return known.get(work_id) or known[near[0]]
    if near:
        names = ", ".join(near[:_NAMED])
        raise BadValue("the id", f"begins {len(near)} sessions: {names}", next_step="Give more characters.")
    if like := nearest(work_id, [*known]):
        step = f"Did you mean `{like}`?"
    if work_id.startswith((restated.RULE, "fact_")):
        step = "`holdfast work` lists work and rules with their ids, `holdfast facts` the facts."
        raise NotFound(f"{work_id!r} is not the id of any work.", next_step=step)
    listed = f"Sessions with work: {some([*known], _NAMED)}." if known else "No session has work here."
    raise NotFound(f"No work is known for session {work_id!r}.", next_step=step or listed)
