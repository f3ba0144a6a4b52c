"""Who and which machine a statement names."""

import getpass
import os
import platform

from holdfast_app.config import IdentityConfig


def origin_of(settings: IdentityConfig, agent: str = "") -> str:
    """``person@machine``, and the agent when it is known. Of an e-mail address the part before ``@`` is used."""
    machine = settings.machine or platform.node().partition(".")[0] or "unknown"
    person = settings.person or _login()
    return " ".join(filter(None, (f"{_plain(person.partition('@')[0])}@{_plain(machine)}", _plain(agent))))


def _plain(text: str) -> str:
    """In one line, without what would end a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()).replace("--", "-").replace(">", "")


def _login() -> str:
    try:
        return os.environ.get("GIT_AUTHOR_NAME", "").strip() or getpass.getuser()  # people may share an account
    except (OSError, KeyError, ImportError):
        return "unknown"
