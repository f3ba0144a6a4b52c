"""List, close and reopen the work of all sessions.

The handoff holds open work. Ended work is also found in this machine's journals. Closing and reopening are written to
the session's journal, the handoff and the daily note, in this order. They do not change a session's durability: an
UNSAFE marker stays.
"""

from collections.abc import Iterable
from datetime import UTC
from typing import Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, receipt_from, stamp
from holdfast.errors import BadValue, Conflict, HoldfastError, NotFound, must_be
from holdfast.flush import handoff, notes
from holdfast.flush.apply import Documents
from holdfast.flush.handoff import Work
from holdfast.fs import paths
from holdfast.models import HandoffFields, Payload, Receipt
from holdfast.storage import sha256
from holdfast.text.humanize import nearest
from holdfast.text.plain import is_open, one_line, same_key
from holdfast_app.base import Services
from holdfast_app.facts.rejected import Rejected, key_of
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

    def restate(self, session: str, flush: str, by: str, read: Payload) -> None:
        """Put what the plugin ``by`` read in the messages of ``flush`` in place of what was derived from them: the
        objective, the next step, and whether work is open. Nothing changes if these were stated, or if the session was
        flushed or its work decided since. Raises: Refused, PluginError; Corrupt, Unavailable."""
        receipt, payload = self._last_flush(session)
        if receipt is None or receipt.flush_id != flush or "next_step" not in payload.derived:
            return
        if work_log.of_flush(self._services.state, session, flush) is not None:
            return
        objective = (read.objective if "objective" in payload.derived else None) or payload.objective
        objective, step = map(self._admitted, (objective or "", read.next_step or payload.next_step or ""))
        stated = payload.evolve(**dict.fromkeys(payload.derived))
        is_settled = read.work_open is None or stated.work_open is not None or is_open(stated)
        opens = is_open(payload) if is_settled else read.work_open is True
        before = payload.handoff or HandoffFields(active_task="", branch="none", blocker="none", next_action="")
        fields = evolve(before, active_task=objective, next_action=step)
        payload = payload.evolve(objective=objective, work_open=opens, handoff=fields if opens else None, sources=())
        new = _entry(receipt, payload)
        decision = Decision(session, flush, opens, "", self._services.now(), new, by)
        Journal(self._services.state, session).append(work_log.record(decision))
        Documents(services=self._services, session_id=session).change_handoff(lambda there: _put(there, new))

    def last_message(self, session: str, flush: str) -> str:
        """The id of the newest message that ``flush`` covers, of user or agent. Raises: Unavailable."""
        last = ""
        for entry in Journal(self._services.state, session).of_kinds("message", "checkpoint"):
            row = entry.record
            if row["kind"] == "checkpoint":
                if (row["receipt"] or {}).get("flush_id") == flush:
                    break
            elif row["role"] in ("user", "assistant") and not row.get("tool"):
                last = row["id"]
        return last

    # rules

    def rules(self) -> dict[str, str]:
        """The user's rules by id, newest first. Withheld ones are left out. Raises: as :meth:`list`."""
        document = self._services.recalled(self._name)
        entries = handoff.parse(document.text, self._name) if document else ()
        return {rule_id(rule): rule for entry in entries for rule in reversed(entry.rules)}

    def remove_rule(self, name: str) -> None:
        """Remove the rule with this id, also from MEMORY.md. It stays in its note, and does not come back from there.
        Raises: as :meth:`list`, and NotFound; Conflict."""
        removed: list[str] = []

        def without(there: Iterable[Work]) -> tuple[Work, ...]:
            entries = tuple(there)
            found = [rule for entry in entries for rule in entry.rules if rule_id(rule) == name]
            if not found:
                raise NotFound(f"No rule has the id {name!r}.", next_step="Run `holdfast work` to list the rules.")
            removed.append(found[0])
            return handoffs.without_rule(entries, found[0])

        services = self._services
        Documents(services=services, session_id="").change_handoff(without)
        Rejected(services).add([key_of(removed[-1])], services.now())
        services.retract(removed)

    # closing and reopening

    def _decide(self, work_id: str, because: str, *, opens: bool) -> Work:
        work = self.get(work_id)
        reason = self._admitted(because)
        last = work_log.latest(self._services.state, work.session)
        if work.is_open is opens:
            if last is not None and last.flush == work.flush and last.open is opens and not last.by:
                self._note(work, last)  # a killed process may have stopped before this step
            return work
        if opens and last is not None and last.flush == work.flush and last.work is not None:
            work = self._masked([evolve(last.work, note=work.note or last.work.note)])[0]
        decision = Decision(work.session, work.flush, opens, reason, self._services.now(), work)
        journal = Journal(self._services.state, work.session)
        if journal.exists():
            journal.append(work_log.record(decision))
        new = handoffs.reopened(work, reason) if opens else handoff.closed(work, handoff.CLOSED, reason)
        Documents(services=self._services, session_id=work.session).change_handoff(lambda there: _put(there, new))
        self._note(new, decision)
        return new

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
        found = []
        for path in session_files(self._services.state, packed=True):
            try:
                session_id = session_id_of(path)
                work = self._of_journal(session_id) if session_id and session_id not in known else None
            except HoldfastError:
                continue  # a damaged journal is reported by `holdfast status`
            if work is not None and (with_open or not work.is_open):  # otherwise lost, as `doctor` reports
                found.append(work)
        return tuple(found)

    def _of_journal(self, session_id: str) -> Work | None:
        receipt, payload = self._last_flush(session_id)
        if receipt is None:
            return None
        decided = work_log.of_flush(self._services.state, session_id, receipt.flush_id)
        work = decided.work if decided is not None and decided.work is not None else _entry(receipt, payload)
        if decided is not None and not decided.open and not decided.by:
            return handoff.closed(work, handoff.CLOSED, decided.because)
        return work

    def _last_flush(self, session_id: str) -> tuple[Receipt | None, Payload]:
        """A session's last receipt and its payload, unless they were purged."""
        checkpoint = Journal(self._services.state, session_id).last_checkpoint()
        row = checkpoint.record if checkpoint else {}
        if not row.get("receipt") or not row.get("flush"):
            return None, Payload()
        return receipt_from(row["receipt"]), flushed_payload(row["flush"])

    def _masked(self, entries: Iterable[Work]) -> tuple[Work, ...]:
        """The masked entries."""
        listed = tuple(entries)
        if not listed:
            return ()
        text = handoff.render(listed)
        return handoff.parse(self._services.gate.outgoing(text, surface=Surface.HANDOFF, name=self._name), self._name)


def _entry(receipt: Receipt, payload: Payload) -> Work:
    note = next((w.name for w in receipt.written if w.surface == Surface.DAILY), "")
    at = stamp(receipt.at.astimezone(UTC))
    return handoff.of(payload, session=receipt.session_id, flush=receipt.flush_id, note=note, at=at)


def _put(there: Iterable[Work], new: Work) -> tuple[Work, ...]:
    """Put ``new`` in place of its session's entry, or first. Raises: Conflict when that entry is from another flush."""
    entries = tuple(there)
    mine = next((w for w in entries if w.session == new.session), None)
    if mine is None:
        return handoff.put(entries, evolve(new, rules=()))
    if mine.flush != new.flush:
        raise Conflict(f"Session {new.session!r} wrote new work meanwhile.", next_step="Run `holdfast work` to see it.")
    return tuple(evolve(new, rules=w.rules) if w is mine else w for w in entries)


def rule_id(rule: str) -> str:
    """A rule's id: ``rule_`` and 8 hex digits."""
    return f"rule_{sha256(same_key(rule))[:8]}"


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
    listed = f"Sessions with work: {some([*known], _NAMED)}." if known else "No session has work here."
    raise NotFound(f"No work is known for session {work_id!r}.", next_step=step or listed)
