"""The setup that guards a client: files in a project or the user's own settings, and steps only the user can do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Final, Protocol, cast

from attrs import frozen

from holdfast_agents.setup import program
from holdfast_agents.setup.placing import Place

#: Client -> its name for people.
CLIENTS: Final[Mapping[str, str]] = {"claude-code": "Claude Code", "codex": "Codex", "opencode": "opencode"}
SCOPES: Final = ("project", "user")


@frozen(kw_only=True)
class Where:
    """Where to install. ``root`` is the project, ``program`` the command that starts holdfast. ``handoff`` is the
    handoff file relative to the project, or empty. ``server`` includes the MCP server."""

    root: str
    scope: str
    program: tuple[str, ...]
    handoff: str = ""
    server: bool = True

    @property
    def in_project(self) -> bool:
        return self.scope == "project"


@frozen(kw_only=True)
class Needed:
    """The files for one client. ``by_hand`` are sentences with the user's remaining steps, in order."""

    client: str
    places: tuple[Place, ...]
    by_hand: tuple[str, ...]


class _Files(Protocol):
    def needed(self, where: Where) -> Needed: ...


def where(root: str, scope: str) -> Where:
    """The project at ``root``, or the user's own settings. Raises: ConfigError."""
    from holdfast.config import resolved
    from holdfast.config.layout import Surface

    config = resolved.load(root)
    handoff = ""
    if config.storage.backend == "file":
        handoff = os.path.normpath(os.path.join(config.storage.path, config.layout.name(Surface.HANDOFF)))
    inside = handoff and not os.path.isabs(handoff) and not handoff.startswith("..")
    return Where(
        root=root,
        scope=scope,
        program=program.words(scope),
        handoff=handoff.replace(os.sep, "/") if inside else "",
    )


def needed(client: str, where: Where) -> Needed:
    """The setup for ``client``, a member of :data:`CLIENTS`."""
    module = import_module(f"holdfast_agents.setup.{client.replace('-', '_')}")
    return cast("_Files", module).needed(where)


def worktrees(client: str) -> str:
    """The manual step for a client that also reads settings in parent folders."""
    return (
        f"Commit these files, because a git worktree without them is not guarded. "
        f"`holdfast install {client} --scope user` guards every folder."
    )
