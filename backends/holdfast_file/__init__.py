"""The default store: Markdown documents and one line a fact in ``facts.jsonl``, made to be read by people."""

from pathlib import Path

from holdfast.api import StorageBackend, StorageConfig, hookimpl

#: The store reads nothing from ``[storage]`` but what core does.
known_options = ()


@hookimpl
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """The file store when the configuration names it."""
    if config.backend != "file":
        return None
    from holdfast_file.backend import FileBackend

    return FileBackend(root, path=config.path, facts=config.facts)
