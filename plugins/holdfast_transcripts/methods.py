"""The method added to an opened project; :class:`holdfast.plugin.features.Features` declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from holdfast import Holdfast
    from holdfast_message_formats.reading import Transcript


def read_transcript(memory: Holdfast, path: str | os.PathLike[str], *, offset: int = 0, agent: str = "") -> Transcript:
    from holdfast_transcripts import read

    return read(path, offset=offset, agent=agent)
