"""``holdfast init`` sets a project up, ``config`` its settings; ``layers`` and ``route`` show where memory lives."""

import json
import os
import re
import sys
from contextlib import suppress
from typing import Final

from attrs import evolve

from holdfast.api import ConfigError, Holdfast
from holdfast.config import settings
from holdfast.config.layout import PRESETS
from holdfast.fs import durable
from holdfast.text.stored import CATEGORIES
from holdfast_app.curated import layers as curated
from holdfast_app.project_settings import resolved
from holdfast_app.settings import project
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.problem import UsageError, did_you_mean
from holdfast_cli.terminal import Term, home_short
from holdfast_file import gitrun
from holdfast_memory import DISTRIBUTION


@Command(
    "Manage",
    "show the settings in force with their sources; change one",
    argument("key", metavar="KEY", nargs="?", help="one setting, like flush.policy"),
    argument("value", metavar="VALUE", nargs="?", help="the new value, to write into the settings file"),
    flag("--user", "write to your own settings, which apply to every project"),
    examples=("holdfast config flush.policy strict", "holdfast config --user plugins.openai.model MODEL"),
)
def config(call: Call) -> Answer:
    """For people. It quotes a mistake in the project's file, which other commands only locate."""
    try:
        return _listed(call) if call.args.value is None else _set(call)
    except ConfigError as error:
        raise error.for_people() from None


def _listed(call: Call) -> Answer:
    args = call.args
    if args.user:
        raise UsageError("--user needs KEY and VALUE.", next_step="`holdfast config` shows each value's source.")
    effective = [evolve(setting, value=masked(setting.key, setting.value)) for setting in project.effective(call.root)]
    chosen = [s for s in effective if args.key is None or s.key == args.key or s.key.startswith(args.key + ".")]
    if not chosen:
        step = did_you_mean(args.key, [s.key for s in effective], otherwise="`holdfast config` lists the keys.")
        raise ConfigError(f"There is no setting {args.key!r}.", next_step=step)
    out, valid, withheld = call.out, [s for s in chosen if s.in_force], [s for s in chosen if not s.in_force]
    if [s.key for s in valid] == [args.key]:
        out.say(as_text(valid[0].value))
        out = Term(sys.stderr)
    else:
        rows = [(s.key, (as_text(s.value), "" if s.source == "default" else "bold"), (s.source, "dim")) for s in valid]
        out.say(out.table(rows, head=("setting", "value", "from")))
    if withheld and not call.json:
        out.note("warn", "not in force, because you have not trusted this project:")
        out.say(out.table([(s.key, as_text(s.value), (s.source, "dim")) for s in withheld]))
        out.next_step("holdfast trust")
    for notice in [] if call.json else resolved.misspelt():
        out.note("warn", " ".join(notice))
    return Answer({"settings": chosen})


def _set(call: Call) -> Answer:
    root, key = call.root, call.args.key
    value = settings.toml_value(call.args.value)
    if resolved.needs_trust(key, value):
        call.require_own_terminal(f"set {key}, which needs your trust")
    if not call.args.user and isinstance(value, str) and _CREDENTIALS.search(value):
        raise UsageError(
            "The address holds a key, and the project's settings are shared.",
            next_step="Leave it out. `holdfast auth set NAME` or the variable HOLDFAST_<NAME>_KEY gives it.",
        )
    before = resolved.load(root, lenient=True).storage.backend
    name = project.change(root, key, value, user=call.args.user)
    now = next((s for s in reversed(project.effective(root)) if s.key == key), None)
    in_force = now is not None and now.in_force and now.value == value
    warnings = []
    if key == "storage.backend" and value != before:
        warnings.append(
            f"What was not migrated stays in the {before} store. To take it along: `holdfast config storage.backend "
            f"{before}`, then `holdfast migrate --to {value}`."
        )
    if now is not None and not in_force:
        because = f"{now.source} overrides it here" if now.in_force else "other settings came with this project"
        warnings.append(f"It is not in force: {because}. `holdfast config` and `holdfast trust` show them.")
    out, shown = call.out, masked(key, value)
    out.say(f"{out.mark('ok')} {out.plain(key)} = {out.plain(as_text(shown))}  {out.dim('in ' + name)}")
    for warning in warnings:
        out.note("warn", warning)
    return Answer({"key": key, "value": shown, "file": name, "in_force": in_force, "warnings": warnings})


#: In an address.
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]+(?=@)|(?<=key=)[^&\s]+|(?<=token=)[^&\s]+")


def masked(key: str, value: object) -> object:
    """The value, or stars for a secret. Secrets belong in the environment or the keyring, not in settings."""
    if isinstance(value, str):
        value = _CREDENTIALS.sub("***", value)
    return "***" if key.endswith(("token", "secret", "password", "api_key")) and value else value


def as_text(value: object) -> str:
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@Command(
    "Get started",
    "set up holdfast in this project",
    argument("--layout", choices=sorted(PRESETS), default="default", help="where each kind of memory lives"),
    argument("--zone", default="local", help="time zone of file names and headers, like Europe/Berlin"),
    flag("--strict", "block a few flushes without a complete payload"),
    flag("--three-files", "also create the three-file memory; --layout opencode always does"),
    flag("--git", "also let git merge memory files; run it once in each clone"),
    examples=("holdfast init", "holdfast init --layout timmy --zone UTC"),
    notes="Running it again changes nothing, except that files get their missing parts.",
)
def init(call: Call) -> Answer:
    args = call.args
    done = project.set_up(project.place(args.root), layout=args.layout, zone=args.zone, strict=args.strict)
    if args.three_files or resolved.load(done.root).layout.preset == "opencode":
        with Holdfast.open(done.root) as memory:
            made, kept = (map(memory.store.backend.where, names) for names in memory.create_three_files())
            done = evolve(done, made=(*done.made, *made), kept=(*done.kept, *kept))
    if args.git:
        done = _with_git(done)
    out = call.out
    out.say(f"{out.mark('ok')} holdfast is set up in {out.bold(home_short(done.root))}")
    out.say(out.table([(name, "made") for name in done.made] + [(name, "kept") for name in done.kept]))
    for message, step in done.notices:
        out.note("warn", f"{message} {step}")
    if done.made:
        out.next_step("holdfast doctor")
    notices = [{"message": message, "next_step": step} for message, step in done.notices]
    return Answer({"root": done.root, "made": done.made, "kept": done.kept, "notices": notices})


def _with_git(done: project.Done) -> project.Done:
    """The committed attribute, and this clone's setting that puts it in force. Raises: ConfigError; Unavailable."""
    if resolved.load(done.root).layout.preset != "default":
        raise ConfigError("`--git` works with the default layout only.", next_step="Run `holdfast init` without it.")
    command = f"{DISTRIBUTION} merge-driver %O %A %B %P"
    is_set = False
    with suppress(OSError):  # the settings are a link, or another repository's
        is_set = bool(gitrun.top(done.root)) and gitrun.configure(done.root, "merge.holdfast.driver", command)
    if not is_set:
        step = "Run `git init` first, and replace `.git/config` by a copy if it is a link."
        raise ConfigError("Git's settings cannot be changed here.", next_step=step)
    name = ".holdfast/.gitattributes"
    path = os.path.join(done.root, ".holdfast", ".gitattributes")
    if os.path.lexists(path):
        return evolve(done, kept=(*done.kept, name))
    durable.replace(path, b"* merge=holdfast\n")
    return evolve(done, made=(*done.made, name))


@Command(
    "Manage",
    "show where each kind of memory lives, who owns it and who reads it",
    examples=("holdfast layers", "holdfast layers --json"),
)
def layers(call: Call) -> Answer:
    rows, out = curated.layers(resolved.load(call.root).layout), call.out
    for layer in rows:
        out.say(f"{out.style(layer.surface, 'bold', 'cyan')}  {out.plain(layer.name)}")
        out.fill(f"{layer.role}.", "    ")
        out.fill(f"{layer.audience}; owner: {layer.owner}", "    ")
    return Answer({"layers": [layer._asdict() for layer in rows]})


@Command(
    "Manage",
    "show which layer a fact belongs to",
    argument("--horizon", choices=[h.name.lower() for h in curated.Horizon], required=True, help="how long it is true"),
    argument("--category", metavar="NAME", choices=CATEGORIES, default="knowledge", help=", ".join(CATEGORIES)),
    flag("--validated", "the fact was checked; repetition is not a check"),
    examples=("holdfast route --horizon standing --category preference --validated", "holdfast route --horizon unsure"),
)
def route(call: Call) -> Answer:
    args, out = call.args, call.out
    surface = curated.route(curated.Horizon[args.horizon.upper()], category=args.category, validated=args.validated)
    name = resolved.load(call.root).layout.names.get(surface, "").replace("{date}", "YYYY-MM-DD")
    return Answer({"surface": str(surface), "name": name}, f"{out.bold(str(surface))}  {out.plain(name)}")
