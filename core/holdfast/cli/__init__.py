"""The command line: ``holdfast COMMAND ...``. Thin commands over the engine, each imported only when it is called.

Exit codes: 0 done, 1 refused or failed, 2 usage or configuration, 3 plugin or backend unavailable; 130 when
interrupted. What goes wrong is told on stderr in two lines, ``holdfast: MESSAGE`` and ``  next: NEXT STEP``. With
``--json`` stdout holds exactly one JSON value; when something went wrong that is
``{"ok": false, "error": {"kind", "message", "next_step", "exit_code"}}``.

Agents start ``holdfast add`` and ``holdfast hook`` at every event, so these are answered before anything else is
imported (docs/decisions/0002-hot-path.md).
"""

from __future__ import annotations

import sys

from holdfast.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Commands whose module has ``quick(words, root)`` too: the exit code, or None when argparse should have a look.
_HOT = ("add", "hook")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises for what a user can cause."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    as_json = "--json" in words
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except HoldfastError as error:
        if debug:
            _traceback()
        from holdfast.cli.problem import tell

        code = tell(error, as_json=as_json)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # noqa: BLE001 - the top: a fault of ours is told like any other, with a way on
        if debug:
            _traceback()
        from holdfast.cli.problem import tell

        fault = HoldfastError(
            f"Something unforeseen happened: {type(error).__name__}: {error}",
            next_step="Nothing was dropped. Run it again with `--debug` and report what it prints.",
        )
        fault.__cause__ = error
        code = tell(fault, as_json=as_json)
    return code


def _dispatch(words: list[str]) -> int:
    root, rest = _leading_root(words)
    if rest and rest[0] in _HOT:
        from holdfast.cli.commands import load

        code = load(rest[0]).quick(rest[1:], root)
        if code is not None:
            return code
    if not rest:
        from holdfast.cli.overview import overview

        return overview(root)
    command, *arguments = rest
    if command in ("-h", "--help", "help"):
        from holdfast.cli import usage

        return usage.command_help(arguments[0]) if arguments and command == "help" else usage.overall_help()
    if command in ("-V", "--version"):
        from holdfast.cli.usage import version

        sys.stdout.write(f"holdfast {version()}\n")
        return 0
    from holdfast.cli.usage import run_command

    return run_command(command, arguments, root)


def _leading_root(words: list[str]) -> tuple[str | None, list[str]]:
    """Take ``--root DIR`` and ``--debug`` from before the command."""
    root: str | None = None
    while words:
        if words[0] == "--root" and len(words) > 1:
            root, words = words[1], words[2:]
        elif words[0].startswith("--root="):
            root, words = words[0][7:], words[1:]
        elif words[0] == "--debug":
            words = words[1:]
        else:
            break
    return root, words


def _traceback() -> None:
    import traceback

    traceback.print_exc()


def _reader_left() -> int:
    """Whoever read our output has closed it (``holdfast show | head``): end quietly, as a shell expects."""
    import os

    # What is still buffered must go somewhere, or the interpreter complains while it shuts down.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = None
    return 141
