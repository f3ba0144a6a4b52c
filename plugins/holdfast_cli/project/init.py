"""``holdfast init``: set the project up."""

from __future__ import annotations

import os

from attrs import evolve

from holdfast.config import resolved
from holdfast.config.layout import PRESETS
from holdfast.errors import ConfigError
from holdfast.fs import durable, gitrun
from holdfast_app.settings import project
from holdfast_app.settings.project import Done
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.terminal import Term, home_short
from holdfast_memory import DISTRIBUTION

_NOTES = {
    "holdfast.toml": "the settings",
    ".md": "with its anchors",
    "state/": "private to this machine, ignored by git",
}


@Command(
    "Get started",
    "set up holdfast in this project",
    argument("--layout", choices=sorted(PRESETS), default="default", help="where each kind of memory lives"),
    argument("--zone", default="local", help="time zone of file names and headers, like Europe/Berlin"),
    flag("--strict", "block a few flushes without a complete payload"),
    flag("--three-files", "also create the three-file memory; --layout opencode always does"),
    flag("--git", "also let git merge memory files; run it once in each clone"),
    examples=(
        "holdfast init",
        "holdfast init --layout timmy --zone UTC",
        "holdfast init --layout opencode",
        "holdfast init --strict",
    ),
    notes="Running it again changes nothing, except that files get their missing parts.",
)
def init(call: Call) -> Answer:
    """Make the settings file and the private folder."""
    args = call.args
    done = project.set_up(project.place(args.root), layout=args.layout, zone=args.zone, strict=args.strict)
    done = _with_three_files(done, asked=args.three_files)
    if args.git:
        done = _with_git(done)
    notices = [{"message": message, "next_step": step} for message, step in done.notices]
    table = {"root": done.root, "made": done.made, "kept": done.kept, "notices": notices}
    return Answer(table, lambda out: _show(out, done))


def _show(out: Term, done: Done) -> None:
    what = "holdfast is set up in" if done.made else "nothing was changed: holdfast is set up in"
    out.say(f"{out.mark('ok')} {what} {out.bold(home_short(done.root))}")
    rows = [(name, "made", next((t for n, t in _NOTES.items() if name.endswith(n)), "")) for name in done.made]
    out.say(out.table([*rows, *((name, "kept", "") for name in done.kept)]))
    for message, step in done.notices:
        out.note("warn", f"{message} {step}")
    if done.made:
        out.say(f"\n  next: {out.style('holdfast doctor', 'cyan')}")


def _with_three_files(done: Done, *, asked: bool) -> Done:
    """The three files of document 004, if the layout or an option asks for them."""
    from holdfast import Holdfast

    if not asked and resolved.load(done.root).layout.preset != "opencode":
        return done
    with Holdfast.open(done.root) as memory:
        made, kept = (map(memory.store.backend.where, names) for names in memory.create_three_files())
        return evolve(done, made=(*done.made, *made), kept=(*done.kept, *kept))


def _with_git(done: Done) -> Done:
    """The committed attribute, and this clone's own setting, without which the attribute has no effect.

    Raises: ConfigError; Unavailable.
    """
    if resolved.load(done.root).layout.preset != "default":
        raise ConfigError("`--git` works with the default layout only.", next_step="Run `holdfast init` without it.")
    command = f"{DISTRIBUTION} merge-driver %O %A %B %P"
    try:
        is_set = bool(gitrun.top(done.root)) and gitrun.configure(done.root, "merge.holdfast.driver", command)
    except OSError as error:
        raise ConfigError(
            f"Git's settings are not a regular file of yours: {error.filename or error}.",
            next_step="Replace it with a copy of its content, then run `holdfast init --git` again.",
        ) from error
    if not is_set:
        raise ConfigError("Git's settings cannot be changed here.", next_step="Run `git init` first.")
    name = ".holdfast/.gitattributes"
    path = os.path.join(done.root, ".holdfast", ".gitattributes")
    if os.path.lexists(path):
        return evolve(done, kept=(*done.kept, name))
    durable.replace(path, b"* merge=holdfast\n")
    return evolve(done, made=(*done.made, name))
