"""Where a client is guarded, and the files and manual steps that this needs."""

from __future__ import annotations

import os

from attrs import frozen

from holdfast_agents.setup.parts import Part
from holdfast_agents.setup.placing import Place


@frozen(kw_only=True)
class Where:
    """``root`` is the project, ``program`` the command that starts holdfast. ``server`` includes the MCP server."""

    root: str
    scope: str
    program: tuple[str, ...]
    server: bool = True

    @property
    def in_project(self) -> bool:
        return self.scope == "project"

    def place(self, part: Part, what: str, base: str, *names: str) -> Place:
        """``part`` in the file ``names`` below ``base``, the folder with the client's files. ``what`` describes it."""
        path = os.path.join(base, *names)
        shown = os.path.relpath(path, base) if self.in_project else path
        return Place(path=path, shown=shown, part=part, base=base, what=what, contained=self.in_project)


@frozen(kw_only=True)
class Needed:
    """A client's files, first the compaction guard. ``by_hand`` are sentences with the user's
    remaining steps, in order."""

    client: str
    places: tuple[Place, ...]
    by_hand: tuple[str, ...]


def worktrees(client: str) -> str:
    """The manual step for a client that also reads settings in parent folders."""
    return (
        f"Commit these files, because a git worktree without them is not guarded. "
        f"`holdfast install {client} --scope user` guards every folder."
    )
