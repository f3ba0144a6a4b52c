"""The property added to an opened project; :class:`holdfast.plugin.features.Features` declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_work.worklist import WorkList


def work(memory: Holdfast) -> WorkList:
    from holdfast_work.worklist import WorkList

    return WorkList(memory.services)
