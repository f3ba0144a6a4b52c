"""Error reports: two lines on stderr, and with ``--json`` also one object on stdout.

Reporting never raises. When neither stream can be written, the exit code still shows the outcome.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from holdfast.errors import HoldfastError, PluginLoadFailed
from holdfast.text.humanize import nearest
from holdfast_app.printable import printable
from holdfast_cli.terminal import OutputLost, Term
from holdfast_memory import extra


class UsageError(HoldfastError):
    """The command line cannot be understood."""

    exit_code = 2


class Interrupted(HoldfastError):
    exit_code = 130


def did_you_mean(word: str, known: Sequence[str], form: str = "{}", *, otherwise: str) -> str:
    """The next step for a word that is not known: the nearest known one in ``form``, or ``otherwise``."""
    near = nearest(word, known)
    return f"Did you mean `{form.format(near)}`?" if near else otherwise


def check_utf8(words: list[str]) -> None:
    """Raises: UsageError for a word that is not UTF-8. The folder after ``--root`` need not be text."""
    for before, word in zip(["", *words], words, strict=False):
        is_text = word.encode(errors="ignore").decode() == word
        if before != "--root" and not word.startswith("--root=") and not is_text:
            step = "Convert it to UTF-8; `locale` shows your terminal's encoding."
            raise UsageError(f"The argument {word[:40]!a} is not UTF-8; nothing was done.", next_step=step)


def report(error: BaseException, words: list[str], command: list[str]) -> int:
    """Show the error that ended ``command``, the first of ``words`` after the options, and return its exit code."""
    if isinstance(error, BrokenPipeError):
        discard(sys.stdout)  # `holdfast show | head`: end quietly, as a shell expects
        return 141
    if isinstance(error, KeyboardInterrupt):
        what = "Interrupted; work not reported as done may be done in part or not at all."
        error = Interrupted(what, next_step="Run the same command again.")
    elif not isinstance(error, HoldfastError):
        from holdfast_cli.table import other_owner

        owner = other_owner(command[0]) if command else ""
        to = f" to the authors of {owner}" if owner else ""
        step = "No context was dropped, but other work may be done in part. "
        step += f"Run it again with `--debug` and report its output{to}."
        cause, what = error, f"Something unforeseen happened: {type(error).__name__}: {error}"
        error = HoldfastError(what, next_step=step)
        error.__cause__ = cause
    return show_error(error, as_json="--json" in words, debug="--debug" in words)


def not_installed(error: ImportError, name: str) -> Exception:
    """The error for `holdfast NAME` without a package of the extra NAME; ``error`` itself for a holdfast module."""
    missing = (error.name or "").partition(".")[0]
    if missing.startswith("holdfast"):
        return error
    return PluginLoadFailed(
        f"`holdfast {name}` needs the missing package {missing}, or a newer version of it.",
        next_step=f"Install it where holdfast runs: `{extra(name)}`.",
    )


def show_error(error: HoldfastError, *, as_json: bool, debug: bool = False) -> int:
    """Print ``error`` and return its exit code.

    stderr gets ``holdfast: MESSAGE`` and ``  next: NEXT STEP``. With ``--json`` stdout gets
    ``{"ok": false, "error": {"kind", "message", "next_step", "exit_code", ...}}``, so that it always parses. With
    ``debug`` stderr gets the traceback first.
    """
    table = as_table(error)
    try:
        if as_json:
            Term().json({"ok": False, "error": table})
        sys.stdout.flush()
    except (OSError, OutputLost):
        discard(sys.stdout)
    err = Term(sys.stderr)
    try:
        if debug:
            import traceback

            sys.stderr.write(printable(_masked("".join(traceback.format_exception(error)))))
        # The name first and unstyled: people and programs search logs for it.
        err.say(f"holdfast: {err.red(err.plain(table['message']), bold=True)}")
        err.say(f"  {err.dim('next:')} {err.plain(table['next_step'])}")
        sys.stderr.flush()
    except (OSError, OutputLost):
        discard(sys.stderr)
    return error.exit_code


def caution(notices: Iterable[str]) -> None:
    """Print sentences about settings that are not in force on stderr, for commands that store something."""
    err = Term(sys.stderr)
    for notice in notices:
        err.note("warn", notice)


def discard(stream: TextIO) -> None:
    """Discard the stream's buffered and later output, which the interpreter would otherwise fail to write at exit."""
    with suppress(OSError, ValueError):  # not a real file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _masked(text: str) -> str:
    """A message may quote an argument, a variable or a file, and a client puts stderr into the model's context."""
    from holdfast_redaction import redact

    with suppress(HoldfastError):
        return redact(text)
    return "This message is not shown, because a rule for secrets did not finish."


def as_table(error: HoldfastError) -> dict[str, Any]:
    """The error as the JSON object that ``--json`` prints. A refused flush adds ``target`` and ``missing``."""
    is_usage = error.exit_code == UsageError.exit_code
    otherwise = "Correct it, then try again." if is_usage else "`holdfast doctor` looks for the cause."
    table: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": _masked(error.message),
        "next_step": _masked(error.next_step or otherwise),
        "exit_code": error.exit_code,
    }
    more = {name: getattr(error, name, None) for name in ("target", "missing")}
    return {**table, **{name: value for name, value in more.items() if value is not None}}
