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
