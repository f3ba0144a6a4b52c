"""``holdfast merge-driver``: merge one memory file for git, which ``holdfast init --git`` sets up."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "merge a memory file for git; `holdfast init --git` sets it up"


def configure(parser: ArgumentParser) -> None:
    from holdfast_cli.args import examples

    parser.add_argument("base", metavar="BASE", help="the common ancestor; git's %%O")
    parser.add_argument("ours", metavar="OURS", help="our version, replaced by the result; git's %%A")
    parser.add_argument("theirs", metavar="THEIRS", help="their version; git's %%B")
    parser.add_argument("name", metavar="NAME", help="the file's name in the repository; git's %%P")
    parser.epilog = (
        examples("holdfast merge-driver base ours theirs .holdfast/facts.jsonl")
        + "\n\ngit runs this, and people rarely do. `holdfast init --git` sets it up."
    )


def run(args: Namespace) -> int:
    import os

    from holdfast.errors import Corrupt
    from holdfast.fs import durable, safeopen
    from holdfast_cli.doctor import threeway
    from holdfast_cli.problem import UsageError

    ours, theirs, base = (os.path.join(os.path.realpath(os.path.dirname(n)), os.path.basename(n)) for n in (
        args.ours, args.theirs, args.base
    ))  # fmt: skip
    try:
        data = [safeopen.read(path, private=False) for path in (base, ours, theirs)]
    except OSError as error:
        raise UsageError(
            f"{error.filename!r} cannot be read: {error.strerror or error}.",
            next_step="Pass the three files that git made; `holdfast init --git` lets git do so.",
        ) from error
    was, mine, other = (one.decode("utf-8", "replace") for one in data)
    problems = [_problem(was, mine, data[1], args.name), _problem(was, other, data[2], args.name)]
    if not any(problems):
        durable.replace(ours, threeway.merge(was, mine, other, args.name).encode())
        return 0
    if not problems[1]:
        durable.replace(ours, data[2])  # so that even `git commit -am` does not take the damaged version
    kept = "The intact version is in the file now" if not all(problems) else "Restore the file from an earlier commit"
    step = f"{kept}. Check it, then run `git add {args.name}` and `git commit`."
    raise Corrupt(problems[0] or problems[1], next_step=step)


def _problem(base: str, text: str, data: bytes, name: str) -> str:
    from holdfast_cli.doctor import threeway

    if text.encode() != data:
        return f"{name} is not UTF-8 text on one side of the merge."
    return threeway.damage(base, text, name)
