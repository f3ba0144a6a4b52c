"""The last brief of a store on a server, for a start at which the server does not answer.

``state/derived/last-brief.json``, mode 0600. It holds only text already shown to an agent, so it is redacted, and
every purge removes the folder's files.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Final, NamedTuple

from holdfast.errors import Unavailable
from holdfast.fs import durable, private
from holdfast.storage import sha256
from holdfast_app.base import Services

_FILE: Final = "last-brief.json"


class Kept(NamedTuple):
    """The text, and when it was read from the store, in UTC."""

    text: str
    at: datetime


@contextmanager
def keeping(services: Services) -> Iterator[Callable[[str], None]]:
    """A function that keeps a brief read inside of the block. A purge waits for the block to end, so the kept text
    cannot be older than the purge. Nothing is kept while another process keeps one."""
    private.make(services.state, private.DERIVED)
    path = services.private(private.DERIVED, _FILE)

    def keep(text: str) -> None:
        table = {"store": _store(services), "at": datetime.now(UTC).isoformat(), "text": text}
        durable.replace(path, json.dumps(table, ensure_ascii=False).encode("utf-8", "replace"), flush=False)

    with ExitStack() as held:
        try:
            held.enter_context(private.lock(path, timeout_s=0))
        except Unavailable:
            yield lambda text: None
        else:
            yield keep


def read(services: Services) -> Kept | None:
    """The kept brief of this store; None if there is none or it cannot be read."""
    table = private.table(services.private(private.DERIVED, _FILE))
    if table.get("store") != _store(services):
        return None
    return Kept(table["text"], datetime.fromisoformat(table["at"]))


def _store(services: Services) -> str:
    """A digest of the settings that name the store: another store's brief is of no use."""
    storage = services.config.storage
    return sha256(repr((storage.backend, storage.path, storage.facts, storage.options)))
