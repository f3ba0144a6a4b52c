"""The token for the Gitea server: from the environment, else from the system's keyring, never from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from holdfast import secrets
from holdfast.errors import ConfigError

#: Looked at in this order, before what :mod:`holdfast.secrets` knows.
VARIABLE: Final = "HOLDFAST_GITEA_TOKEN"


def find(env: Mapping[str, str] | None = None) -> str:
    """The token. Raises: ConfigError when there is none; KeyringUnusable when the keyring is locked."""
    env = os.environ if env is None else env
    token = env.get(VARIABLE, "").strip() or secrets.get("gitea", env)
    if not token:
        raise ConfigError(
            "There is no token for the Gitea server.",
            next_step=f"Set {VARIABLE}, or keep one in the keyring: `holdfast auth set gitea`.",
        )
    return token
