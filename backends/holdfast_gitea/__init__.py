"""The store in a repository's issues: memory that people can read and several machines can share."""

from pathlib import Path

from holdfast.api import StorageBackend, StorageConfig, hookimpl

#: The keys of ``[storage]`` that this backend reads.
known_options = ("server", "repository", "timeout_s", "patience_s", "lock_timeout_s", "insecure_http", "authors")


@hookimpl
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """The store on a Gitea or Forgejo server when the configuration names it.

    Options in ``[storage]``: ``server`` (its address), ``repository`` (``owner/name``), ``authors`` (more users whose
    records count), ``timeout_s`` (one wait for the server, 10), ``patience_s`` (one call with its tries, 20),
    ``lock_timeout_s`` (how long a write waits for another process of this machine, 60) and ``insecure_http`` (send the
    token over plain HTTP, false). The token is in the environment (``HOLDFAST_GITEA_TOKEN`` or ``GITEA_TOKEN``) or in
    the keyring (``holdfast auth set gitea``).
    """
    if config.backend != "gitea":
        return None
    from holdfast_gitea.backend import from_options

    return from_options(root, config.path, config.options)
