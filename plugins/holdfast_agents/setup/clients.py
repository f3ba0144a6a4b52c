"""The supported clients, and the setup that guards each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from holdfast_agents.setup import claude_code, codex, opencode, program
from holdfast_agents.setup.where import Needed, Where

#: Client -> its name for people.
CLIENTS: Final[Mapping[str, str]] = {"claude-code": "Claude Code", "codex": "Codex", "opencode": "opencode"}
SCOPES: Final = ("project", "user")
_SETUPS: Final[Mapping[str, Callable[[Where], Needed]]] = {
    "claude-code": claude_code.needed,
    "codex": codex.needed,
    "opencode": opencode.needed,
}


def where(root: str, scope: str) -> Where:
    """The project at ``root``, or the user's own settings."""
    return Where(root=root, scope=scope, program=program.words(scope))


def needed(client: str, where: Where) -> Needed:
    """The setup for ``client``, a member of :data:`CLIENTS`."""
    return _SETUPS[client](where)
