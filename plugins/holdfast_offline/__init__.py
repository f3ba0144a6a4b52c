"""Extraction and dreams without a model: a plugin that keeps what was said outright and never invents.

It reads the cues that :mod:`holdfast_offline.cues` lists ("remember:", "Decision:", "blocked by ...") and the outcome
of tools. Every text it returns stands in a turn, word for word. A dream copies the facts and decisions of the notes
behind what the memory says. It has no settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.hooks import hookimpl

if TYPE_CHECKING:
    from holdfast.models import DreamDraft, DreamSources, Extraction, Turn

#: It reads the turns and nothing else, so a flush may wait for it.
EXTRACTS_AT_ONCE = True
#: It has no settings.
known_settings = ()


@hookimpl
def on_extract(turns: Sequence[Turn]) -> Extraction:
    """A short digest, candidate facts and the payload fields that the turns state. Takes time in proportion."""
    from holdfast_offline.extract import extract

    return extract(turns)


@hookimpl
def on_dream(sources: DreamSources) -> DreamDraft:
    """The memory with the facts and decisions that the notes recorded, each word for word, none twice."""
    from holdfast_offline.dream import dream

    return dream(sources)
