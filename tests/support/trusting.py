"""Trust for a project whose settings a test has written by hand, as ``holdfast trust --yes`` records it."""

from pathlib import Path

from holdfast import Holdfast
from holdfast.config import resolved
from holdfast_app.trust import trusting
from holdfast_cli.commands.trust import Withheld


def trusted(project: Path) -> Path:
    """Trust the project's settings as they are now, and its memory; returns the project."""
    settings = resolved.portable(str(project))
    found = resolved.resolve(str(project))
    trusting.record(str(project), {**settings, **found.withheld, **found.trusted})
    if (project / ".holdfast").exists():
        seen(project)
    return project


def seen(project: Path) -> Path:
    """Accept the project's memory as it is now; returns the project."""
    with Holdfast.open(project) as memory:
        Withheld.of(memory).accept(memory)
    return project
