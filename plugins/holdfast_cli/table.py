"""The table of commands, and how one is found. A command is a module, imported only when it is called.

A command of core is a module of :mod:`holdfast_cli.commands` with its name. All others come from the entry-point group
``holdfast.commands``, where any distribution can offer one. Such a module has ``configure(parser)``, which declares
arguments and the epilog with examples, ``run(args)``, which returns the exit code and may raise what
:mod:`holdfast.errors` names, and ``SUMMARY``, its line in the help.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, without the import
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping
    from typing import Protocol

    from holdfast.plugin.discovery import Found

    class CommandModule(Protocol):
        """A command module's interface."""

        def configure(self, parser: ArgumentParser, /) -> None:
            """Declare the command's arguments."""

        def run(self, args: Namespace, /) -> int:
            """Do it and return the exit code."""

        def quick(self, words: list[str], root: str | None, /) -> int | None:
            """Only of the commands that agents start at every event."""


#: The commands of core by help heading, each with its summary line. The headings are in order.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Get started": {},
    "Guard a client": {},
    "Save": {
        "add": "journal one message of a session",
        "flush": "make a session durable, verify it and print the receipt",
        "end": "flush a session and close it",
        "override": "let context go once even though the flush fails, for a stated reason",
    },
    "Resume and search": {
        "show": "print stored documents, or list them",
    },
    "Inspect": {},
    "Consolidate": {},
    "The three files": {},
    "Manage": {
        "status": "show which sessions are safe; exit code 1 when one is not",
    },
}

#: The heading of commands that another distribution brings.
OTHERS = "From other distributions"
_CORE: Mapping[str, str] = {name: text for group in GROUPS.values() for name, text in group.items()}


def known() -> list[str]:
    """The name of every command, sorted. Imports none."""
    return sorted({*_CORE, *_provided()})


def described() -> dict[str, dict[str, str]]:
    """Every command for the help: heading -> name -> summary. Commands that cannot be imported are listed, too."""
    made = {heading: dict(group) for heading, group in GROUPS.items()}
    for name, found in sorted(_provided().items()):
        heading, text = _described(found)
        made.setdefault(heading, {})[name] = text
    return {heading: group for heading, group in made.items() if group}


def summary(name: str) -> str:
    """A command's summary line. Raises: PluginNotFound."""
    if name in _CORE:
        return _CORE[name]
    return _described(_found(name))[1]


def load(name: str) -> CommandModule:
    """A command's module. Raises: PluginNotFound; PluginLoadFailed when a package's command cannot be imported."""
    if name in _CORE:
        import importlib

        module: CommandModule = importlib.import_module(f"holdfast_cli.commands.{name}")
        return module
    from typing import cast

    from holdfast.plugin import discovery

    return cast("CommandModule", discovery.import_object(_found(name)))


def _found(name: str) -> Found:
    """The entry point of a package's command. Commands of holdfast's own distribution cannot be replaced."""
    from holdfast.plugin import discovery

    found = discovery.scan()
    own = [f for f in found if f.distribution == discovery.OWN]
    offered = own if any(f.group == discovery.COMMANDS and f.name == name for f in own) else found
    return discovery.choose(offered, discovery.COMMANDS, name)


def other_owner(name: str) -> str:
    """The distribution that brings a third-party command, otherwise ""."""
    from holdfast.plugin import discovery

    found = _provided().get(name)
    return found.distribution if found and found.distribution != discovery.OWN else ""


def _provided() -> dict[str, Found]:
    from holdfast.plugin import discovery

    found = [f for f in discovery.scan() if f.group == discovery.COMMANDS and f.name not in _CORE]
    return {f.name: f for f in sorted(found, key=lambda f: f.distribution == discovery.OWN)}  # ours last, so it wins


def _described(found: Found) -> tuple[str, str]:
    """Heading and line of a command in the help."""
    from holdfast.errors import PluginLoadFailed
    from holdfast.plugin import discovery

    told = f"from {found.distribution} {found.version}"
    try:
        module = discovery.import_object(found)
    except PluginLoadFailed:
        return OTHERS, told
    heading = getattr(module, "HEADING", OTHERS) if found.distribution == discovery.OWN else OTHERS
    return heading, getattr(module, "SUMMARY", "") or told
