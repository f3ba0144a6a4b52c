"""The protocol, skill and ``/memory-update`` command that instruct agents, in each client's form."""

from __future__ import annotations

from importlib.resources import files

from holdfast_agents.setup.parts import MARK

_COMMENT = f"<!-- {MARK}; `holdfast uninstall` takes it out again. -->"
_DESCRIPTION = "Save what this session has learned to holdfast's memory now"


def data(name: str) -> str:
    """A file of this package's ``data`` folder."""
    return files("holdfast_agents").joinpath("data", name).read_text(encoding="utf-8")


def protocol() -> str:
    """LOAD at the start and UPDATE at the end, in a few lines for an agent's instructions."""
    return data("protocol.md")


def instructions() -> str:
    """The protocol as a complete file."""
    return f"{_COMMENT}\n\n{protocol()}"


def skill() -> str:
    """The skill, in a form that all three clients read."""
    return data("skill.md")


def memory_update(wish: str = "$ARGUMENTS", **front_matter: str) -> str:
    """The command with a client's front matter. ``wish`` is the placeholder for the user's words."""
    head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in front_matter.items())
    body = data("memory-update.md").replace("WISH", wish)
    return f"---\ndescription: {_DESCRIPTION}\n{head}---\n{_COMMENT}\n\n{body}"
