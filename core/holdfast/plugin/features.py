# mypy: disable-error-code="empty-body"
"""Methods that packages add to :class:`holdfast.Holdfast`, and values that they add to a session.

A distribution adds a method with an entry point in the group ``holdfast.methods``: the method's name, and a function
whose first argument is the opened project. It is imported at the first call. It does not need to be enabled, because a
method does nothing until it is called (docs/hooks.md).

Methods declared here have types, for callers and type checkers; their code is in the packages. Other methods are found
by name at run time.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from holdfast.errors import PluginNotFound
from holdfast.plugin import discovery

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date, datetime
    from types import EllipsisType
    from typing import TypeAlias

    from holdfast.models import Message, Profile, Turn, Written
    from holdfast.session.services import Services
    from holdfast_agent_loops.mirror import Mirror
    from holdfast_brief.brief import Brief
    from holdfast_dream.dreamlog import DreamResult
    from holdfast_facts.extraction.extract import ExtractResult
    from holdfast_facts.extraction.queue import GivenUp
    from holdfast_facts.store.lifecycle import Facts
    from holdfast_message_formats.reading import Transcript
    from holdfast_outbox.delivery import Deliveries
    from holdfast_privacy.purge import PurgeReport
    from holdfast_privacy.retention import RetentionReport
    from holdfast_privacy.scrub import ScrubReport
    from holdfast_recall.methods import Hits
    from holdfast_report.morning import Morning
    from holdfast_report.report import Report
    from holdfast_spool.spooled import Spooled
    from holdfast_validation.validation import Repair, Validation
    from holdfast_work.worklist import WorkList
    from holdfast_workflow.observations import Captured
    from holdfast_workflow.three import MemoryUpdate
    from holdfast_workflow.update import Updated
    from holdfast_workflow.workflow import Workflow

    #: A part of a conversation: a holdfast value, or a row of the Chat Completions or Messages interface.
    Said: TypeAlias = Turn | Message | Mapping[str, object]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")


def _provided(declared: F) -> F:
    """A package's method of that name. ``declared`` has its signature and docstring."""
    name = declared.__name__

    def call(memory: Features, *args: object, **options: object) -> Any:
        return discovery.method(name)(memory, *args, **options)

    call.__name__, call.__doc__ = name, declared.__doc__
    call.__wrapped__ = declared  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


class Features:
    """The base class of :class:`holdfast.Holdfast`. Every method raises PluginNotFound when no installed distribution
    provides it."""

    if not TYPE_CHECKING:  # so that type checkers report a misspelt name

        def __getattr__(self, name: str) -> Any:
            from functools import partial

            if not name.startswith("_"):
                try:
                    return partial(discovery.method(name), self)
                except PluginNotFound:
                    pass
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # purge, scrub and retention

    @_provided
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

    @_provided
    def scrub(self, *, dry_run: bool = False) -> ScrubReport:
        """Check everything stored with the validators, and mask their findings in place. The result is checked
        afterwards; ``dry_run`` writes nothing.

        Raises: PluginError when a validator is broken; Unavailable.
        """

    @_provided
    def retention(self, *, dry_run: bool = False) -> RetentionReport:
        """Remove data past the limits of ``[retention]``; ``dry_run`` writes nothing. See docs/retention.md."""

    # validation

    @_provided
    def validate(self, names: Iterable[str] = ()) -> Validation:
        """The validators' findings on the stored documents (``names``, by default all). Changes nothing.

        An unreadable document is a finding too. Raises: NotFound for an unknown name; PluginError; Unavailable.
        """

    # work

    @property
    @_provided
    def work(self) -> WorkList:
        """The work of all sessions: list, close, reopen."""

    # the brief

    @_provided
    def load(self, *, max_chars: int | None = None, session: str = "") -> Brief:
        """A brief for resuming, from files only: handoff, curated memory, newest notes. Reads no journal or transcript.

        ``max_chars`` limits ``str(brief)``. ``session`` is the reading session: its own work comes first, marked.
        Raises: Corrupt when a document cannot be read. It is never treated as empty.
        """

    # what waits

    @property
    @_provided
    def outbox(self) -> Deliveries:
        """Items waiting to be published on a forge: list them, send them, drop them with a reason."""

    @property
    @_provided
    def spool(self) -> Spooled:
        """Flushes kept on this machine, because the store's server did not take them: list them, send them."""

    # search

    @_provided
    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        kinds: Iterable[str] = (),
        session: str = "",
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Hits:
        """Search turns, notes, memory and facts for answers to ``question``, best first; see docs/search.md.

        ``kinds`` are turn, note, decision, memory, fact and document (none: all). ``since`` and ``until`` are aware
        times, spans like ``3d``, or dates; undated results are then left out. ``progress`` gets the number of sources
        read and the total. The list's ``unread`` names damaged sources, and
        ``warning`` is a sentence or empty. Raises: BadValue; Unavailable.
        """

    # the dream

    @_provided
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

    @_provided
    def undo_dream(self, *, force: bool = False, dry_run: bool = False) -> DreamResult:
        """Restore MEMORY.md to its text before the last dream or undo; see :func:`holdfast_dream.write.undo`."""

    @_provided
    def dream_due(self) -> bool:
        """Whether ``deep_dream(if_due=True)`` would run now. Raises: Corrupt, Unavailable."""

    @_provided
    def dreams(self) -> list[DreamResult]:
        """Every run, oldest first, including skipped, failed and interrupted runs. Raises: Unavailable."""

    # the three-file memory

    @_provided
    def workflow(self, name: str) -> Workflow:
        """A workflow over the three-file memory: ``start()`` loads it, ``end(update)`` updates it. ``name`` is
        discovery, architecture, build, debug or review. Raises: ValueError for another name."""

    @_provided
    def update(self, given: MemoryUpdate) -> Updated:
        """Update the three-file memory outside any workflow, and write due captured patterns (FR-5).

        Raises: NotFound, Corrupt or Refused, with nothing written; Conflict; Unavailable.
        """

    @_provided
    def capture(self, kind: str, text: str, *, workflow: str = "", critical: bool = False) -> Captured:
        """Count an ``issue`` or ``pattern`` observed during work; see :func:`holdfast_workflow.observations.capture`.

        ``workflow`` defaults to the open one, if only one is open.
        """

    @_provided
    def end_observed(self, session: str, *, final: bool) -> list[str]:
        """End the open workflows whose conditions the hooks of ``session`` observed. Clients' hooks call this when the
        agent stops, with ``final`` when its session ends. Failed checks then go to the deferred items.

        Returns a sentence for each, for display. Raises: HoldfastError. The workflow then stays open.
        """

    @_provided
    def create_three_files(self) -> tuple[list[str], list[str]]:
        """Create missing files and add missing anchors. Returns the names of created or changed documents, and of
        complete ones. Raises: Corrupt when a file cannot be read or extended; Refused; Unavailable."""

    @_provided
    def repairs(self, names: Iterable[str] = ()) -> list[Repair]:
        """Safe repairs for the files ``names``, by default for all three. Writes nothing."""

    @_provided
    def apply_repair(self, repair: Repair) -> None:
        """Write a repair. Raises: Refused; Corrupt; Conflict; Unavailable."""

    # reports

    @_provided
    def report(self, *, days: int = 1) -> Report:
        """The operator's report on the last ``days`` calendar days, derived from files only."""

    @_provided
    def morning(self) -> Morning:
        """The report on yesterday and the night, from files and from the enabled forges."""

    @_provided
    def store_report(self) -> Written | None:
        """Store yesterday's report, once. None when it already exists, or when there is nothing to report.

        Raises: Refused, PluginError; Conflict; Corrupt; Unavailable.
        """

    # Python agent loops

    @overload
    def guard(
        self,
        compact: Callable[P, R],
        /,
        *,
        session: str | Callable[P, str] = "default",
        messages: Callable[P, Iterable[object]] | None = None,
        kept: Callable[[Any], Iterable[object]] | None = None,
    ) -> Callable[P, R]: ...

    @overload
    def guard(
        self,
        compact: None = None,
        /,
        *,
        session: str | Callable[..., str] = "default",
        messages: Callable[..., Iterable[object]] | None = None,
        kept: Callable[[Any], Iterable[object]] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...

    @_provided
    def guard(
        self,
        compact: Callable[..., Any] | None = None,
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

    # facts

    @cached_property
    @_provided
    def facts(self) -> Facts:
        """Facts: create, get, update, delete, list, import and export."""

    @property
    @_provided
    def profile(self) -> Profile:
        """The stored user profile and recent activity. Raises: Corrupt, Unavailable."""

    @_provided
    def update_profile(self, **sections: str) -> Profile:
        """Set sections (work, personal, top_of_mind, recent, earlier, background); empty strings clear a section.

        Returns the profile. Raises: BadValue for another name; Refused and PluginError from the gate.
        """

    @_provided
    def prompt(
        self, max_tokens: int | None = None, *, counter: Callable[[str], int] | None = None, fenced: bool = False
    ) -> str:
        """Profile and facts as a block for a system prompt, of at most ``max_tokens`` (2000 unless configured).

        ``counter`` counts a string's tokens (default: ``[prompt] counter``). ``fenced`` marks the block
        as recalled data, so it is never extracted again. Empty when nothing is stored or nothing fits.
        Raises: BadValue for a negative budget; ConfigError for an unusable counter; PluginError; Corrupt.
        """

    @_provided
    def extract(self, messages: Said | Iterable[Said], *, source: str = "") -> ExtractResult:
        """Extract facts from a conversation and store the accepted ones. Nothing is journalled.

        ``messages`` are dicts of the Chat Completions or the Messages interface, or :class:`~holdfast.models.Message`
        and :class:`~holdfast.models.Turn` values.
        Messages are redacted before any extractor sees them, and text recalled from memory is removed. The result
        holds the outcome for each candidate. Turns on which an extractor failed wait for a retry: by the next
        extraction or flush, or by :meth:`extract_queued`. ``source`` is kept with the facts.
        Raises: BadValue for any other value, and for a ``source`` that is not a string; Refused, PluginError; Corrupt,
        Unavailable.
        """

    @_provided
    def extract_queued(self, *, due: int | None = None) -> ExtractResult:
        """Try every waiting item once, due or not. With turn-by-turn extraction that includes turns that just ended.

        ``due`` limits this to that many items, and only to those due for their next try.
        """

    @_provided
    def extract_turns(self) -> ExtractResult:
        """Extract every ended turn not extracted yet, and retry due items in the queue. Returns an empty result
        while another process does it. Raises: Unavailable."""

    @_provided
    def turns_given_up(self) -> list[GivenUp]:
        """Turns whose extraction failed too often, oldest first. They are not tried again. Raises: Unavailable."""

    # transcripts

    @_provided
    def read_transcript(self, path: str | os.PathLike[str], *, offset: int = 0, agent: str = "") -> Transcript:
        """Read the conversation that an agent's client recorded in the file at ``path``, from byte ``offset``.

        ``agent`` reads the sub-agent with that id instead. Raises: ConfigError for an unusable path; Corrupt for an
        empty file or an unknown format.
        """


class SessionFeatures:
    """The base class of :class:`holdfast.Session`: values that packages add to a session, each made at first use.

    An entry ``session.NAME`` in the group ``holdfast.methods`` is a function of the project's services and the session.
    """

    _services: Services

    if not TYPE_CHECKING:  # so that type checkers report a misspelt name

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_"):
                try:
                    return self._made(name)
                except PluginNotFound:
                    pass
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _made(self, name: str) -> Any:
        entry = f"session.{name}"
        if entry not in self.__dict__:
            self.__dict__.setdefault(entry, discovery.method(entry)(self._services, self))  # threads share the first
        return self.__dict__[entry]

    @property
    def mirror(self) -> Mirror:
        """Keeps this session in step with a loop's own message list. Raises: PluginNotFound."""
        made: Mirror = self._made("mirror")
        return made
