"""The methods of :class:`holdfast.Holdfast` that packages add: the door for features.

A distribution adds a method by an entry point in the group ``holdfast.methods``: the method's name, and a function
whose first argument is the opened project. It is imported at the first call. Nothing has to be enabled, because a
method does nothing until it is called (docs/hooks.md).

Methods declared here have their types, for callers and their type checkers; the code is in the packages. Other methods
are found by their name at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import discovery
from holdfast.errors import PluginNotFound

if TYPE_CHECKING:
    from datetime import date
    from types import EllipsisType

    from holdfast.dreamlog import DreamResult
    from holdfast_privacy.purge import PurgeReport
    from holdfast_privacy.retention import RetentionReport
    from holdfast_privacy.scrub import ScrubReport


class Features:
    """The base class of :class:`holdfast.Holdfast`. Every method raises PluginNotFound when no installed distribution
    provides it."""

    if not TYPE_CHECKING:  # a type checker is to see a misspelt name

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

    # forgetting

    def purge(
        self,
        *,
        subject: str | None = None,
        session: str | None = None,
        before: date | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> PurgeReport:
        """Forget exactly one of: all that contains the string ``subject``; a session; everything older than the day
        ``before``; everything. The result is checked afterwards. The same call completes an interrupted one.

        ``dry_run`` reports the removals and writes nothing. Places that could not be changed are in the report.
        Raises: BadValue; Unavailable.
        """
        made: PurgeReport = self._call(
            "purge", subject=subject, session=session, before=before, everything=everything, dry_run=dry_run
        )
        return made

    def scrub(self, *, dry_run: bool = False) -> ScrubReport:
        """Check everything stored with the validators, and mask in place what they want masked. The result is checked
        afterwards; ``dry_run`` writes nothing.

        Raises: PluginError when a validator is broken; Unavailable.
        """
        made: ScrubReport = self._call("scrub", dry_run=dry_run)
        return made

    def retention(self, *, dry_run: bool = False) -> RetentionReport:
        """Remove data past the limits of ``[retention]``; ``dry_run`` writes nothing. See docs/retention.md."""
        made: RetentionReport = self._call("retention", dry_run=dry_run)
        return made

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

        The default is ``[dream] lookback_days``. Skipped when the notes hold nothing new; ``force`` dreams anyway, and
        lets the dream drop more than the loss guard does. ``if_due`` skips before ``[dream] every_hours`` are over.
        ``dry_run`` writes only the record of the run. A failure is in the result (``status``, ``reason``), and
        MEMORY.md is then unchanged.
        Raises: ValueError unless ``lookback_days`` is a whole number from 0 up; Unavailable when even the record of the
        run cannot be written.
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
        """Every run, oldest first, with skipped, failed and interrupted ones. Raises: Unavailable."""
        runs: list[DreamResult] = self._call("dreams")
        return runs
