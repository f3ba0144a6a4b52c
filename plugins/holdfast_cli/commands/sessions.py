"""``holdfast sessions``: every session with a journal, and the messages of one."""

from __future__ import annotations

from holdfast.config.serde import moment, unstructure
from holdfast.text.humanize import ago, count
from holdfast_app.sessions.lookup import messages, resolve, short, titles
from holdfast_cli import state
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.terminal import Cell, Term

#: Number of newest UUID-named sessions to list with their first words. Each costs a read of its journal.
_TITLED = 40
#: Messages shown before and after the message that --around names.
_AROUND = 5

sessions = Command(
    "Manage",
    "list the sessions with a journal, or show one conversation",
    argument("--around", metavar="TURN", help=f"with show: only this message and the {_AROUND} before and after it"),
    examples=(
        "holdfast sessions",
        "holdfast sessions --json",
        "holdfast sessions show fix-login",
        "holdfast sessions show fix-login --around msg_0a1b2c3d",
    ),
    notes="The first characters of an id are enough.",
)


@sessions.action("list", default=True)
def _list(call: Call) -> Answer:
    from holdfast.session.status import status

    now = status(call.memory.services)
    newest = sorted(now.sessions, key=lambda one: (one.last_turn_at is not None, one.last_turn_at), reverse=True)
    begun = titles(call.memory, [one.id for one in newest if short(one.id) != one.id][:_TITLED])

    def show(out: Term) -> None:
        if not now.sessions:
            out.say("No session has begun. `holdfast add user TEXT --session ID` begins one.")
            return
        rows: list[tuple[Cell, ...]] = []
        for one in now.sessions:
            size = "ended" if one.ended else count(one.context_tokens, "token")
            last = ago(one.last_turn_at, now.at) if one.last_turn_at else "never"
            mark, _, word = state.cells(out, one)
            rows.append((mark, (short(one.id), "bold"), word, size, last, out.plain(begun.get(one.id, ""))))
        out.say(out.table(rows, head=("", "session", "state", "in context", "last turn", "began with"), clipped=5))

    return Answer({"sessions": [unstructure(s) | {"title": begun.get(s.id, "")} for s in now.sessions]}, show)


@sessions.action("show ID", "around")
def _show(call: Call) -> Answer:
    memory = call.memory
    session = resolve(memory, call.names[0])
    found = messages(memory, session, around=call.args.around, span=_AROUND)
    texts = memory.services.gate.outgoing_all([one["text"] for one in found], surface="journal")
    rows = [{k: one[k] for k in ("id", "at", "role")} | {"text": t} for one, t in zip(found, texts, strict=True)]

    def show(out: Term) -> None:
        for row in rows:
            at = moment(row["at"]).astimezone(memory.config.tz)
            out.say(f"{out.bold(row['role'])} {out.dim(f'{at:%Y-%m-%d %H:%M:%S}')} {out.dim(row['id'])}")
            for line in row["text"].split("\n"):
                out.say(f"  {out.plain(line)}".rstrip())
            out.say()

    return Answer({"session": session, "messages": rows}, show)
