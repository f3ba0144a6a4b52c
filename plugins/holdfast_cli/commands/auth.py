"""``holdfast auth``: keys of model providers and forges, kept in the system's keyring. A key is never printed."""

import getpass
from collections.abc import Iterator, Sequence

from holdfast_cli.command import Answer, Call, Command, UsageError, argument
from holdfast_cli.stdin import can_ask, read_text
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
    name = secrets.check_name(call.names[0])
    origin = _origin(name, call.args.origin, call.root)
    shown = f"Key for {name}, sent only to {_shown(origin)} (not shown): "
    secrets.store(name, getpass.getpass(shown) if can_ask() else read_text(), origin)  # typed unseen or piped in
    return _done(call, [origin], f"The key for {name} is in the keyring. It is sent only to {_shown(origin)}.")


@auth.action("remove NAME", "origin")
def _remove(call: Call) -> Answer:
    name, origin = secrets.check_name(call.names[0]), call.args.origin
    gone = secrets.remove(name, origins.of(origin, "--origin") if origin else None)
    return _done(call, gone, f"The key for {name} is no longer in the keyring ({', '.join(map(_shown, gone))}).")


def _done(call: Call, origins: Sequence[str], message: str) -> Answer:
    variable, out = secrets.variable_in_use(call.names[0]), call.out
    out.say(f"{out.mark('ok')} {message}")
    if variable:
        out.say(f"  {out.mark('warn')} {variable} is set in the environment and comes first.")
    table = {"name": call.names[0], "action": call.args.action, "overridden_by": variable}
    return Answer({**table, "origin": origins[0] or None, "origins": [origin or None for origin in origins]})


def _origin(name: str, address: str | None, root: str) -> str:
    """A new key's origin: as passed, otherwise the provider's own, otherwise the only server in the user's settings.

    Empty for a provider whose address only its plugin knows. Raises: UsageError; ConfigError.
    """
    if address:
        return origins.of(address, "--origin")
    if name in secrets.OWN_ORIGINS or name not in secrets.ADDRESS_SETTINGS:
        return secrets.OWN_ORIGINS.get(name, "")
    servers = origins.named_by_user(secrets.address_settings(name), root)
    if len(servers) != 1:
        raise UsageError(
            f"A key for {name} belongs to one server, and your settings name {', '.join(servers) or 'none'}.",
            next_step=f"Name it: `holdfast auth set {name} --origin https://git.example.org`.",
        )
    return servers[0]


def _shown(origin: str) -> str:
    return origin or "the provider's own address"


def _rows(names: Sequence[str], root: str, *, usable: bool) -> Iterator[tuple[str, str, str]]:
    """Each key's name, where it is, and its origin, both empty where unknown."""
    for name in names:
        variable, keys = secrets.variable_in_use(name), secrets.stored(name) if usable else {}
        if variable:
            own = secrets.OWN_ORIGINS.get(name)
            named = [*([own] if own else []), *origins.named_by_user(secrets.address_settings(name), root)]
            yield name, f"environment: {variable}", ", ".join(dict.fromkeys(named))
        elif not keys:
            yield name, "", ""
        yield from ((name, "keyring", origin) for origin in sorted(keys))


@auth.action("status [NAME]", default=True)
def _status(call: Call) -> Answer:
    usable, out = secrets.has_keyring(), call.out
    rows = list(_rows(call.names or sorted(secrets.USUAL_VARIABLES), call.root, usable=usable))
    marked = ((out.mark_cell("ok" if where else "dot"), name, where, origin) for name, where, origin in rows)
    out.say(
        out.table(
            (mark, name, where or ("not set", "dim"), f"for {to}" if to else "") for mark, name, where, to in marked
        )
    )
    if not usable:
        out.say("This machine has no usable keyring. Set keys in the environment.")
    keys = [{"name": name, "where": where or None, "origin": origin or None} for name, where, origin in rows]
    return Answer({"keyring": usable, "keys": keys})
