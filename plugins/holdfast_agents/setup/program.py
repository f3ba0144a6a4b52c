"""The command in a client's settings that starts holdfast, on every system and for any path, and the words that
instruct agents, in each client's form."""

import os
import re
import shlex
import shutil
import sys
from importlib.resources import files

from holdfast_memory import DISTRIBUTION, REPAIR, nested

#: Marks files that holdfast owns. A file without it is left alone.
MARK = "Made by `holdfast install`"
#: In every settings file of opencode that holdfast has changed. An MCP server, say, may be the user's own.
PROTOCOL = "holdfast-protocol.md"
#: The command in settings shared through git, and where it is on PATH. Another project has a program ``holdfast``.
PLAIN = (DISTRIBUTION,)
#: The command that installs holdfast, for messages about a missing program.
INSTALL = f"pip install {DISTRIBUTION}"
THIS = nested.THIS
#: The commands that start this installation. Any other is another installation's, or was edited.
KNOWN = (PLAIN, THIS)
_COMMENT = f"<!-- {MARK}; `holdfast uninstall` takes it out again. -->"
_DESCRIPTION = "Save what this session has learned to holdfast's memory now"
#: A guard's shell: the arguments that give a command 55 seconds. macOS has no `timeout`.
TIMED = (
    "if command -v timeout >/dev/null; then set -- timeout -s KILL 55; elif command -v perl >/dev/null; then "
    'set -- perl -e "alarm 55; exec @ARGV; exit 127"; fi; '
)
#: A guard's reason when holdfast cannot answer. Without quotes and backticks, which a shell would interpret.
FAILED = (
    f"holdfast keeps the context: {DISTRIBUTION} is not on the PATH, gave no answer in 55 seconds, ended without one, "
    "or another project, holdfast, replaced or removed files of it. "
    f"Install it with {INSTALL}, or reinstall it with {REPAIR}. Run {DISTRIBUTION} doctor, then compact again."
)
_TEXTS = {"PROGRAM": DISTRIBUTION, "REPAIR": REPAIR, "INSTALL": INSTALL}


def on_path() -> bool:
    """Whether a client started in this process's environment finds :data:`PLAIN`."""
    return shutil.which(PLAIN[0]) is not None


def words(scope: str) -> tuple[str, ...]:
    """The program and its first arguments.

    A project's settings are shared, so they never name a folder of this machine. A user's settings do when
    :data:`PLAIN` is not on PATH, or only while a virtual environment is activated.
    """
    path = shutil.which(PLAIN[0])
    environment = os.environ.get("VIRTUAL_ENV")
    lasting = path and not (environment and os.path.abspath(path).startswith(os.path.abspath(environment) + os.sep))
    return PLAIN if scope == "project" or lasting else THIS


def spelled(program: tuple[str, ...]) -> str:
    """The program quoted for POSIX shells, on Windows with the double quotes and slashes of cmd and Git's bash."""
    if sys.platform != "win32":
        return shlex.join(program)
    first, *rest = program
    path = first.replace("\\", "/")
    return " ".join([f'"{path}"' if re.search(r"[^\w./:+-]", path) else path, *rest])


def filled(text: str) -> str:
    """A guard's source with the commands in its messages."""
    return re.sub(r"@(\w+)@", lambda match: _TEXTS[match[1]], text)


def data(name: str) -> str:
    return files("holdfast_agents").joinpath("data", name).read_text(encoding="utf-8")


def instructions() -> str:
    """The protocol, LOAD at the start and UPDATE at the end, as a complete file."""
    return f"{_COMMENT}\n\n{data('protocol.md')}"


def memory_update(wish: str = "$ARGUMENTS", **front_matter: str) -> str:
    """The command with a client's front matter. ``wish`` is the placeholder for the user's words."""
    head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in front_matter.items())
    body = data("memory-update.md").replace("WISH", wish)
    return f"---\ndescription: {_DESCRIPTION}\n{head}---\n{_COMMENT}\n\n{body}"
