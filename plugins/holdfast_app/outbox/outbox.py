"""The queue of items to publish: ``state/outbox.jsonl``, in order, durable, one checksummed line per item.

An item is on the disk before it is sent for the first time and goes when the forge has shown it again. So nothing is
lost whenever a process dies; and since its id is made before the first try, and a forge looks for the id first, nothing
is published twice. Only one process sends at a time, and on one target nothing overtakes what came before it.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from attrs import evolve, frozen

from holdfast.errors import HoldfastError, NotFound, TryLater, Unavailable
from holdfast.fs import private
from holdfast.models import Evidence
from holdfast.text.lazy import log
from holdfast_app.durable_queue import DAMAGED, DurableQueue, damaged_id

logger = log(__name__)

FILE: Final = private.OUTBOX
_FIRST_PAUSE: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = timedelta(hours=1)
_LONGEST_ASKED_S: Final = 86400.0  # the longest delay that a forge may request
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Number of failed items after which a plugin's other items are not tried, because an invalid token
#: must not be sent to a server hundreds of times.
_ENOUGH: Final = 3
#: Minimum characters of an id's prefix.
_PREFIX: Final = 6


@frozen(kw_only=True)
class Item:
    """An item to publish (``body`` on ``target``) by the named plugin, for the flush ``flush``.

    ``id`` is created before the first try, ``at`` is when it was queued, ``due`` when to try next.
    ``attempts`` counts tries. ``error`` and ``next_step`` describe the last failure.
    """

    id: str
    plugin: str
    flush: str
    target: str
    body: str
    at: datetime
    due: datetime
    attempts: int = 0
    error: str = ""
    next_step: str = ""

    @property
    def is_damaged(self) -> bool:
        return self.id.startswith(DAMAGED)


#: Publishes an item once and reads it back. Raises: Unavailable when nothing can be published there now; any other
#: HoldfastError when a person has to do something about this item.
Send = Callable[[Item], "Evidence"]


class Outbox(DurableQueue[Item]):
    """One project's outbox. An unreadable line is an item without plugin and target. All methods but :meth:`send` may
    raise Unavailable."""

    def __init__(self, state: str) -> None:
        super().__init__(os.path.join(state, FILE), Item, damaged=_damaged)

    def items(self) -> list[Item]:
        """The items, in order. An item that must wait for an earlier item on the same target reports it."""
        first: dict[tuple[str, str], Item] = {}
        explained: list[Item] = []
        for item in super().items():
            earlier = first.setdefault((item.plugin, item.target), item)
            if earlier is not item:
                reason = f"It waits for an earlier item on the same target, {earlier.id[:16]}. {earlier.error}".rstrip()
                step = earlier.next_step or "`holdfast outbox send` tries both now."
                item = evolve(item, error=reason, next_step=step)
            explained.append(item)
        return explained

    def get(self, item_id: str) -> Item:
        """The item with that id, or the only id with this prefix of six characters or more. Raises: NotFound."""
        items = [item for item in self.items() if item.id.startswith(item_id)]
        if len(items) == 1 and (len(item_id) >= _PREFIX or items[0].id == item_id):
            return items[0]
        which = "Several items have ids that begin with" if len(items) > 1 else "No waiting item has the id"
        raise NotFound(f"{which} {item_id!r}.", next_step="`holdfast outbox` lists the waiting items.")

    def send(
        self, senders: Mapping[str, Send], *, now: datetime, limit_s: float, even_if_not_due: bool = False
    ) -> dict[str, Evidence]:
        """Try the due items in order, for ``limit_s`` seconds at most; returns the evidence of the published ones, by
        id. Never raises.

        A failed item is retried after a minute, then after twice as long each time, up to an hour, and is
        never given up. A call still running after ``limit_s`` continues alone. No other process sends until it
        ends, and the item it publishes leaves the outbox all the same.
        """
        if not os.path.exists(self.path):
            return {}
        now, ends, sent = now.astimezone(UTC), time.monotonic() + limit_s, dict[str, Evidence]()

        def run() -> None:
            try:
                with self.sending(timeout_s=limit_s):
                    sent.update(self._sent(dict(senders), now, ends, even_if_not_due=even_if_not_due))
            except HoldfastError as error:
                logger.warning("the outbox could not be processed: %s", error.message)

        thread = threading.Thread(target=run, name="holdfast-outbox", daemon=True)
        thread.start()
        thread.join(limit_s)
        if thread.is_alive():
            logger.warning("the outbox items could not be sent in %g s", limit_s)
        return dict(sent)

    def _sent(
        self, senders: Mapping[str, Send], now: datetime, ends: float, *, even_if_not_due: bool
    ) -> Iterator[tuple[str, Evidence]]:
        """One pass through the items that are due: the published ones' ids with their evidence."""
        held: set[tuple[str, str]] = set()  # targets on which something earlier still waits
        down: set[str] = set()
        failures: Counter[str] = Counter()
        for queued in self.items():
            lane = (queued.plugin, queued.target)
            is_due = even_if_not_due or queued.due <= now
            if not is_due or lane in held or queued.plugin in down or queued.plugin not in senders:
                held.add(lane)
                continue
            if time.monotonic() >= ends:
                return
            try:
                item = self.get(queued.id)
            except NotFound:  # another process dropped or purged it a moment ago
                continue
            result = _published(item, senders[item.plugin])
            if not isinstance(result, HoldfastError):
                self.remove([item.id])
                yield item.id, result
                continue
            self._failed(item, result, now)
            held.add(lane)
            failures[item.plugin] += 1
            if isinstance(result, Unavailable) or failures[item.plugin] >= _ENOUGH:
                down.add(item.plugin)

    def _failed(self, failed: Item, error: HoldfastError, now: datetime) -> None:
        """Record a failed try. When the plugin can publish nothing now, its other items wait as long."""
        pause = min(_FIRST_PAUSE * 2 ** min(failed.attempts, 16), _LONGEST_PAUSE)
        if isinstance(error, TryLater):
            pause = max(pause, timedelta(seconds=min(error.after_s, _LONGEST_ASKED_S)))
        due = now + pause

        def change(item: Item) -> Item:
            if item.id == failed.id:
                tried = evolve(item, attempts=item.attempts + 1, due=due)
                return evolve(tried, error=error.message, next_step=error.next_step)
            if isinstance(error, Unavailable) and item.plugin == failed.plugin:
                return evolve(item, due=max(item.due, due))
            return item

        self.update(change)


def _published(item: Item, send: Send) -> Evidence | HoldfastError:
    try:
        evidence = send(item)
        if evidence.published.strip() == evidence.read_back.strip():
            return evidence
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's fault must not keep others from being sent
        return fault(item.plugin, error)
    step = "Look at it there; `holdfast outbox drop` leaves it as it is."
    return HoldfastError(f"The content published at {evidence.pointer} reads back differently.", next_step=step)


def fault(plugin: str, error: BaseException) -> HoldfastError:
    """What people are told about an error of a plugin."""
    if isinstance(error, HoldfastError):
        return error
    problem = f"The plugin {plugin!r} failed: {type(error).__name__}."
    return HoldfastError(problem, next_step="Report it to its author.")


def _damaged(line: bytes) -> Item:
    empty: dict[str, Any] = dict.fromkeys(("plugin", "flush", "target", "body"), "")
    step = "The daily summary lists the changes: publish them manually, then drop this with a reason."
    error = f"A line of {FILE} is damaged."
    return Item(id=damaged_id(line), **empty, at=_EPOCH, due=_EPOCH, error=error, next_step=step)
