"""Parsing and help for everything but the hot command, and the commands that only holdfast ends."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, NoReturn

from holdfast.errors import PluginError
from holdfast.text.lazy import Lazy
from holdfast_cli.problem import UsageError, did_you_mean
from holdfast_cli.table import OTHERS, described, known, load, summary
from holdfast_cli.terminal import Term

#: Commands whose exit code 0 is taken for permission to drop context.
PERMITTING: Final = frozenset(["flush", "end", "override"])


class ExitRefused(PluginError):
    """Code of a plugin or backend called ``os._exit``."""


@contextmanager
def own_exit() -> Iterator[None]:
    """Make ``os._exit`` raise ExitRefused. Otherwise a plugin or backend could end the command with its own exit code,
    even 0. A forked process may still end itself."""
    end, own = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != own:
            end(status)
        raise ExitRefused(
            f"A plugin or backend called os._exit({status}), which would end holdfast before the work is done.",
            next_step="`HOLDFAST_TRACE=hooks` in the environment shows the calls. Disable the plugin that ends it.",
        )

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = end


_AFTER_HELP = (
    "`holdfast COMMAND --help` shows more, with examples. All take --root DIR and --debug; many take --json.",
    "Exit codes: 0 done, 1 refused or failed, 2 usage or configuration, 3 plugin or backend unavailable.",
)
#: Commands of the short help; other distributions' are there, too.
_FIRST = {"update"} | frozenset(
    ("demo", "init", "install", "doctor", "status", "load", "search", "show", "remember", "flush", "dream", "report")
)
_CHOICE = Lazy(r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)")
#: A line break of the source inside a sentence.
_CONTINUES = Lazy(r"(?<=[^.:!?\s])[ ]*\n(?=\S)")
_WORD = Lazy(r"\w+")
_UNKNOWN = Lazy(r"unrecognized arguments: (--[^\s=]+)")
_MISSING = "the following arguments are required: "


class Parser(argparse.ArgumentParser):
    """One command's parser. A mistake becomes an error like any other, not an exit."""

    def __init__(self, command: str) -> None:
        super().__init__(
            prog=f"holdfast {command}",
            description=_sentence(summary(command)) + ".",
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        self._command = command

    def print_help(self, file: Any = None) -> None:
        """As argparse does, which passes over a failure to write."""
        Term().say(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        step = f"See `holdfast {self._command} --help`."
        if wrong := _CHOICE.match(message):
            name, value, choices = wrong[1], wrong[2].strip("'"), [choice.strip(" '") for choice in wrong[3].split(",")]
            subject = name if name.startswith("-") else f"`holdfast {self._command}`"
            message = f"{subject} takes one of {', '.join(choices)}, not {value!a}"
            step = did_you_mean(value, choices, otherwise=step)
        elif unknown := _UNKNOWN.match(message):
            # Compared without the dashes, which alone would make short names similar.
            known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
            step = did_you_mean(unknown[1][2:], known, "--{}", otherwise=step)
        else:
            message = message.replace(_MISSING, f"`holdfast {self._command}` needs ").removeprefix("argument ")
        raise UsageError(f"{message[:1].upper()}{message[1:].rstrip('.')}.", next_step=step)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=min(Term().width, 100))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Fill prose to the width. An indented line, an example, stays as written."""
        lines = _CONTINUES.sub(" ", text.strip()).split("\n")
        filled = (line if line.startswith(" ") else Term().wrapped(line, width=width) for line in lines)
        return "\n".join(indent + line for part in filled for line in part.split("\n"))


def parser_for(command: str, root: str | None = None) -> argparse.ArgumentParser:
    """A command's parser, with the options common to all commands."""
    parser = Parser(command)
    load(command).configure(parser)
    common = parser.add_argument_group("everywhere")
    common.add_argument("--root", metavar="DIR", default=root, help="the project folder (default: searched from here)")
    common.add_argument("--debug", action="store_true", help="show tracebacks and the log")
    return parser


def run_command(command: str, arguments: list[str], root: str | None, *, debug: bool = False) -> int:
    """Parse and run. Raises: UsageError for an unknown command or bad arguments."""
    if command == "--root":
        raise UsageError("--root takes a folder.", next_step="Write it like `holdfast --root FOLDER status`.")
    if command not in known():
        does = [f"`holdfast {name} --help`" for name in known() if command in _WORD.findall(summary(name))]
        step = did_you_mean(command, known(), "holdfast {}", otherwise="See `holdfast --help`.")
        step = f"See {' or '.join(does)}." if 0 < len(does) < 3 else step  # `redact` is what `scrub` does
        raise UsageError(f"There is no command {command!r}.", next_step=step)
    try:
        parser = parser_for(command, root)
        # With actions, options may also come before the names.
        has_names = any(action.dest == "names" for action in parser._actions)  # noqa: SLF001 - not told else
        args = (parser.parse_intermixed_args if has_names else parser.parse_args)(arguments)
    except SystemExit as done:  # --help has printed
        return int(done.code or 0)
    if debug or args.debug:  # the log goes to stderr; else nowhere: what matters is in the error and on disk
        import logging

        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    with own_exit() if command in PERMITTING else nullcontext():
        code: int = load(command).run(args)
        return code


def overall_help(*, everything: bool) -> int:
    out = Term()
    out.say("holdfast preserves an agent's memory. Nothing is dropped until it is durable.")
    out.say()
    out.say("Usage: holdfast [--root DIR] COMMAND ...")
    table = described()
    widest = max(len(name) for group in table.values() for name in group)
    for title, group in table.items():
        if shown := [name for name in group if everything or name in _FIRST or title == OTHERS]:
            out.say(f"\n{out.bold(title)}")
            out.say(out.table([((name.ljust(widest), "cyan"), _sentence(group[name])) for name in shown]))
    out.say()
    if not everything:
        out.say(f"`holdfast --help all` lists all {sum(map(len, table.values()))} commands.")
    for text in _AFTER_HELP:
        out.say(out.wrapped(text))
    return 0


def _sentence(text: str) -> str:
    """With a capital at its beginning; names within it (MEMORY.md) stay as they are."""
    return text[:1].upper() + text[1:]
