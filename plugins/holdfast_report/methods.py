"""Methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Written
    from holdfast_report.morning import Morning
    from holdfast_report.report import Report


def report(memory: Holdfast, *, days: int = 1) -> Report:
    from holdfast_report.report import report

    return report(memory.services, days=days)


def morning(memory: Holdfast) -> Morning:
    from holdfast_report.morning import morning

    return morning(memory.services)


def store_report(memory: Holdfast) -> Written | None:
    from holdfast_report.report import write_yesterdays

    return write_yesterdays(memory.services)
