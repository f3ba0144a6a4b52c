"""Extraction and dreams without a model, by a plugin that quotes the session and never invents.

It quotes requests and answers, reads the client's task list and the changed files, and decides by the last messages
whether work is open and what comes next. Facts, decisions and blockers are only statements that
:mod:`holdfast_app.offline.cues` recognises ("remember:", "Decision:", "blocked:"). Each line it returns is in a
message, word for word. A dream appends the notes' facts and decisions to the memory's lines. It has no
settings.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast import models
from holdfast.hooks import hookimpl

#: It reads its arguments and nothing else, so a flush may wait for it.
EXTRACTS_AT_ONCE = True
#: It has no settings.
known_settings = ()


@hookimpl
def on_extract(turns: Sequence[models.Turn], before: models.Payload) -> models.Extraction:
    """A summary in quotations, candidate facts, and the payload fields that the turns state or that follow from their
    course. Takes time in proportion."""
    from holdfast_app.offline.extract import extract

    return extract(turns, before)


#: No model reads the notes, so that all of them can be read in one run.
dreams_of_everything = True


@hookimpl
def on_dream(sources: models.DreamSources) -> models.DreamDraft:
    """The memory with the facts and decisions that the notes recorded, each word for word, none twice."""
    from holdfast_app.offline.dream import dream

    return dream(sources)
