"""The table of commands, and how one is found. A command is imported only when it is called.

The entry-point group ``holdfast.commands`` names all of them; any distribution can offer one. An entry is a
:class:`holdfast_cli.command.Command`, or a module like it: with ``configure(parser)``, which declares arguments and the
epilog with examples, ``run(args)``, which returns the exit code and may raise what :mod:`holdfast.errors` names, and
``SUMMARY``, its line in the help.
"""

from typing import Any

from holdfast.plugin import discovery

#: The help's headings, in order.
HEADINGS = (
    "Get started", "Guard a client", "Save", "Resume and search", "Inspect", "Consolidate", "The three files", "Manage",
)  # fmt: skip
#: The heading of commands that another distribution brings.
OTHERS = "From other distributions"


def known() -> list[str]:
    """The name of every command, sorted. Imports none."""
    return sorted(_provided())


def described() -> dict[str, dict[str, str]]:
    """Every command for the help: heading -> name -> summary."""
    made: dict[str, dict[str, str]] = {heading: {} for heading in HEADINGS}
    for name, entry in sorted(_provided().items()):
        heading, text = _described(entry)
        made.setdefault(heading, {})[name] = text
    return {heading: group for heading, group in made.items() if group}


def summary(name: str) -> str:
    """A command's summary line. Raises: PluginNotFound."""
    return _described(_found(name))[1]


def load(name: str) -> Any:
    """A command. Raises: PluginNotFound; PluginLoadFailed when it cannot be imported."""
    return discovery.import_object(_found(name))


def _found(name: str) -> discovery.Found:
    """A command's entry point. Commands of holdfast's own distribution cannot be replaced."""
    entries = discovery.scan()
    own = [f for f in entries if (f.distribution, f.group, f.name) == (discovery.OWN, discovery.COMMANDS, name)]
    return discovery.choose(own or entries, discovery.COMMANDS, name)


def other_owner(name: str) -> str:
    """The distribution that brings a third-party command, otherwise ""."""
    entry = _provided().get(name)
    return entry.distribution if entry and entry.distribution != discovery.OWN else ""


def _provided() -> dict[str, discovery.Found]:
    entries = [f for f in discovery.scan() if f.group == discovery.COMMANDS]
    return {f.name: f for f in sorted(entries, key=lambda f: f.distribution == discovery.OWN)}  # ours last, so it wins


def _described(entry: discovery.Found) -> tuple[str, str]:
    """Heading and line of a command in the help. Another distribution's module is not imported for that."""
    if entry.distribution != discovery.OWN:
        return OTHERS, f"from {entry.distribution} {entry.version}"
    command = discovery.import_object(entry)
    return getattr(command, "HEADING", OTHERS), getattr(command, "SUMMARY", "")
