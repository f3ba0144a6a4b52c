"""The method added to an opened project; :class:`holdfast.plugin.features.Features` declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_brief.brief import Brief


def load(memory: Holdfast, *, max_chars: int | None = None, session: str = "") -> Brief:
    from holdfast_brief.brief import load

    return load(memory.services, max_chars=max_chars, session=session)
