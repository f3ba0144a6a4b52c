"""Sends items waiting in the outbox, and drops an item with a recorded reason."""

from collections.abc import Iterable
from datetime import UTC
from typing import Final, NamedTuple

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import BadValue, HoldfastError, NotFound, must_be
from holdfast.flush import notes
from holdfast.fs import paths
from holdfast.models import Evidence, Payload, Receipt
from holdfast.storage import block_marker
from holdfast.text.lazy import log
from holdfast.text.plain import one_line
from holdfast_app.base import Services
from holdfast_app.outbox.forge import Forge
from holdfast_app.outbox.outbox import Item, Outbox, Send
from holdfast_app.records import ownlines

logger = log(__name__)

#: Time limit in seconds for waiting items at a session start.
START_LIMIT_S: Final = 3.0
#: Seconds that a person waits who asked for it; every call has its own limit, too.
COMMAND_LIMIT_S: Final = 600.0


class Delivery(NamedTuple):
    """The outcome for an item: ``evidence`` of the publication, or None while it waits; ``item`` has the reason."""

    item: Item
    evidence: Evidence | None


class Deliveries:
    """An open project's outbox: :attr:`holdfast.Holdfast.outbox`, and for core ``services.outbox``
    (:class:`holdfast.services.interfaces.Outbox`)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._outbox = Outbox(services.state)
        #: The waiting items, oldest first. An item that waits for another says so. Raises: Unavailable.
        self.items = self._outbox.items

    def retarget(self, old: str, new: str) -> list[Item]:
        """Let the items for a target (``owner/repo#7``), or for a whole repository, whose numbers stay, go to another
        one and be due at once; returns them. Ids and bodies stay, so nothing is published twice.

        Raises: BadValue for names that do not fit together; NotFound when nothing waits for ``old``; Unavailable.
        """
        must_be(str, old, "old")
        must_be(str, new, "new")
        old, new = old.strip(), new.strip()
        if not new or new != one_line(new) or ("#" in old) is not ("#" in new):
            step = "Name two repositories (owner/old owner/new), or two targets (owner/old#7 owner/new#7)."
            raise BadValue("target", "does not fit the old one", next_step=step)
        due, moved = self._services.now().astimezone(UTC), list[Item]()

        def change(item: Item) -> Item:
            rest, begins = item.target[len(old) :], item.target[: len(old)].casefold() == old.casefold()
            if begins and (not rest or ("#" not in old and rest[0] in "#!")):
                item = evolve(item, target=new + rest, due=due, error="", next_step="")
                moved.append(item)
            return item

        self._outbox.update(change)
        if not moved:
            raise NotFound(f"Nothing waits for {old!r}.", next_step="`holdfast outbox` lists the waiting items.")
        return moved

    def send(self, *, limit_s: float = COMMAND_LIMIT_S) -> list[Delivery]:
        """Try every waiting item, due or not. Returns the outcomes, in order. Raises: Unavailable."""
        before, senders = self.items(), _senders(self._services)
        proofs = self._outbox.send(senders, now=self._services.now(), limit_s=limit_s, even_if_not_due=True)
        after = {item.id: item for item in self.items()}
        outcomes = []
        for item in (after.get(queued.id, queued) for queued in before if queued.id in proofs or queued.id in after):
            if not item.is_damaged and item.plugin not in senders:
                step = f"Enable it with a `[plugins.{item.plugin}]` table; `holdfast plugins` shows its status."
                item = evolve(item, error=f"The plugin {item.plugin!r} is not working.", next_step=step)
            outcomes.append(Delivery(item, proofs.get(item.id)))
        return outcomes

    def send_due(self, *, limit_s: float = START_LIMIT_S) -> int:
        """Try the due items, by default for 3 seconds, as at a session start; returns how many items still wait.
        Never raises, and calls no plugin when nothing is due: everything that had to be kept is already stored."""
        try:
            self._outbox.send(_senders(self._services), now=self._services.now(), limit_s=limit_s)
            return len(self._outbox.rows())
        except HoldfastError as error:
            logger.warning("the outbox could not be read: %s", error.message)
            return 1  # whatever it is: something waits there

    def drop(self, item_id: str, reason: str) -> Item:
        """Drop an item permanently, after noting the person and the reason in the daily note. Returns the item.

        Raises: NotFound; BadValue for a blank reason; Refused and PluginError from the gate; Unavailable.
        """
        services = self._services
        if not reason.strip():
            raise BadValue("reason", "is blank", next_step="Give the reason for not publishing it.")
        item = self._outbox.get(item_id)
        at = services.now()
        name = services.layout.name(Surface.DAILY, at.date())
        # Not by its flush: when its session is purged, nothing may hold that id, and this block is an operator's.
        put = f"{item.at.astimezone(services.config.tz):%Y-%m-%d %H:%M}"
        what = f"the comment of {put} on {item.target}" if item.target else "a damaged item"
        parts = (
            "**Objective:** Remove unwanted items from the outbox",
            ownlines.line(ownlines.PART, ownlines.WHAT_CHANGED),
            f"- Decision: {what} is not published: {one_line(paths.rewrite(reason, services.root))}",
        )
        block_id, about = f"drop_{item.id}", " session=outbox reason=drop"
        block = notes.block(ownlines.DROPPED_TITLE, block_id, at, about, "", "\n\n".join(parts))
        block = services.gate.admit(block, surface=Surface.DAILY, name=name)
        services.store.append(Surface.DAILY, name, block, notes.header(at.date()), block_id)
        self._outbox.remove([item.id])
        return item

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> int:
        """Hand ``flushes`` with comments that waited to the forges again; returns the number of comments. A forge knows
        a comment by its id, so none is published twice. A comment that an operator dropped is left alone. Raises:
        PluginError; Corrupt; Unavailable."""
        services = self._services
        forges = forges_of(services, publishing=True)
        put_back = 0
        for receipt, payload in flushes:
            targets = {e.target for e in receipt.evidence if e.pending and not e.pointer}
            ids = {forge.item_id(receipt.flush_id, target) for forge in forges.values() for target in targets}
            known = {item.id for item in self._outbox.items()}
            if targets and not ids <= known and not any(_is_dropped(services, item_id) for item_id in ids):
                services.plugins.on_flush(payload, receipt)
                put_back += len(ids - known)
        return put_back


def forges_of(services: Services, *, publishing: bool = False) -> dict[str, Forge]:
    """The forges that are on in this project, by name; with ``publishing`` those that take posts."""
    known = services.plugins.implementations_of(Forge)
    return {name: forge for name, forge in known.items() if (forge.publishes or not publishing) and forge.is_on}


def _senders(services: Services) -> dict[str, Send]:
    return {name: forge.send for name, forge in forges_of(services, publishing=True).items()}


def _is_dropped(services: Services, item_id: str) -> bool:
    marker = block_marker(f"drop_{item_id}")
    names = (name for name in services.store.names() if services.layout.surface_of(name) is Surface.DAILY)
    return any(marker in document.text for document in map(services.store.read, names) if document)
