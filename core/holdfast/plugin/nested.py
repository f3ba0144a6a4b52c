"""A mark for coding agents that holdfast runs as a model. holdfast does nothing when started inside it.

Agents' hooks read it at every event, so it imports nothing but ``os``.
"""

from __future__ import annotations

import os

#: Set in such an agent's environment, and so in that of every process it starts.
MARK = "HOLDFAST_MODEL_RUN"


def inside() -> bool:
    """Whether this process was started by an agent that holdfast runs as a model."""
    return bool(os.environ.get(MARK))
