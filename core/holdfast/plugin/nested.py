"""The mark of a coding agent that holdfast itself runs as a model: holdfast started inside it does nothing.

Agents' hooks read it at every event, so it imports nothing but ``os``.
"""

from __future__ import annotations

import os

#: Set in the environment of such an agent, and so of everything that it starts.
MARK = "HOLDFAST_MODEL_RUN"


def inside() -> bool:
    """Whether this process was started by an agent that holdfast runs as a model."""
    return bool(os.environ.get(MARK))
