"""The clients that holdfast can be installed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast_agents.setup import claude_code, codex, opencode, pi, program
from holdfast_agents.setup.client import Client, Where

#: Client by name, the ones that can block first.
CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client for client in (claude_code.CLIENT, codex.CLIENT, opencode.OPENCODE, opencode.KILO, pi.CLIENT)
}
SCOPES: Final = ("project", "user")


def where(root: str, scope: str) -> Where:
    """The project at ``root``, or the user's own settings."""
    return Where(root=root, scope=scope, program=program.words(scope))
