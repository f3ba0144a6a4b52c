"""The command line: ``holdfast COMMAND ...``. Thin commands over the engine, each imported only when it is called.

Exit codes: 0 done, 1 refused or failed, 2 usage or configuration, 3 plugin or backend unavailable; 130 when
interrupted, 141 when the output's reader has closed it. Errors are reported on stderr in two lines,
``holdfast: MESSAGE`` and ``  next: NEXT STEP``. With ``--json`` stdout holds exactly one JSON value, which for an error
is
``{"ok": false, "error": {"kind", "message", "next_step", "exit_code"}}``.

Clients start ``holdfast hook`` at every event, so it is answered before anything else is imported
(docs/decisions/0002-hot-path.md).
"""

from __future__ import annotations

import gc
import sys
import warnings

from holdfast import plugin
from holdfast.errors import SettingsIgnored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The command that a client runs at every event. ``quick(words, root)`` of its module returns the exit code, or None to
#: leave it to argparse.
_HOT = "hook"
#: New objects until the next search for cycles. Most commands make fewer, and few of these in cycles.
_OBJECTS = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises for an error that a user can cause."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None or sys.stderr is None:
        _stand_in()
    stdout = sys.stdout
    before, plugin.answer_stream = plugin.answer_stream, stdout
    warnings.simplefilter("ignore", SettingsIgnored)  # commands show these notices in their own output
    try:
        code = _dispatch(words)
        from holdfast_cli.terminal import writing

        with writing():
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a bug is reported like any other error
        from holdfast_cli.problem import report

        return report(error, words, _leading(words)[2][:1])
    finally:
        if (answer := plugin.answer_stream) and answer is not stdout:
            from holdfast_cli.stdout import give_back

            give_back(answer, stdout)
        plugin.answer_stream = before
    return code


def _stand_in() -> None:
    """Replace standard streams that the parent process closed. Output to stdout fails, as on a full disk."""
    import os

    for name, mode in (("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, mode)
            setattr(sys, name, open(nowhere, "w", encoding="utf-8"))  # noqa: SIM115 - it lasts as long as we do


def _dispatch(words: list[str]) -> int:
    root, debug, rest = _leading(words)
    if rest and rest[0] == _HOT and not debug:
        from holdfast_cli.table import load

        code: int | None = load(_HOT).quick(rest[1:], root)
        if code is not None:
            return code
    gc.set_threshold(_OBJECTS)
    from holdfast_cli.problem import check_utf8
    from holdfast_cli.stdout import reserve
    from holdfast_cli.table import other_owner

    check_utf8(words)
    if not (rest and other_owner(rest[0])):  # another distribution's command may leave its answer to a program
        reserve()
    if not rest:
        from holdfast_cli.commands.status import overview

        return overview(root)
    command, *arguments = rest
    if command in ("-h", "--help", "help"):
        from holdfast_cli import usage

        if arguments and command == "help" and arguments != ["all"]:
            return usage.run_command(arguments[0], ["--help"], None)
        return usage.overall_help(everything="all" in arguments)
    if command in ("-V", "--version"):
        from holdfast import __version__
        from holdfast_cli.terminal import Term

        Term().say(f"holdfast {__version__}")
        return 0
    if command == "completion" and arguments[:1] == ["words"]:
        from holdfast_cli.completion import offered

        *typed, current = arguments[1:] or [""]
        root, _, typed = _leading(typed)
        sys.stdout.writelines(f"{word}\n" for word in offered(typed, current, root))
        return 0
    from holdfast_cli.usage import run_command

    return run_command(command, arguments, root, debug=debug)


def _leading(words: list[str]) -> tuple[str | None, bool, list[str]]:
    """Take ``--root DIR`` and ``--debug`` from before the command."""
    root: str | None = None
    debug = False
    while words:
        if words[0] == "--root" and len(words) > 1:
            root, words = words[1], words[2:]
        elif words[0].startswith("--root="):
            root, words = words[0][7:], words[1:]
        elif words[0] == "--debug":
            debug, words = True, words[1:]
        else:
            break
    return root, debug, words
