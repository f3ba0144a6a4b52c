"""``holdfast merge-driver``: merge one memory file for git, which ``holdfast init --git`` sets up."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "merge a memory file for git; `holdfast init --git` sets it up"


def configure(parser: ArgumentParser) -> None:
    from holdfast.cli.args import examples

    parser.add_argument("base", metavar="BASE", help="the common ancestor; git's %%O")
    parser.add_argument("ours", metavar="OURS", help="our version, replaced by the result; git's %%A")
    parser.add_argument("theirs", metavar="THEIRS", help="their version; git's %%B")
    parser.add_argument("name", metavar="NAME", help="the file's name in the repository; git's %%P")
    parser.epilog = (
        examples("holdfast merge-driver base ours theirs .holdfast/facts.jsonl")
        + "\n\ngit runs this, and people rarely do. `holdfast init --git` sets it up."
    )


def run(args: Namespace) -> int:
    from pathlib import Path

    from holdfast.cli.problem import UsageError
    from holdfast.errors import Corrupt
    from holdfast_doctor.threeway import merge

    try:
        base, ours, theirs = (Path(name).read_bytes().decode() for name in (args.base, args.ours, args.theirs))
    except OSError as error:
        raise UsageError(
            f"{error.filename!r} cannot be read: {error.strerror or error}.",
            next_step="Pass the three files that git made; `holdfast init --git` lets git do so.",
        ) from error
    except UnicodeDecodeError as error:
        raise Corrupt(f"A version of {args.name} is not UTF-8 text.", next_step="Choose a version manually.") from error
    Path(args.ours).write_bytes(merge(base, ours, theirs, args.name).encode())
    return 0
