"""``holdfast config``: show the settings in force or a single setting, or change a setting."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from attrs import evolve

from holdfast.config import settings
from holdfast.errors import ConfigError, HoldfastError
from holdfast.text.humanize import count, nearest
from holdfast_app.settings import effective
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast_app.settings.effective import Setting


#: Settings whose change can affect stored facts and documents. For all others no store is opened.
_OF_THE_STORE = ("storage.backend", "facts.max_facts")


@Command(
    "Manage",
    "show the settings in force with their sources; change one",
    argument("key", metavar="KEY", nargs="?", help="one setting, like flush.policy"),
    argument("value", metavar="VALUE", nargs="?", help="the new value, to write into the settings file"),
    flag("--user", "write to your own settings, which apply to every project"),
    examples=(
        "holdfast config",
        "holdfast config flush.policy",
        "holdfast config flush.policy strict",
        "holdfast config plugins.offline.enabled false",
        "holdfast config --user plugins.openai.model MODEL",
    ),
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
        raise UsageError(
            "--user needs KEY and VALUE.", next_step="`holdfast config` shows where each value comes from."
        )
    found = [evolve(one, value=masked(one.key, one.value)) for one in effective.effective(call.root)]
    chosen = [s for s in found if args.key is None or s.key == args.key or s.key.startswith(args.key + ".")]
    if not chosen:
        raise _unknown(args.key, found)
    withheld = [s for s in chosen if not s.in_force]

    def show(out: Term) -> None:
        valid = [s for s in chosen if s.in_force]
        if [s.key for s in valid] == [args.key]:
            out.say(as_text(valid[0].value))
            _say_withheld(Term(sys.stderr), withheld)
            return
        out.say(out.table([(s.key, _cell(s), (s.source, _style(s))) for s in valid], head=("setting", "value", "from")))
        _say_withheld(out, withheld)

    return Answer({"settings": chosen}, show)


def _say_withheld(out: Term, withheld: Sequence[Setting]) -> None:
    if not withheld:
        return
    out.say()
    out.note("warn", "not in force, because you have not trusted this project:")
    out.say(out.table([(s.key, as_text(s.value), (s.source, "dim")) for s in withheld]))
    out.say(f"\n  next: {out.style('holdfast trust', 'cyan')}")


def _set(call: Call) -> Answer:
    root, key = call.root, call.args.key
    value = settings.toml_value(call.args.value)
    before = _stored(root) if key in _OF_THE_STORE else None
    name = effective.change(root, key, value, user=call.args.user)
    warnings = [] if before is None else list(_surprises(before, _stored(root)))
    now = next((s for s in reversed(effective.effective(root)) if s.key == key), None)
    if now is not None and not now.in_force:
        warnings.append(
            "It is not in force, because other settings came with this project. Run `holdfast trust` to see them."
        )
    elif now is not None and now.value != value:
        warnings.append(f"{now.source} overrides it here: {as_text(now.value)} is in force.")

    def show(out: Term) -> None:
        out.say(f"{out.mark('ok')} {out.plain(key)} = {out.plain(as_text(value))}  {out.dim('in ' + name)}")
        for warning in warnings:
            out.note("warn", warning)

    in_force = now is not None and now.in_force and now.value == value
    return Answer({"key": key, "value": value, "file": name, "in_force": in_force, "warnings": warnings}, show)


class _Stored(NamedTuple):
    """The current store's content, and its cap on facts."""

    backend: str
    facts: int
    documents: int
    most: int

    def __str__(self) -> str:
        return f"the {self.backend} store with {count(self.facts, 'fact')} and {count(self.documents, 'document')}"


def _stored(root: str) -> _Stored | None:
    """None when the project was never used or the store is unavailable, neither of which prevents a change."""
    from holdfast import Holdfast
    from holdfast.config import settings

    folders = (os.path.join(root, *folder.split("/")) for folder in settings.STATE_FOLDERS.values())
    if settings.config_file(root) is None and not any(map(os.path.isdir, folders)):
        return None  # opening it would begin the use
    try:
        with Holdfast.open(root) as memory:
            config, store = memory.config, memory.store
            return _Stored(config.storage.backend, memory.facts.count(), len(store.names()), config.facts.max_facts)
    except HoldfastError:
        return None


def _surprises(before: _Stored, now: _Stored | None) -> Iterator[str]:
    """Warnings about a change that affects stored facts and documents."""
    if now is None:
        if before.facts or before.documents:
            yield f"You leave {before}. The new store is not available to compare."
        return
    if now.backend != before.backend and (before.facts > now.facts or before.documents > now.documents):
        yield (
            f"You leave {before}, for {now}. Nothing is lost: to take them along, `holdfast config storage.backend"
            f" {before.backend}`, then `holdfast migrate --to {now.backend}`."
        )
    if now.facts > now.most:
        leaving = now.facts - now.most + 1
        yield f"{leaving:,} of the {now.facts:,} stored facts will be evicted when the next one is added."


def masked(key: str, value: object) -> object:
    """The value, or stars for a secret. Secrets belong in the environment or the keyring, not in settings."""
    return "***" if key.endswith(("token", "secret", "password", "api_key")) and value else value


def as_text(value: object) -> str:
    """A setting's value for people."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cell(setting: Setting) -> tuple[str, str]:
    return (as_text(setting.value), "" if setting.source == "default" else "bold")


def _style(setting: Setting) -> str:
    return "dim" if setting.source == "default" else ""


def _unknown(key: str, found: list[Setting]) -> ConfigError:
    near = nearest(key, [s.key for s in found])
    step = f"Did you mean `{near}`?" if near else "`holdfast config` lists the keys."
    return ConfigError(f"There is no setting {key!r}.", next_step=step)
