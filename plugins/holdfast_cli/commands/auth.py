"""``holdfast auth``: keys of model providers and forges, kept in the system's keyring. A key is never printed."""

import getpass
from collections.abc import Iterator, Sequence

from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import can_ask, read_text
from holdfast_cli.terminal import Cell
from holdfast_keys import origins, secrets

auth = Command(
    "Manage",
    "manage keys of model providers and forges in the system's keyring, each for one server",
    argument("--origin", metavar="URL", help="the only server that gets the key (default: the provider's, or yours)"),
    examples=("holdfast auth set openai", "pass show gitea | holdfast auth set gitea --origin https://git.example.org"),
    notes="NAME is whose key it is: openai, anthropic, gitea, ..."
    "\nThe environment comes first: HOLDFAST_<NAME>_KEY, then the provider's usual variable.",
)


@auth.action("set NAME", "origin")
def _set(call: Call) -> Answer:
    name = call.names[0]
    secrets.check_name(name)
    origin = _origin(name, call.args.origin, call.root)
    shown = f"Key for {name}, sent only to {_shown(origin)} (not shown): "
    secrets.store(name, getpass.getpass(shown) if can_ask() else read_text(), origin)  # typed unseen or piped in
    return _done(call, [origin], f"The key for {name} is in the keyring. It is sent only to {_shown(origin)}.")


@auth.action("remove NAME", "origin")
def _remove(call: Call) -> Answer:
    name, origin = call.names[0], call.args.origin
    secrets.check_name(name)
    gone = secrets.remove(name, origins.of(origin, "--origin") if origin else None)
    return _done(call, gone, f"The key for {name} is no longer in the keyring ({', '.join(map(_shown, gone))}).")


def _done(call: Call, origins: Sequence[str], said: str) -> Answer:
    variable, out = secrets.variable_in_use(call.names[0]), call.out
    text = f"{out.mark('ok')} {said}"
    if variable:
        text += f"\n  {out.mark('warn')} {variable} is set in the environment and comes first."
    table = {"name": call.names[0], "action": call.args.action, "overridden_by": variable}
    return Answer({**table, "origin": origins[0] or None, "origins": [origin or None for origin in origins]}, text)


def _origin(name: str, given: str | None, root: str) -> str:
    """A new key's origin: as passed, otherwise the provider's own, otherwise the only server in the user's settings.

    Empty for a provider whose address only its plugin knows. Raises: UsageError; ConfigError.
    """
    if given:
        return origins.of(given, "--origin")
    if name in secrets.OWN_ORIGINS or name not in secrets.ADDRESS_SETTINGS:
        return secrets.OWN_ORIGINS.get(name, "")
    servers = origins.named_by_user(secrets.address_settings(name), root)
    if len(servers) != 1:
        found = f"your settings name {', '.join(servers)}" if servers else "your settings name none"
        raise UsageError(
            f"A key for {name} belongs to one server, and {found}.",
            next_step=f"Name it: `holdfast auth set {name} --origin https://git.example.org`.",
        )
    return servers[0]


def _shown(origin: str) -> str:
    return origin or "the provider's own address"


def _rows(names: Sequence[str], root: str, *, usable: bool) -> Iterator[tuple[str, str, str]]:
    """Each key's name, where it is, and its origin, both empty where unknown."""
    for name in names:
        own = secrets.OWN_ORIGINS.get(name)
        variable = secrets.variable_in_use(name)
        if variable:
            named = [own] if own else []
            named += origins.named_by_user(secrets.address_settings(name), root)
            yield (name, f"environment: {variable}", ", ".join(dict.fromkeys(named)))
        keys = secrets.stored(name) if usable else {}
        for origin in sorted(keys):
            yield name, "keyring", origin
        if not variable and not keys:
            yield name, "", ""


@auth.action("status [NAME]", default=True)
def _status(call: Call) -> Answer:
    usable = secrets.has_keyring()
    rows = list(_rows(call.names or sorted(secrets.USUAL_VARIABLES), call.root, usable=usable))
    table: list[tuple[Cell, ...]] = []
    for name, where, origin in rows:
        sent = f"for {_shown(origin)}" if where else ""
        if where.startswith("environment") and not origin:
            sent = "for the server that the settings name"
        table.append((call.out.mark_cell("ok" if where else "dot"), name, where or ("not set", "dim"), sent))
    text = call.out.table(table)
    text += "" if usable else "\nThis machine has no usable keyring. Set keys in the environment."
    keys = [{"name": name, "where": where or None, "origin": origin or None} for name, where, origin in rows]
    return Answer({"keyring": usable, "keys": keys}, text)
