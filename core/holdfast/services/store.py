"""Core's access to the backend. It checks names first, and a write counts only after it is read back."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NoReturn, cast

from holdfast import models
from holdfast.config.layout import Layout
from holdfast.errors import Conflict, Unavailable, must_be
from holdfast.fs import durable, private
from holdfast.journal.journal import file_stem
from holdfast.storage import ABSENT, Committed, Document, StorageBackend, check_name, sha256
from holdfast.text.lazy import log

logger = log(__name__)

#: Maximum wait for the lock on a document, in seconds, after which the write continues without it. Many sessions may
#: flush at once, and all of them write the handoff, so this machine's processes take turns.
_LINE_S = 60.0
#: Time limit, in seconds, for retrying a compare-and-swap against writers elsewhere. Each retry waits slightly longer,
#: for a random time, to get out of step with them.
PATIENCE_S = 30.0
_LONGEST_PAUSE_S = 0.5
#: Minimum number of tries, even when each is slow.
TRIES = 10


class _Closed:
    """Takes the backend's place when the project is closed, so that every store then says the same."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Unavailable("The project was closed.", next_step="Open it again.")


class Store:
    """A :class:`StorageBackend` with checked names and verified writes. ``state`` is the project's private folder."""

    def __init__(self, backend: StorageBackend, layout: Layout, state: str) -> None:
        self.backend = backend
        self.layout = layout
        self.state = state

    def read(self, name: str) -> Document | None:
        """The document, or None. Raises: Refused for a bad name; Corrupt; Unavailable."""
        return self.backend.read(check_name(name))

    def fetch(self, names: Iterable[str], *, listing: bool = False) -> Committed:
        """The documents by name and, with ``listing``, all facts, in one round trip where the backend can. Raises: as
        :meth:`read`."""
        return self.backend.commit(names=[check_name(name) for name in dict.fromkeys(names)], listing=listing)

    def names(self) -> list[str]:
        return sorted({n for prefix in self.layout.prefixes() for n in self.backend.names(prefix)})

    # replaceable by an application, which may withhold from agents what others brought. The kernel trusts its folder.

    def begin(self) -> None:
        """Called when the project is opened. Raises: Unavailable."""

    def for_agents(self, document: Document) -> str:
        """The document's text without withheld passages. Raises: Unavailable."""
        return document.text

    def record(self, name: str, before: str, after: str) -> None:
        """Called before a write of this machine. Raises: Unavailable."""

    def settle(self) -> None:
        """Make such records durable, before a flush counts as such. Raises: Unavailable."""

    # writing

    def append(self, surface: str, name: str, block: str, header: str, block_id: str) -> models.Written:
        """Append a block and read it back. Raises: Unavailable when the text read back lacks part of the block."""
        self.backend.append(check_name(name), block, header, block_id)
        document = self.read(name)
        if document is None or block.strip("\n") not in document.text:
            raise silent(name)
        return self.proved(surface, document, block.strip("\n"))

    def change(self, surface: str, name: str, change: Callable[[str | None], str]) -> models.Written:
        """Read, change and write a document by compare-and-swap, then read it back.

        ``change`` gets the stored text (None without a document) and returns the new text. It may be called again if
        another process wrote in between. Unchanged text is written too, because being readable does not prove that an
        earlier, killed try made it durable (storage contract, C1). Processes of this machine take turns. Raises:
        Conflict after half a minute of conflicts with writers elsewhere; Unavailable when the text read back differs
        from the text written, and no other process wrote.
        """
        check_name(name)
        with self.turn(name):
            for _ in tries(name):
                before = self.backend.read(name)
                text = change(before.text if before else None)
                with suppress(Conflict):
                    return self._replace(surface, name, text, before)
        raise AssertionError(name)

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait for this machine's writers of the document, in order of arrival; without a name, for other flushes.
        Continue without the lock on failure, because the compare-and-swap already prevents lost changes."""
        with ExitStack() as held:
            try:
                folder = private.make(self.state, "locks")
                held.enter_context(durable.Line(os.path.join(folder, file_stem(name) if name else "flush"), _LINE_S))
            except Unavailable as error:
                logger.info("a document is changed without its lock: %s", error.message)
            yield

    def _replace(
        self, surface: str, name: str, text: str, before: Document | None, expected: str = ""
    ) -> models.Written:
        expected = expected or (before.revision if before else ABSENT)
        self.record(name, before.text if before else "", text)
        revision = self.backend.write(name, text, expected=expected)
        after = self.backend.read(name)
        if after is not None and after.text == text:
            return self.proved(surface, after, text)
        if after is None or after.revision in (revision, expected):
            raise silent(name)
        raise Conflict(
            f"{name} was changed by another process right after it was written.", next_step="Check it, then try again."
        )

    def proved(self, surface: str, document: Document, text: str) -> models.Written:
        """The proof that ``text`` is in ``document``, which was read back. Raises: BadValue."""
        must_be(str, document.revision, f"The backend's revision of {document.name}")
        return models.Written(
            surface=surface,
            name=document.name,
            revision=document.revision,
            sha256=sha256(text),
            size=len(text.encode("utf-8")),
        )

    def close(self) -> None:
        """Release the backend. Each use of it afterwards raises Unavailable."""
        backend, self.backend = self.backend, cast("StorageBackend", _Closed())
        backend.close()


def tries(name: str) -> Iterator[int]:
    """The numbers of the tries to change what others change too, from 0. Raises: Conflict after the last."""
    attempt, until = 0, time.monotonic() + PATIENCE_S
    while attempt < TRIES or time.monotonic() < until:
        if attempt:
            import random

            longest = min(_LONGEST_PAUSE_S, 0.002 * 2 ** min(attempt, 10))
            time.sleep(random.random() * longest)  # noqa: S311 - not a secret
        yield attempt
        attempt += 1
    raise Conflict(
        f"{name} was changed by another writer {attempt} times in a row.",
        next_step="Close the editor or stop the other writer, then try again.",
    )


def silent(name: str) -> Unavailable:
    return Unavailable(
        f"{name} was written without an error, but the stored text differs.",
        next_step="Check the disk or the backend, then try again.",
    )
