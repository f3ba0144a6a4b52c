"""``holdfast load`` prints the brief from which another agent or provider resumes work, even on another day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import PluginNotFound, Unavailable
from holdfast_cli import state
from holdfast_cli.command import Answer, Call, Command, argument, positive, session_id
from holdfast_cli.problem import UsageError

if TYPE_CHECKING:
    from holdfast_app.brief.brief import Brief

_KEYS = (
    "objective", "next_step", "blockers", "work", "unsafe", "facts", "memory", "user", "files", "notes", "pointers",
    "withheld", "damaged",
)  # fmt: skip


@Command(
    "Resume and search",
    "print an agent's brief for resuming work, from files alone",
    argument("--max-chars", metavar="N", type=positive, help="maximum characters (default: no limit)"),
    argument(
        "--session", metavar="ID", type=session_id, help="the session that reads the brief; its own work comes first"
    ),
    examples=("holdfast load --max-chars 9000", "holdfast load --session fix-login", "holdfast load --json"),
    notes="It needs only files, and no transcript, pasted context or provider that remembers."
    "\nIf the memory's server does not answer, it shows the part on this machine and exits with 3.",
)
def load(call: Call) -> Answer:
    """The brief. Exit code 1 when a document is damaged."""
    memory = call.memory
    try:
        brief = memory.load(max_chars=call.args.max_chars, session=call.args.session or "")
    except Unavailable as error:
        if not memory.services.is_remote:
            raise
        return _without_store(call, error)
    if not str(brief):
        raise UsageError(
            f"A brief does not fit into {call.args.max_chars} characters.",
            next_step="Allow more, such as --max-chars 4000.",
        )
    return Answer(as_table(brief), lambda out: out.exact(f"{brief}\n"), ok=not brief.damaged)


def _without_store(call: Call, error: Unavailable) -> Answer:
    """The part that is on this machine: flushes kept for the server, and the last brief read from it."""
    try:
        spool = call.memory.services.spool
    except PluginNotFound:
        raise error from None
    kept = spool.last_brief()
    copy = {"at": kept.at.isoformat(), "text": kept.text} if kept is not None else None
    parts = [spool.sentence, spool.text(), state.copy_age(kept, call.memory.services.now()), kept.text if kept else ""]
    return Answer(
        {"spooled": state.kept_table(spool.items()), "copy": copy, "text": spool.text()},
        lambda out: out.exact("\n\n".join(filter(None, parts)) + "\n"),
        error=error,
    )


def as_table(brief: Brief) -> dict[str, Any]:
    """The brief for programs."""
    table = {key: getattr(brief, key) for key in _KEYS}
    table["unsafe"] = [
        {"session": m.session, "error": m.error, "next_step": m.next_step, "at": m.at} for m in brief.unsafe
    ]
    for name in ("files", "notes"):
        table[name] = [{"name": one, "text": text} for one, text in getattr(brief, name)]
    table["damaged"] = [{"name": d.name, "message": d.message, "next_step": d.next_step} for d in brief.damaged]
    return {**table, "text": str(brief)}
