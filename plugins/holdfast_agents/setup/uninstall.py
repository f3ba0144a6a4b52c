"""``holdfast uninstall``: remove holdfast from a client. The memory stays."""

from __future__ import annotations

from holdfast_agents.setup import placing
from holdfast_agents.setup.clients import CLIENTS, needed
from holdfast_agents.setup.install import WHERE, as_tables, named, say_files, where_of
from holdfast_cli.command import Answer, Call, Command
from holdfast_cli.terminal import Term, home_short


@Command(
    "Guard a client",
    "remove holdfast's hooks from a client",
    *WHERE,
    examples=("holdfast uninstall claude-code", "holdfast uninstall codex --scope user"),
    notes="A file that only holdfast changed gets its original content back, byte for byte. The memory stays.",
)
def uninstall(call: Call) -> Answer:
    """Take holdfast's hooks out of the client's settings."""
    where = where_of(call)
    done = placing.take_out(needed(call.args.client, where).places)

    def show(out: Term) -> None:
        gone = any(d.fate in (placing.Fate.RESTORED, placing.Fate.CLEANED, placing.Fate.REMOVED) for d in done)
        place = home_short(where.root) if where.in_project else "your own settings"
        state = "no longer guarded" if gone else "not guarded, so nothing was changed"
        out.say(f"{out.mark('ok' if gone else 'dot')} {CLIENTS[call.args.client]} is {state} in {out.bold(place)}")
        say_files(out, [d for d in done if d.fate is not placing.Fate.ABSENT])
        if gone:
            out.say("\n  The memory is still there. From now on this client drops context without a flush.")

    return Answer({**named(call, where), "files": as_tables(done), "by_hand": []}, show)
