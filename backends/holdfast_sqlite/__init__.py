"""The store in one SQLite file: for many facts and many writers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.api import hookimpl

if TYPE_CHECKING:
    import os

    from holdfast.api import StorageConfig
    from holdfast.storage import StorageBackend
    from holdfast_sqlite.backend import ForeignStore

#: The keys of ``[storage]`` that this backend reads.
known_options = ("file", "lock_timeout_s")


@hookimpl
def storage_backend(config: StorageConfig, root: str | os.PathLike[str]) -> StorageBackend | None:
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
