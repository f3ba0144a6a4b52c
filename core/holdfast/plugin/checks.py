"""One line of ``holdfast doctor``, as a plugin reports it.

The entry-point group ``holdfast.checks`` names a function ``checks(memory)`` that returns or yields :class:`Check`
values. It is asked when its distribution is holdfast, or when a plugin of its name is enabled.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class Outcome(StrEnum):
    """OK and WARN let work go on; FAIL does not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@frozen(kw_only=True)
class Check:
    """One thing looked at. ``repaired`` is true when ``--repair`` has just put it right."""

    name: str
    outcome: Outcome
    message: str
    next_step: str = ""
    repaired: bool = False
