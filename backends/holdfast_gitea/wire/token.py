"""The token for one Gitea server, from the environment, otherwise from the system's keyring, never from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from holdfast.errors import ConfigError
from holdfast_keys import origins, secrets

#: The name under which tokens are kept.
NAME: Final = "gitea"


def find(
    env: Mapping[str, str] | None = None,
    *,
    server: str,
    setting: str,
    root: str | os.PathLike[str] | None = None,
) -> str:
    """The token for ``server``, which ``setting`` names (like ``storage.server``) in the project ``root``.

    Raises: ConfigError when there is none for this server, or when only the project names the server; KeyringUnusable
    when the keyring is locked.
    """
    origin = origins.of(server, "`server`")
    token = secrets.get(NAME, env, origin=origin, root=root, settings=(setting,))
    if not token:
        raise ConfigError(
            f"There is no token for the Gitea server {origin}.",
            next_step=f"Set {secrets.variables(NAME)[0]}, or keep one in the keyring: {secrets.command(NAME, origin)}.",
        )
    return token
