"""The store in one SQLite file: for many facts and many writers at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.api import StorageBackend, StorageConfig, hookimpl

if TYPE_CHECKING:
    from holdfast_sqlite.backend import ForeignStore

#: The keys of ``[storage]`` that this backend reads.
known_options = ("file", "lock_timeout_s")


@hookimpl
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """The SQLite store when the configuration names it.

    Options in ``[storage]``: ``file`` (name of the database in the store's folder, ``holdfast.db``) and
    ``lock_timeout_s`` (how long a write waits for another process, 10).
    """
    if config.backend != "sqlite":
        return None
    from holdfast_sqlite.backend import from_options

    return from_options(root, config.path, config.options)


def foreign_store(path: str) -> ForeignStore:
    """A foreign database's data, for an import. Raises: Corrupt; Unavailable;
    Unsupported."""
    from holdfast_sqlite.backend import ForeignStore

    return ForeignStore(path)
