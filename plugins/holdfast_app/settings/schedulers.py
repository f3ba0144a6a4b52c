"""The nightly dream on the system's scheduler, as a systemd user timer, cron job, launchd agent or Windows task.

The entry starts ``holdfast dream --if-due`` once a day, without a holdfast daemon. Each project has its own entry,
named by its folder name and a digest of its path. Only this user's own schedule is changed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from holdfast.errors import Refused, Unavailable
from holdfast.fs import durable
from holdfast.plugin import nested

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S: Final = 30.0
_SYSTEMCTL: Final = ("systemctl", "--user")
_USER: Final = os.getuid() if sys.platform != "win32" else 0


class Kind(StrEnum):
    """The scheduler."""

    SYSTEMD = "systemd"
    CRON = "cron"
    LAUNCHD = "launchd"
    WINDOWS = "windows"


@frozen(kw_only=True)
class Plan:
    """An installation's ``files`` (path -> text), and the commands that register or remove it. cron has one ``line`` in
    the user's table instead, which ends with the name. ``status`` succeeds when there is one, where no file says so."""

    kind: Kind
    name: str
    files: Mapping[str, str] = field(factory=dict)
    install: Sequence[Sequence[str]] = ()
    remove: Sequence[Sequence[str]] = ()
    status: Sequence[str] = ()
    line: str = ""

    def __str__(self) -> str:
        """The whole plan as text for the user."""
        parts = [f"# {path}\n{text}" for path, text in self.files.items()]
        parts += [f"# in the table of `crontab -e`\n{self.line}\n"] if self.line else []
        parts += ["\n".join(shlex.join(words) for words in self.install) + "\n"] if self.install else []
        return "\n".join(parts)


def detect() -> Kind:
    """This system's scheduler. Raises: Unavailable when there is none."""
    if sys.platform == "win32":
        return Kind.WINDOWS
    if sys.platform == "darwin":
        return Kind.LAUNCHD
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if shutil.which("systemctl") and runtime and os.path.isdir(os.path.join(runtime, "systemd")):
        return Kind.SYSTEMD
    if shutil.which("crontab"):
        return Kind.CRON
    raise Unavailable(
        "There is neither a systemd user session nor cron here.",
        next_step="Run `holdfast dream --if-due` once a day with another scheduler.",
    )


def plan(kind: Kind, root: str, *, at: str) -> Plan:
    """The plan for the project at ``root``, to run daily ``at`` HH:MM local time.

    Raises: Refused for a path that a schedule cannot hold."""
    if not root.isprintable():
        raise Refused("The project's path holds characters that a schedule cannot.", next_step="Rename its folder.")
    slug = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(root)).strip("-").lower() or "project"
    digest = sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()
    name = f"holdfast-dream-{slug[:40]}-{digest[:8]}"
    command = [*nested.THIS, "--root", root, "dream", "--if-due"]
    hour, minute = map(int, at.split(":"))
    home = os.path.expanduser("~")
    if kind is Kind.SYSTEMD:
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        unit = os.path.join(config, "systemd", "user", name)
        # In a unit a percent sign is a specifier and a dollar sign a variable. Source: systemd.unit(5).
        quoted = (re.sub(r'(["\\])', r"\\\1", word).replace("%", "%%").replace("$", "$$") for word in command)
        words = " ".join(f'"{word}"' for word in quoted)
        service = f"[Service]\nType=oneshot\nExecStart={words}\n"
        timer = f"[Timer]\nOnCalendar=*-*-* {at}:00\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
        return Plan(
            kind=kind,
            name=name,
            files={f"{unit}.service": service, f"{unit}.timer": timer},
            install=[(*_SYSTEMCTL, "daemon-reload"), (*_SYSTEMCTL, "enable", "--now", f"{name}.timer")],
            remove=[(*_SYSTEMCTL, "disable", "--now", f"{name}.timer")],
        )
    if kind is Kind.LAUNCHD:
        import plistlib

        when = {"Hour": hour, "Minute": minute}
        agent = plistlib.dumps({"Label": name, "ProgramArguments": command, "StartCalendarInterval": when})
        path, domain = os.path.join(home, "Library", "LaunchAgents", f"{name}.plist"), f"gui/{_USER}"
        install, remove = ("launchctl", "bootstrap", domain, path), ("launchctl", "bootout", f"{domain}/{name}")
        return Plan(kind=kind, name=name, files={path: agent.decode()}, install=[install], remove=[remove])
    if kind is Kind.WINDOWS:
        task = ("/SC", "DAILY", "/ST", at, "/TN", name, "/TR", subprocess.list2cmdline(command))
        return Plan(
            kind=kind,
            name=name,
            install=[("schtasks", "/Create", "/F", *task)],
            remove=[("schtasks", "/Delete", "/F", "/TN", name)],
            status=("schtasks", "/Query", "/TN", name),
        )
    # In a crontab a percent sign ends the command unless it is escaped. Source: crontab(5).
    line = f"{minute} {hour} * * * {shlex.join(command)} >/dev/null 2>&1".replace("%", "\\%")
    return Plan(kind=kind, name=name, line=f"{line} # {name}")


def install(made: Plan) -> None:
    """Install it, replacing an earlier installation. Raises: Unavailable."""
    if made.line:
        _write_table([*_others(made), made.line])
    for path, text in made.files.items():
        real = os.path.realpath(path)  # links in the user's own folders are the user's choice
        durable.make_private_dir(os.path.dirname(real))
        durable.replace(real, text.encode("utf-8"), mode=0o644)
    for words in made.install:
        _run(words)


def remove(made: Plan) -> bool:
    """Remove it; returns whether there was one. Raises: Unavailable."""
    if not is_installed(made):
        return False
    if made.line:
        _write_table(_others(made))
    for words in made.remove:
        _run(words)
    for path in made.files:
        durable.remove(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
    if made.kind is Kind.SYSTEMD:
        _run(made.install[0])
    return True


def is_installed(made: Plan) -> bool:
    """Whether it is installed. Raises: Unavailable."""
    if made.line:
        return len(_others(made)) < len(_table())
    if made.files:
        return all(os.path.isfile(path) for path in made.files)
    return _call(made.status).returncode == 0


def _table() -> list[str]:
    done = _call(("crontab", "-l"))
    if done.returncode != 0 and "no crontab" not in done.stderr.lower():
        raise _failed(("crontab", "-l"), done.stderr)
    return done.stdout.splitlines() if done.returncode == 0 else []


def _others(made: Plan) -> list[str]:
    """The user's table without holdfast's line for this project. Earlier builds had the name in a line above it."""
    lines, mark = _table(), f"# {made.name}"
    return [line for above, line in zip(["", *lines], lines, strict=False) if not line.endswith(mark) and above != mark]


def _write_table(lines: Sequence[str]) -> None:
    _run(("crontab", "-"), "".join(f"{line}\n" for line in lines))


def _run(words: Sequence[str], given: str = "") -> None:
    done = _call(words, given)
    if done.returncode != 0:
        raise _failed(words, done.stderr or done.stdout)


def _call(words: Sequence[str], given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - programs of the system, each word its own argument
            words, input=given, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(words, type(error).__name__) from error


def _failed(words: Sequence[str], said: str) -> Unavailable:
    return Unavailable(
        f"`{shlex.join(words)}` failed: {' '.join(said.split()) or 'no output'}.",
        next_step="`holdfast schedule install --print` shows how to set it up manually.",
    )
