"""The command by which holdfast starts itself, and the mark of agents inside which it does nothing.

Agents' hooks read the mark at every event, so this imports only ``os`` and ``sys``.
"""

import os
import sys

#: The command that starts this very installation. -P: it runs in a project's folder, whose files must not be imported.
THIS = (sys.executable, "-P", "-m", "holdfast_memory")
#: Set in the environment of an agent that holdfast runs as a model, and in that of every process it starts.
MARK = "HOLDFAST_MODEL_RUN"


def inside() -> bool:
    """Whether this process was started by an agent that holdfast runs as a model."""
    return bool(os.environ.get(MARK))
