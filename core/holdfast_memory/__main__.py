"""``holdfast-memory``, or ``python -P -m holdfast_memory``: the command line, after a check that it is ours.

Another project's distribution is named ``holdfast`` and has a package and a command of that name. pip lets the two
replace and remove each other's files. Only this package is certain to be from holdfast-memory, so installed hooks start
it. After a failed check it exits with status 3, which permits no compaction.
"""

import os
import sys

from holdfast_memory import DISTRIBUTION, REPAIR

#: A line of ``holdfast/__init__.py``.
_MARK = f"# From the distribution {DISTRIBUTION}, see holdfast_memory.\n"


def main() -> int:
    """Run holdfast's command line and return its exit code, or 3 when the package ``holdfast`` is not ours."""
    problem = _problem()
    if not problem:
        try:
            from holdfast_cli import main as run
        except ImportError as error:
            problem = f"A part of holdfast cannot be imported: {error}."
        else:
            return run()
    if sys.stderr is not None:
        sys.stderr.write(f"holdfast: {problem}\n  next: Run `{REPAIR}`.\n")
    return 3


def _problem() -> str:
    """Why the package ``holdfast`` that Python would import is not this distribution's, or an empty string."""
    ours = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "holdfast", "__init__.py")
    spec = next(filter(None, (finder.find_spec("holdfast", None) for finder in sys.meta_path)), None)
    origin = spec.origin if spec is not None else None
    try:
        if origin is not None and os.path.samefile(origin, ours):
            with open(ours, encoding="utf-8") as file:
                if _MARK in file.read():
                    return ""
    except (OSError, ValueError):
        origin = None
    if origin is None:
        return f"Files of {DISTRIBUTION} are missing: {ours}. Uninstalling the other project holdfast removes them."
    return f"{origin} is not from {DISTRIBUTION}. Another project, holdfast, is installed in the same Python."


if __name__ == "__main__":
    sys.exit(main())
