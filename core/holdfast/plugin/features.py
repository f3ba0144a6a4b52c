"""Methods that packages add to :class:`holdfast.Holdfast`.

A distribution adds a method with an entry point in the group ``holdfast.methods``: the method's name, and a function
whose first argument is the opened project. It is imported at the first call. It does not need to be enabled, because a
method does nothing until it is called (docs/hooks.md).

Methods declared here have types, for callers and type checkers; their code is in the packages. Other methods are found
by name at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import PluginNotFound
from holdfast.plugin import discovery

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from datetime import date, datetime
    from types import EllipsisType

    from holdfast.flush.dreamlog import DreamResult
    from holdfast.flush.validation import Repair
    from holdfast.models import Written
    from holdfast.text.rows.reading import Transcript
    from holdfast_privacy.purge import PurgeReport
    from holdfast_privacy.retention import RetentionReport
    from holdfast_privacy.scrub import ScrubReport
    from holdfast_recall.methods import Hits
    from holdfast_report.morning import Morning
    from holdfast_report.report import Report
    from holdfast_workflow.observations import Captured
    from holdfast_workflow.three import MemoryUpdate
    from holdfast_workflow.update import Updated
    from holdfast_workflow.workflow import Workflow


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

    def _call(self, name: str, *args: object, **options: object) -> Any:
        return discovery.method(name)(self, *args, **options)

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
        made: PurgeReport = self._call(
            "purge", subject=subject, session=session, before=before, everything=everything, dry_run=dry_run
        )
        return made

    def scrub(self, *, dry_run: bool = False) -> ScrubReport:
        """Check everything stored with the validators, and mask their findings in place. The result is checked
        afterwards; ``dry_run`` writes nothing.

        Raises: PluginError when a validator is broken; Unavailable.
        """
        made: ScrubReport = self._call("scrub", dry_run=dry_run)
        return made

    def retention(self, *, dry_run: bool = False) -> RetentionReport:
        """Remove data past the limits of ``[retention]``; ``dry_run`` writes nothing. See docs/retention.md."""
        made: RetentionReport = self._call("retention", dry_run=dry_run)
        return made

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
        progress: Callable[[int, int], object] | None = None,
    ) -> Hits:
        """Search turns, notes, memory and facts for answers to ``question``, best first; see docs/search.md.

        ``kinds`` are turn, note, decision, memory, fact and document (none: all). ``since`` and ``until`` are aware
        times, spans like ``3d``, or dates; undated results are then left out. ``progress`` gets the number of sources
        read and the total. The list's ``unread`` names damaged sources, and
        ``warning`` is a sentence or empty. Raises: BadValue; Unavailable.
        """
        hits: Hits = self._call(
            "search", question, limit=limit, kinds=kinds, session=session, since=since, until=until, progress=progress
        )
        return hits

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
        made: DreamResult = self._call("deep_dream", lookback_days, dry_run=dry_run, force=force, if_due=if_due)
        return made

    def undo_dream(self, *, force: bool = False) -> DreamResult:
        """Restore MEMORY.md to its text before the last dream or undo; see :func:`holdfast_dream.write.undo`."""
        made: DreamResult = self._call("undo_dream", force=force)
        return made

    def dream_due(self) -> bool:
        """Whether ``deep_dream(if_due=True)`` would run now. Raises: Corrupt, Unavailable."""
        due: bool = self._call("dream_due")
        return due

    def dreams(self) -> list[DreamResult]:
        """Every run, oldest first, including skipped, failed and interrupted runs. Raises: Unavailable."""
        runs: list[DreamResult] = self._call("dreams")
        return runs

    # the three-file memory

    def workflow(self, name: str) -> Workflow:
        """A workflow over the three-file memory: ``start()`` loads it, ``end(update)`` updates it. ``name`` is
        discovery, architecture, build, debug or review. Raises: ValueError for another name."""
        made: Workflow = self._call("workflow", name)
        return made

    def update(self, given: MemoryUpdate) -> Updated:
        """Update the three-file memory outside any workflow, and write due captured patterns (FR-5).

        Raises: NotFound, Corrupt or Refused, with nothing written; Conflict; Unavailable.
        """
        made: Updated = self._call("update", given)
        return made

    def capture(self, kind: str, text: str, *, workflow: str = "", critical: bool = False) -> Captured:
        """Count an ``issue`` or ``pattern`` observed during work; see :func:`holdfast_workflow.observations.capture`.

        ``workflow`` defaults to the open one, if only one is open.
        """
        made: Captured = self._call("capture", kind, text, workflow=workflow, critical=critical)
        return made

    def end_observed(self, session: str, *, final: bool) -> list[str]:
        """End the open workflows whose conditions the hooks of ``session`` observed. Clients' hooks call this when the
        agent stops, with ``final`` when its session ends. Failed checks then go to the deferred items.

        Returns a sentence for each, for display. Raises: HoldfastError. The workflow then stays open.
        """
        told: list[str] = self._call("end_observed", session, final=final)
        return told

    def create_three_files(self) -> tuple[list[str], list[str]]:
        """Create missing files and add missing anchors. Returns the names of created or changed documents, and of
        complete ones. Raises: Corrupt when a file cannot be read or extended; Refused; Unavailable."""
        made: tuple[list[str], list[str]] = self._call("create_three_files")
        return made

    def repairs(self, names: Iterable[str] = ()) -> list[Repair]:
        """Safe repairs for the files ``names``, by default for all three. Writes nothing."""
        made: list[Repair] = self._call("repairs", names)
        return made

    def apply_repair(self, repair: Repair) -> None:
        """Write a repair. Raises: Refused; Corrupt; Conflict; Unavailable."""
        self._call("apply_repair", repair)

    # reports

    def report(self, *, days: int = 1) -> Report:
        """The operator's report on the last ``days`` calendar days, derived from files only."""
        made: Report = self._call("report", days=days)
        return made

    def morning(self) -> Morning:
        """The report on yesterday and the night, from files and from the enabled forges."""
        made: Morning = self._call("morning")
        return made

    def store_report(self) -> Written | None:
        """Store yesterday's report, once. None when it already exists, or when there is nothing to report.

        Raises: Refused, PluginError; Conflict; Corrupt; Unavailable.
        """
        made: Written | None = self._call("store_report")
        return made

    # transcripts

    def read_transcript(self, path: str | os.PathLike[str], *, offset: int = 0, agent: str = "") -> Transcript:
        """Read the conversation that an agent's client recorded in the file at ``path``, from byte ``offset``.

        ``agent`` reads the sub-agent with that id instead. Raises: ConfigError for an unusable path; Corrupt for an
        empty file or an unknown format.
        """
        made: Transcript = self._call("read_transcript", path, offset=offset, agent=agent)
        return made
