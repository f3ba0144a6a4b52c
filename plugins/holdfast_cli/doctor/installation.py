"""The check for another project's distribution with the same file names."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.plugin.checks import Check, Outcome
from holdfast_memory import DISTRIBUTION, REPAIR


def same_name() -> Iterator[Check]:
    """A warning when the distribution ``holdfast`` is installed, too. Nothing is said without it."""
    from importlib import metadata

    try:
        other = metadata.version("holdfast")
    except metadata.PackageNotFoundError:
        return
    yield Check(
        name="installation",
        outcome=Outcome.WARN,
        message=f"Another project, holdfast {other}, is installed in the same Python. Installing, upgrading or "
        f"removing it replaces or removes files of {DISTRIBUTION}, and then every compaction is blocked.",
        next_step=f"Run `{REPAIR}`.",
    )
