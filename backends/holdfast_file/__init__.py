"""The default store: Markdown documents and one line a fact in ``facts.jsonl``, made to be read by people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.api import hookimpl

if TYPE_CHECKING:
    import os

    from holdfast.api import StorageConfig
    from holdfast.storage import StorageBackend

#: The store reads nothing from ``[storage]`` but what core does.
known_options = ()


@hookimpl
def storage_backend(config: StorageConfig, root: str | os.PathLike[str]) -> StorageBackend | None:
    """The file store when the configuration names it."""
    if config.backend != "file":
        return None
    from holdfast_file.backend import FileBackend

    return FileBackend(root, path=config.path, facts=config.facts)
