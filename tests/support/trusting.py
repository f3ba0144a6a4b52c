"""Trust for a project whose settings a test has written by hand, as ``holdfast trust --yes`` records it."""

from __future__ import annotations

from pathlib import Path

from holdfast.config import inforce, trust


def trusted(project: Path) -> Path:
    """Trust the project's settings as they are now, and its memory; returns the project."""
    settings = inforce.portable(str(project))
    found = inforce.resolve(str(project))
    trust.record(str(project), settings={**settings, **found.withheld, **found.trusted}, memory=True)
    return project
