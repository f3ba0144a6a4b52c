"""Extraction without a model: an ``on_extract`` plugin that keeps what was said outright and never invents.

It reads the cues that :mod:`holdfast_offline.cues` lists ("remember:", "Decision:", "blocked by ...") and the outcome
of tools. Every text it returns stands in a turn, word for word. It has no settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.hooks import hookimpl

if TYPE_CHECKING:
    from holdfast.models import Extraction, Turn


@hookimpl
def on_extract(turns: Sequence[Turn]) -> Extraction:
    """A short digest, candidate facts and the payload fields that the turns state. Takes time in proportion."""
    from holdfast_offline.extract import extract

    return extract(turns)
