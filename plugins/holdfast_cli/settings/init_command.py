"""``holdfast init``: set the project up."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term, home_short

if TYPE_CHECKING:
    from holdfast_cli.settings.project import Done


#: The help heading for the command, and its summary line.
HEADING = "Get started"
SUMMARY = "set up holdfast in this project"


def configure(parser: ArgumentParser) -> None:
    from holdfast.config.layout import PRESETS

    parser.add_argument("--layout", choices=sorted(PRESETS), default="default", help="where each kind of memory lives")
    parser.add_argument("--zone", default="local", help="time zone of file names and headers, like Europe/Berlin")
    parser.add_argument("--strict", action="store_true", help="block a few flushes without a complete payload")
    parser.add_argument(
        "--three-files", action="store_true", help="also create the three-file memory; --layout opencode always does"
    )
    parser.add_argument("--git", action="store_true", help="also let git merge memory files; run it once in each clone")
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast init",
            "holdfast init --layout timmy --zone UTC",
            "holdfast init --layout opencode",
            "holdfast init --strict",
        )
        + "\n\nRunning it again changes nothing, except that files get their missing parts."
    )


def run(args: Namespace) -> int:
    from holdfast_cli.settings import project

    done = project.set_up(project.place(args.root), layout=args.layout, zone=args.zone, strict=args.strict)
    done = _with_three_files(done, asked=args.three_files)
    if args.git:
        done = _with_git(done)
    out = Term()
    if args.json:
        notices = [{"message": message, "next_step": step} for message, step in done.notices]
        out.json({"ok": True, "root": done.root, "made": list(done.made), "kept": list(done.kept), "notices": notices})
        return 0
    what = "holdfast is set up in" if done.made else "nothing was changed: holdfast is set up in"
    out.say(f"{out.mark('ok')} {what} {out.bold(home_short(done.root))}")
    notes = {
        "holdfast.toml": "the settings",
        ".md": "with its anchors",
        "state/": "private to this machine, ignored by git",
    }
    rows = [(name, "made", next((t for n, t in notes.items() if name.endswith(n)), "")) for name in done.made]
    rows += [(name, "kept", "") for name in done.kept]
    out.say(out.table(rows))
    for message, step in done.notices:
        out.say(out.wrapped(f"{message} {step}", first=f"{out.mark('warn')} ", rest="  "))
    if done.made:
        out.say(f"\n  next: {out.style('holdfast doctor', 'cyan')}")
    return 0


def _with_three_files(done: Done, *, asked: bool) -> Done:
    """The three files of document 004, if the layout or an option asks for them."""
    from attrs import evolve

    from holdfast import Holdfast
    from holdfast.config import resolved

    if not asked and resolved.load(done.root).layout.preset != "opencode":
        return done
    with Holdfast.open(done.root) as memory:
        made, kept = (map(memory.store.backend.where, names) for names in memory.create_three_files())
        return evolve(done, made=(*done.made, *made), kept=(*done.kept, *kept))


def _with_git(done: Done) -> Done:
    """The committed attribute, and this clone's own setting, without which the attribute has no effect.

    Raises: ConfigError; Unavailable.
    """
    import os

    from attrs import evolve

    from holdfast.config import resolved
    from holdfast.errors import ConfigError
    from holdfast.fs import durable, gitrun
    from holdfast_memory import DISTRIBUTION

    if resolved.load(done.root).layout.preset != "default":
        raise ConfigError("`--git` works with the default layout only.", next_step="Run `holdfast init` without it.")
    command = f"{DISTRIBUTION} merge-driver %O %A %B %P"
    if gitrun.run(done.root, "config", "--local", "merge.holdfast.driver", command, timeout_s=10) is None:
        raise ConfigError("Git's settings cannot be changed here.", next_step="Run `git init` first.")
    name = ".holdfast/.gitattributes"
    path = os.path.join(done.root, ".holdfast", ".gitattributes")
    if os.path.lexists(path):
        return evolve(done, kept=(*done.kept, name))
    durable.replace(path, b"* merge=holdfast\n")
    return evolve(done, made=(*done.made, name))
