"""How a client starts holdfast: what stands in its settings, on every system, whatever the paths are called."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys

from holdfast.text import untrusted

#: What settings say that are shared in git, and where ``holdfast`` is on everybody's PATH.
PLAIN = ("holdfast",)
#: The command that installs holdfast, for messages that appear where it is missing.
INSTALL = "pip install holdfast"
#: This very installation.
THIS = (sys.executable, "-m", "holdfast")


def on_path() -> bool:
    """Whether a client that is started like this process will find ``holdfast``."""
    return shutil.which(PLAIN[0]) is not None


def words(scope: str) -> tuple[str, ...]:
    """The program and its first arguments.

    Settings of a project are shared, so they name no folder of this machine. Those of a user do when ``holdfast`` is
    not on PATH, or is there only as long as a virtual environment is activated.
    """
    found = shutil.which(PLAIN[0])
    environment = os.environ.get("VIRTUAL_ENV")
    lasting = found and not (environment and os.path.abspath(found).startswith(os.path.abspath(environment) + os.sep))
    return PLAIN if scope == "project" or lasting else THIS


def spelled(program: tuple[str, ...], platform: str = sys.platform) -> str:
    """The program for a shell: POSIX shells, and on Windows cmd and Git's bash alike, which agree on double quotes and
    forward slashes."""
    if platform != "win32":
        return shlex.join(program)
    first, *rest = program
    path = first.replace("\\", "/")
    return " ".join([f'"{path}"' if re.search(r"[^\w./:+-]", path) else path, *rest])


def command(template: str, program: tuple[str, ...], platform: str = sys.platform) -> str:
    """``template`` with the program in the place of ``{program}``."""
    return template.replace("{program}", spelled(program, platform))


def requirement(extra: str) -> str:
    """The argument for ``pip install``, quoted for a shell, that adds ``extra`` to this installation: the folder or
    repository that it was installed from, else its name."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = untrusted.from_json(distribution(PLAIN[0]).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url, name = str(origin.get("url", "")), f"{PLAIN[0]}[{extra}]"
    if not url:
        return shlex.quote(name)
    if "dir_info" in origin:
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        return shlex.quote(f"{url2pathname(urlsplit(url).path)}[{extra}]")
    kind = origin.get("vcs_info", {}).get("vcs", "")
    return shlex.quote(f"{name} @ {kind}{'+' if kind else ''}{url}")
