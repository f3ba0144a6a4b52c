"""Checks of ``holdfast doctor`` for what waits to be published, and for forges."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from holdfast import Holdfast
from holdfast.errors import Unavailable
from holdfast.models import Check
from holdfast.storage import time_left
from holdfast_app.outbox.delivery import forges_of
from holdfast_app.outbox.outbox import fault

_AGAIN: Final = "Run `holdfast doctor` again when they do."


def checks(memory: Holdfast) -> Iterator[Check]:
    """What waits to be published, silent where no plugin publishes anything, and whether forges can be used. A failure
    is only a warning, because work can continue without a forge."""
    waiting = Counter((item.error, item.next_step) for item in memory.outbox.items())
    if not waiting and forges_of(memory.services, publishing=True):
        yield Check.good("nothing waits to be published")
    for (error, step), count in waiting.items():
        message = f"{count:,} waiting to be published: {error or 'not tried yet'}"
        step = step or "`holdfast outbox send` sends it now."
        yield Check.warn(message, step)
    for forge in forges_of(memory.services).values():
        try:
            if time_left() <= 0:
                raise Unavailable("Not checked, because other servers did not answer.", next_step=_AGAIN)
            check = Check.good(forge.check() or "enabled", forge.name)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - one plugin's fault must not hide the others
            failed = fault(forge.name, raised)
            step = failed.next_step or "Correct it; until then comments wait."
            check = Check.warn(failed.message, step, forge.name)
        yield check
