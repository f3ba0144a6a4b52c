"""Who and which machine a flush or a fact names, see ``[identity]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.config.values import IdentityConfig


def described(settings: IdentityConfig, agent: str = "") -> str:
    """``person@machine``, and the agent when it is known. A person's name holds no e-mail address: of one, the part
    before the ``@`` is used."""
    person, machine = settings.person or _login(), settings.machine or _host()
    return " ".join(filter(None, (f"{_plain(person.partition('@')[0])}@{_plain(machine)}", _plain(agent))))


def _plain(text: str) -> str:
    """In one line, without what would end a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()).replace("--", "-").replace(">", "")


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _host() -> str:
    import platform

    return platform.node().partition(".")[0] or "unknown"
