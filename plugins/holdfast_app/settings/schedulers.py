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


def plan(kind: Kind, root: str, *, at: str, program: Sequence[str] = ()) -> Plan:
    """The plan for the project at ``root``, to run daily ``at`` HH:MM local time. ``program`` starts holdfast.

    Raises: Refused for a path that a schedule cannot hold."""
    if not root.isprintable():
        raise Refused("The project's path holds characters that a schedule cannot.", next_step="Rename its folder.")
    name = f"holdfast-dream-{_slug(root)}"
    command = [*(program or nested.THIS), "--root", root, "dream", "--if-due"]
    hour, minute = at.split(":")
    if kind is Kind.SYSTEMD:
        return _systemd(name, command, at, root)
    if kind is Kind.LAUNCHD:
        return _launchd(name, command, int(hour), int(minute))
    if kind is Kind.WINDOWS:
        create = ("schtasks", "/Create", "/F", "/SC", "DAILY", "/ST", at, "/TN", name)
        return Plan(
            kind=kind,
            name=name,
            install=[(*create, "/TR", subprocess.list2cmdline(command))],
            remove=[("schtasks", "/Delete", "/F", "/TN", name)],
            status=("schtasks", "/Query", "/TN", name),
        )
    # In a crontab a percent sign ends the command unless it is escaped. Source: crontab(5).
    line = f"{int(minute)} {int(hour)} * * * {shlex.join(command)} >/dev/null 2>&1".replace("%", "\\%")
    return Plan(kind=kind, name=name, line=f"{line} # {name}")


def _systemd(name: str, command: Sequence[str], at: str, root: str) -> Plan:
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    folder = os.path.join(home, "systemd", "user")
    # In a unit a percent sign is a specifier and a dollar sign a variable. Source: systemd.unit(5), systemd.service(5).
    words = " ".join('"' + re.sub(r'(["\\])', r"\\\1", w).replace("%", "%%").replace("$", "$$") + '"' for w in command)
    service = (
        f"[Unit]\nDescription=holdfast: nightly dream of {os.path.basename(root).replace('%', '%%')}\n\n"
        f"[Service]\nType=oneshot\nExecStart={words}\n"
    )
    timer = (
        "[Unit]\nDescription=holdfast: when to dream\n\n"
        f"[Timer]\nOnCalendar=*-*-* {at}:00\nPersistent=true\nRandomizedDelaySec=10min\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    control = ("systemctl", "--user")
    return Plan(
        kind=Kind.SYSTEMD,
        name=name,
        files={os.path.join(folder, f"{name}.service"): service, os.path.join(folder, f"{name}.timer"): timer},
        install=[(*control, "daemon-reload"), (*control, "enable", "--now", f"{name}.timer")],
        remove=[(*control, "disable", "--now", f"{name}.timer")],
    )


def _launchd(name: str, command: Sequence[str], hour: int, minute: int) -> Plan:
    import plistlib

    path = os.path.join(os.path.expanduser("~"), "Library", "LaunchAgents", f"{name}.plist")
    table = {
        "Label": name,
        "ProgramArguments": list(command),
        "StartCalendarInterval": {"Hour": hour, "Minute": minute},
    }
    domain = f"gui/{os.getuid() if sys.platform != 'win32' else 0}"
    return Plan(
        kind=Kind.LAUNCHD,
        name=name,
        files={path: plistlib.dumps(table, sort_keys=False).decode()},
        install=[("launchctl", "bootstrap", domain, path)],
        remove=[("launchctl", "bootout", f"{domain}/{name}")],
    )


def _slug(root: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(root)).strip("-").lower() or "project"
    return f"{name[:40]}-{sha256(os.path.realpath(root).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


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
