"""A client's facts: its files, its limits and its settings' content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from attrs import frozen

from holdfast_agents.clientfiles import read_or_empty
from holdfast_agents.setup import program
from holdfast_agents.setup.parts import Hooks, Part
from holdfast_agents.setup.placing import Place


class Problem(NamedTuple):
    """``unguarded``: compaction is not guarded, or not possible. Without a next step, the remedy is to reinstall."""

    message: str
    unguarded: bool = True
    next_step: str = ""


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
    by_hand: tuple[str, ...] = ()


@frozen(kw_only=True)
class Client:
    """``shown`` is its name for people, ``program`` its executable, and ``folder`` its own folder. ``around`` are the
    cases in which its hooks cannot block, after ``elsewhere``, the starts that hooks in the user's settings guard.
    ``seen`` is the version whose real program was run. ``reads_parents``: it also reads the settings in the folders
    above the one where it is started. ``needed`` and ``problems`` are its files and their faults."""

    name: str
    shown: str
    program: str
    folder: Callable[[], str]
    elsewhere: str
    around: str
    needed: Callable[[Where], Needed]
    problems: Callable[[Where], Iterator[Problem]]
    seen: str
    holds: str = "compacts only after a verified flush"
    reads_parents: bool = True

    def is_there(self, where: Where) -> bool:
        """Whether holdfast is installed there, even if only in part."""
        ours = re.compile(rf"{program.MARK}|{program.PROTOCOL}|holdfast\S{{0,10}}\s+hook\s+{self.name}\b")
        texts = (read_or_empty(one.path).decode("utf-8", "replace") for one in self.needed(where).places[:2])
        return any(map(ours.search, texts))


def not_found(who: str, what: str, client: str) -> Problem:
    """The problem that a client does not find the program ``what``."""
    step = f"Put it on the client's PATH, or run `holdfast install {client} --scope user`, which uses its full path."
    return Problem(f"{who} {what!r}, which cannot be found here.", next_step=step)


def worktrees(client: str) -> str:
    """The manual step for a client that also reads settings in parent folders."""
    return (
        f"Commit these files, because a git worktree without them is not guarded. "
        f"`holdfast install {client} --scope user` guards every folder."
    )


def hooks(client: str, words: tuple[str, ...], events: Mapping[str, int | Mapping[str, Any]], **fill: str) -> Hooks:
    """Hooks in Claude Code's form, which start the program ``words``. An event has its time limit in seconds, or more
    of its hook, whose strings may hold ``{program}`` and the names in ``fill``."""
    groups = {}
    for event, given in events.items():
        hook = {"command": f"{{program}} hook {client}", **({"timeout": given} if isinstance(given, int) else given)}
        for key, value in hook.items():
            if isinstance(value, str):
                value = program.command(value, words)
                for name, text in fill.items():
                    value = value.replace(f"{{{name}}}", text)
                hook[key] = value
        groups[event] = {"hooks": [{"type": "command", **hook}]}
    return Hooks(client=client, groups=groups)
