"""The table of commands, and how one is found. A command is a module, imported only when it is called.

It is a module of this package with the command's name, else what an installed distribution offers under that name in
the entry-point group ``holdfast.commands``: plugins of ours and of others bring their commands in the same way. Such a
module has ``configure(parser)``, which declares arguments and the epilog with examples, and ``run(args)``, which
returns the exit code and may raise what :mod:`holdfast.errors` names.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, without the import
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping
    from typing import Protocol

    class CommandModule(Protocol):
        """What a command's module holds."""

        def configure(self, parser: ArgumentParser, /) -> None:
            """Declare the command's arguments."""

        def run(self, args: Namespace, /) -> int:
            """Do it and return the exit code."""

        def quick(self, words: list[str], root: str | None, /) -> int | None:
            """Only of the commands that agents start at every event."""


#: Heading of the help -> command -> what it does, in a few words. The order is the order of the help.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Begin": {
        "demo": "see the promise kept, in a few seconds, in a folder of its own",
        "init": "set up holdfast in this project",
    },
    "Guard a client": {
        "install": "put holdfast's hooks into Claude Code, opencode or Codex",
        "uninstall": "take them out again",
        "hook": "what the hooks run: answers one event of a client",
        "mcp": "serve tools and documents to an MCP client, on stdin and stdout",
    },
    "Keep what must survive": {
        "add": "journal one message of a session",
        "flush": "make a session durable, verify it and print the receipt",
        "end": "flush a session and close it",
        "override": "let context go once although the flush fails, with a reason",
        "remember": "store one fact",
        "extract": "facts out of a recorded conversation",
    },
    "Go on": {
        "load": "where to go on, from files alone: the brief for an agent",
        "prompt": "profile and facts as a block for a system prompt",
        "show": "print stored documents, or list them",
        "report": "the operator's report: what happened, what is blocked, what is needed",
    },
    "Consolidate": {
        "dream": "distil the daily notes into MEMORY.md, checked line by line; log, undo, review",
        "schedule": "set up the nightly dream with what the system has",
    },
    "The three files": {
        "workflow": "read the memory at a workflow's start, update it at its end",
        "update": "update the memory now, outside of any workflow",
        "capture": "count an issue or pattern; what recurs is written down",
    },
    "Look after it": {
        "facts": "list, show, edit, forget, import and export facts; the log of what left",
        "validate": "judge every stored document; exit code 1 when there is an error",
        "status": "which sessions are safe; exit code 1 when one is not",
        "sessions": "every session that has a journal",
        "doctor": "check that everything works, and repair what can be repaired",
        "outbox": "what waits to be published on a forge; send it now, or drop it",
        "config": "the settings in force and where each comes from; change one",
        "trust": "see what this project's files ask for, and accept it; list, revoke",
        "plugins": "plugins and backends, what became of each and why",
        "layers": "where each kind of memory lives, who owns it, who reads it",
        "route": "which layer a fact belongs to",
        "auth": "keys of model providers and forges, kept in the system's keyring, each for one server",
        "migrate": "copy the store to another backend, verified; the old one is only read",
        "retention": "remove what is older than the settings keep it",
        "purge": "forget a subject, a session, what is old or everything, for good",
        "scrub": "mask secrets that were stored before a rule knew them",
        "completion": "a completion script for your shell",
    },
}

COMMANDS: Mapping[str, str] = {name: text for group in GROUPS.values() for name, text in group.items()}


def known() -> dict[str, str]:
    """Every command that can be called -> what it does. No distribution can take one of the table over."""
    from holdfast import discovery

    others = {f.name: f"from {f.distribution} {f.version}" for f in discovery.scan() if f.group == discovery.COMMANDS}
    return {**others, **COMMANDS}


def load(name: str) -> CommandModule:
    """The module of a command. Raises: PluginNotFound, PluginLoadFailed for one that a plugin should bring."""
    import importlib

    own = f"holdfast.cli.{name}"
    if name in COMMANDS:
        try:
            module: CommandModule = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name != own:
                raise
        else:
            return module
    from typing import cast

    from holdfast import discovery

    found = discovery.scan()
    if name in COMMANDS:
        found = [f for f in found if f.distribution == discovery.OWN]
    return cast("CommandModule", discovery.import_object(discovery.choose(found, discovery.COMMANDS, name)))
