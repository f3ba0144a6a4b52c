"""One line of ``holdfast doctor``, reported by a plugin.

The entry-point group ``holdfast.checks`` names a function ``checks(memory)`` that returns or yields :class:`Check`
values. It is called when its distribution is holdfast, or when a plugin with its name is enabled.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class Outcome(StrEnum):
    """OK and WARN let work continue; FAIL does not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@frozen(kw_only=True)
class Check:
    """One check's result. ``repaired`` is true when ``--repair`` has just repaired it."""

    name: str
    outcome: Outcome
    message: str
    next_step: str = ""
    repaired: bool = False
