"""The private folder on this machine, with the lock that its processes share and the index file."""

import contextlib
import os
import threading
from collections.abc import Iterator

from holdfast.errors import Unavailable
from holdfast.fs import durable, private


class Place(durable.StoreFolder):
    """``state/`` in the folder ``path`` under the project ``root``; ``.holdfast/state/`` when that is the project.

    Nothing is made before the first write.
    """

    def __init__(self, root: str | os.PathLike[str], *, path: str, timeout_s: float) -> None:
        super().__init__(root, path)
        private.check(self.state)
        self.index = os.path.join(self.state, "gitea-index.json")
        self._timeout_s = timeout_s
        self._mutex = threading.RLock()
        self._held = False

    def reading(self) -> contextlib.AbstractContextManager[object]:
        """Keeps the other threads of this process out; other processes read and write meanwhile."""
        return self._mutex

    @contextlib.contextmanager
    def writing(self, *, timeout_s: float | None = None) -> Iterator[bool]:
        """Exclude other threads and other processes on this machine. Reentrant.

        Yields whether this is the outermost entry.
        """
        with self._mutex:
            if self._held:
                yield False
                return
            if not os.path.isdir(self.root):
                raise Unavailable(
                    f"The project folder {os.path.basename(self.root)!r} does not exist.", next_step="Make it first."
                )
            private.make(self.state)
            with durable.lock(
                os.path.join(self.state, "gitea.lock"), timeout_s=self._timeout_s if timeout_s is None else timeout_s
            ):
                self._held = True
                try:
                    yield True
                finally:
                    self._held = False
