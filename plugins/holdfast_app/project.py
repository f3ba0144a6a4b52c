"""One opened project with everything that holdfast remembers: the class of ``holdfast.Holdfast``.

It extends the kernel's :class:`holdfast.project.Project`. Each method imports its code when it is called, because
agents start a process at every event.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

from holdfast.errors import HoldfastError, must_be
from holdfast.text.lazy import log
from holdfast_app.facts.project import RemembersFacts
from holdfast_app.journal.journal import every
from holdfast_app.services import Services

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date, datetime
    from types import EllipsisType
    from typing import TypedDict, Unpack

    from holdfast_app.brief.resume import Brief
    from holdfast_app.dream.dreamlog import DreamResult
    from holdfast_app.message_formats.reading import Transcript
    from holdfast_app.outbox.delivery import Deliveries
    from holdfast_app.privacy.purge import PurgeReport, ScrubReport
    from holdfast_app.privacy.retention import RetentionReport
    from holdfast_app.report.morning import Morning
    from holdfast_app.report.report import Report
    from holdfast_app.search.hits import Hits
    from holdfast_app.session import Session
    from holdfast_app.spool import Spool
    from holdfast_app.validation import Validation
    from holdfast_app.work.worklist import WorkList
    from holdfast_app.workflow.observations import Captured
    from holdfast_app.workflow.three import MemoryUpdate
    from holdfast_app.workflow.update import Updated
    from holdfast_app.workflow.workflow import Workflow

    class Guarding(TypedDict, total=False):
        session: str | Callable[..., str]
        messages: Callable[..., Iterable[object]] | None
        kept: Callable[[Any], Iterable[object]] | None


logger = log(__name__)
C = TypeVar("C")


class Holdfast(RemembersFacts):
    """Memory of one project. Made by :meth:`open`; ``close`` it or use it as a context manager.

    ``config`` and ``store`` are readable attributes. Sessions still open when the process exits are ended through the
    gate.
    """

    services: Services
    services_type = Services

    # sessions

    @classmethod
    def session_type(cls) -> type[Session]:
        """See :meth:`holdfast.project.Project.session_type`."""
        from holdfast_app.session import Session

        return Session

    def session(self, session_id: str = "default") -> Session:
        """See :meth:`holdfast.project.Project.session`."""
        return cast("Session", super().session(session_id))

    def sessions(self) -> list[str]:
        """Ids of all sessions with a journal, those in packs too, sorted."""
        return sorted(journal.session_id for journal in every(self.services.state, packed=True))

    def begin(self, session_id: str = "default") -> Session:
        """The session with that id when a conversation starts, after pending work is handled.

        Other sessions left idle (``[session] idle_minutes``) are ended where possible, and items due to be published
        are sent. Agents' hooks do the same when a session starts. Raises: as :meth:`session`.
        """
        session = self.session(session_id)
        self.send_waiting()
        self.end_idle(but=session.id)
        return session

    def send_waiting(self, *, limit_s: float = 5.0) -> None:
        """Write kept flushes to the store for at most ``limit_s`` seconds, and publish what is due. Never raises."""
        from holdfast_app.sessions import idle

        idle.send_waiting(self.services, limit_s)

    def end_idle(self, *, but: str = "", limit_s: float = 60.0) -> list[str]:
        """End every session that this object has not opened and whose last turn is older than ``idle_minutes``;
        returns their ids.

        A session that cannot be ended is left UNSAFE and logged. After ``limit_s`` seconds no further session is tried.
        """
        from holdfast_app.sessions import idle

        return idle.end_idle(self.services, self.session_type(), {but, *self._sessions}, limit_s)

    def reread(self) -> None:
        """Reload the open sessions after their journals changed, so removed text does not stay in memory."""
        for session in self._sessions.values():
            try:
                session.catch_up()
            except HoldfastError as error:
                logger.warning("an open session could not be read again: %s", type(error).__name__)

    # purge, scrub and retention

    def purge(
        self,
        *,
        subject: str | None = None,
        session: str | None = None,
        before: date | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> PurgeReport:
        """Forget either everything containing the string ``subject``, or a session, or everything older than the day
        ``before``, or everything. Pass exactly one. The result is checked. Repeating completes an interrupted call.

        ``dry_run`` reports the removals and writes nothing. Places that could not be changed are in the report.
        Raises: BadValue; Unavailable.
        """
        from holdfast_app.privacy.purge import purge

        must_be(bool, everything, "everything")
        if session is not None and session not in self.sessions():
            session = self.services.gate.identifier(session)
        named = {"subject": subject, "session": session, "before": before, "all": everything or None}
        try:
            return purge(self.services, self._forget, named, dry_run=dry_run)
        finally:
            self.reread()

    def scrub(self, *, dry_run: bool = False) -> ScrubReport:
        """Check everything stored with the validators, and mask their findings in place. The result is checked
        afterwards; ``dry_run`` writes nothing.

        Raises: PluginError when a validator is broken; Unavailable.
        """
        from holdfast_app.privacy.purge import scrub

        try:
            return scrub(self.services, self._forget, dry_run=dry_run)
        finally:
            self.reread()

    def retention(self, *, dry_run: bool = False) -> RetentionReport:
        """Remove data past the limits of ``[retention]``; ``dry_run`` writes nothing. See docs/retention.md."""
        from holdfast_app.privacy.retention import retention

        try:
            return retention(self.services, self._forget, dry_run=dry_run)
        finally:
            self.reread()

    def _forget(self) -> None:
        """Remove from derived files what was removed from the store. Raises: Unavailable."""
        from holdfast_app.privacy.sweep import forget_derived
        from holdfast_app.search import index

        state = self.services.state
        forget_derived(state, but=os.path.join(state, index.FILE))
        index.renew(self)

    # validation

    def validate(self, names: Iterable[str] = ()) -> Validation:
        """The validators' findings on the stored documents (``names``, by default all). Changes nothing.

        An unreadable document is a finding too. Raises: NotFound for an unknown name; PluginError; Unavailable.
        """
        from holdfast_app.validation import validate

        return validate(self.services, names)

    # work

    @property
    def work(self) -> WorkList:
        """The work of all sessions: list, close, reopen."""
        from holdfast_app.work.worklist import WorkList

        return WorkList(self.services)

    # the brief

    def load(self, *, max_chars: int | None = None, session: str = "") -> Brief:
        """A brief for resuming, from files only: handoff, curated memory, newest notes. Reads no journal or transcript.

        ``max_chars`` limits ``str(brief)``. ``session`` is the reading session: its own work comes first, marked.
        Raises: Corrupt when a document cannot be read. It is never treated as empty.
        """
        from holdfast_app.brief.brief import load

        return load(self.services, max_chars=max_chars, session=session)

    # what waits

    @property
    def outbox(self) -> Deliveries:
        """Items waiting to be published on a forge: list them, send them, drop them with a reason."""
        from holdfast_app.outbox.delivery import Deliveries

        return Deliveries(self.services)

    @property
    def spool(self) -> Spool:
        """Flushes kept on this machine, because the store's server did not take them: list them, send them."""
        from holdfast_app.spool import Spool

        return Spool(self.services)

    # search

    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        kinds: Iterable[str] = (),
        session: str = "",
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Hits:
        """Search turns, notes, memory and facts for answers to ``question``, best first; see docs/search.md.

        ``kinds`` are turn, note, decision, memory, fact and document (none: all). ``since`` and ``until`` are aware
        times, spans like ``3d``, or dates; undated results are then left out. The list's ``unread`` names damaged
        sources, and ``warning`` is a sentence or empty. Raises: BadValue; Unavailable.
        """
        from holdfast_app.search.searching import search

        return search(self, question, limit=limit, kinds=kinds, session=session, since=since, until=until)

    # the dream

    def deep_dream(
        self,
        lookback_days: int | EllipsisType = ...,
        *,
        dry_run: bool = False,
        force: bool = False,
        if_due: bool = False,
    ) -> DreamResult:
        """Consolidate the daily notes of the last ``lookback_days`` calendar days, today included, into MEMORY.md.

        The default is ``[dream] lookback_days``. Skipped when the notes contain nothing new; ``force`` dreams anyway,
        and lets the dream drop more than the loss guard permits. ``if_due`` skips until ``[dream] every_hours`` have
        passed. ``dry_run`` writes only the run's record. A failure is reported in the result (``status``,
        ``reason``), and MEMORY.md is then unchanged. Raises: ValueError unless ``lookback_days`` is a non-negative
        integer; Unavailable when even the run's record cannot be written.
        """
        from holdfast_app.dream import pipeline

        return pipeline.deep_dream(self.services, lookback_days, dry_run=dry_run, force=force, if_due=if_due)

    def undo_dream(self, *, force: bool = False, dry_run: bool = False) -> DreamResult:
        """Restore MEMORY.md to its text before the last dream or undo; see :func:`holdfast_app.dream.write.undo`."""
        from holdfast_app.dream import write

        return write.undo(self.services, force=force, dry_run=dry_run)

    def dream_due(self) -> bool:
        """Whether ``deep_dream(if_due=True)`` would run now. Raises: Corrupt, Unavailable."""
        from holdfast_app.dream import pipeline

        return pipeline.is_due(self.services)

    def dreams(self) -> list[DreamResult]:
        """Every run, oldest first, including skipped, failed and interrupted runs. Raises: Unavailable."""
        from holdfast_app.dream import dreamlog

        return dreamlog.entries(self.services.state)

    # the three-file memory

    def workflow(self, name: str) -> Workflow:
        """A workflow over the three-file memory: ``start()`` loads it, ``end(update)`` updates it. ``name`` is
        discovery, architecture, build, debug or review. Raises: ValueError for another name."""
        from holdfast_app.workflow.workflow import Workflow

        return Workflow(self.services, name)

    def update(self, given: MemoryUpdate | Mapping[str, object]) -> Updated:
        """Update the three-file memory outside any workflow, and write due captured patterns (FR-5). ``given`` maps
        sections to entries, as JSON does: ``{"decisions": ["..."]}``.

        Raises: ConfigError, NotFound, Corrupt or Refused, with nothing written; Conflict; Unavailable.
        """
        from holdfast_app.workflow import observations
        from holdfast_app.workflow.three import update_from
        from holdfast_app.workflow.update import update

        return observations.write_due(self.services, update(self.services, update_from(given)))

    def capture(self, kind: str, text: str, *, workflow: str = "", critical: bool = False) -> Captured:
        """Count an ``issue`` or ``pattern`` observed during work; see
        :func:`holdfast_app.workflow.observations.capture`.

        ``workflow`` defaults to the open one, if only one is open.
        """
        from holdfast_app.workflow.observations import capture

        open_now = self.unfinished_workflows()
        workflow = workflow or (open_now[0] if len(open_now) == 1 else "")
        return capture(self.services, kind, text, workflow=workflow, critical=critical)

    def unfinished_workflows(self) -> tuple[str, ...]:
        """Names of workflows started and not ended. Raises: Corrupt, Unavailable."""
        from holdfast_app.workflow.workflow import unfinished

        return unfinished(self.services)

    def create_three_files(self) -> tuple[list[str], list[str]]:
        """Create missing files and add missing anchors. Returns the names of created or changed documents, and of
        complete ones. Raises: Corrupt when a file cannot be read or extended; Refused; Unavailable."""
        from holdfast_app.workflow.update import create

        return create(self.services)

    # reports

    def report(self, *, days: int = 1) -> Report:
        """The operator's report on the last ``days`` calendar days, derived from files only."""
        from holdfast_app.report.report import report

        return report(self.services, days=days)

    def morning(self) -> Morning:
        """The report on yesterday and the night, from files and from the enabled forges."""
        from holdfast_app.report.morning import morning

        return morning(self.services)

    # Python agent loops

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        from holdfast_app.loops.hold import finished

        await finished(self.close)

    @overload
    def guard(self, compact: None = None, /, **how: Unpack[Guarding]) -> Callable[[C], C]: ...

    @overload
    def guard(self, compact: C, /, **how: Unpack[Guarding]) -> C: ...

    def guard(
        self,
        compact: object = None,
        /,
        *,
        session: str | Callable[..., str] = "default",
        messages: Callable[..., Iterable[object]] | None = None,
        kept: Callable[[Any], Iterable[object]] | None = None,
    ) -> Any:
        """Wrap a sync or async function that drops context, so it cannot run unflushed. Also works as a decorator.

        Each call first passes the flush gate of ``session`` (an id, or a function of the call's arguments). If the gate
        fails, FlushRefused is raised and ``compact`` is not called. ``messages`` gets the call's arguments and returns
        the rows in context, as dicts of the Chat Completions, the Messages or the Responses interface or as an SDK's
        own objects. Rows that the session does not hold are journalled first. Without ``messages``, the rows are the
        call's first argument that is a list of such rows, or has one as ``messages``. If there is none, the loop calls
        ``session.add`` itself.
        Afterwards the session drops the same rows. The remaining rows are ``kept(result)``, or the result when that is
        a list, or the rows that ``messages`` returns then.
        Raises: TypeError for a generator function.
        """
        from holdfast_app.loops.guard import Guard

        wrap = Guard(memory=self, session=session, messages=messages, kept=kept).wrap
        return wrap if compact is None else wrap(cast("Callable[..., Any]", compact))

    # transcripts

    def import_transcript(self, transcript: Transcript, session_id: str = "") -> Session:
        """Journal the part of ``transcript.kept`` that the session does not hold yet; returns the session."""
        from holdfast_app.capture import label
        from holdfast_app.message_formats.reading import Transcript

        must_be(Transcript, transcript, "transcript")
        session = self.session(session_id or transcript.session_id or "default")
        known = {e.record["id"] for e in session.journal.entries() if e.record["kind"] == "message"}
        session.extend(m for m in transcript.kept if m.id not in known)
        session.branch = label(self.services.gate, transcript.branch) or session.branch
        return session

    def read_transcript(self, path: str | os.PathLike[str], *, offset: int = 0, agent: str = "") -> Transcript:
        """Read the conversation that an agent's client recorded in the file at ``path``, from byte ``offset``.

        ``agent`` reads the sub-agent with that id instead. Raises: ConfigError for an unusable path; Corrupt for an
        empty file or an unknown format.
        """
        from holdfast_app.transcripts import read

        must_be(str | os.PathLike, path, "path")
        self.services.recordings[os.fspath(path)] = None
        return read(path, offset=offset, agent=agent)
