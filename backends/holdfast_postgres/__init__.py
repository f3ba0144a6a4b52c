"""The store in a PostgreSQL database: for teams and many machines."""

from pathlib import Path

from holdfast.api import StorageBackend, StorageConfig, hookimpl

#: The keys of ``[storage]`` that this backend reads.
known_options = ("server", "namespace", "timeout_s", "connections")


@hookimpl
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """The PostgreSQL store when the configuration names it.

    Options in ``[storage]``: ``server`` (``postgresql://user@host/database``, without a password), ``namespace`` (the
    project's name in the database, ``team/project``) and ``timeout_s`` (limit of one call, 10). The password is in the
    environment (``HOLDFAST_POSTGRES_PASSWORD`` or ``PGPASSWORD``) or in a PostgreSQL password file, never in settings.
    """
    if config.backend != "postgres":
        return None
    from holdfast_postgres.backend import from_options

    return from_options(root, config.path, config.options)
