"""``holdfast load``, ``show`` and ``report``: memory as agents and people read it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from holdfast.api import Corrupt, Document, Holdfast, NotFound, Unavailable
from holdfast.storage import deadline
from holdfast.text.humanize import count
from holdfast_app.brief.resume import Brief
from holdfast_app.printable import size
from holdfast_app.records import lastbrief
from holdfast_app.sessions.lookup import begun
from holdfast_app.trust.provenance import NEXT_STEP, sentence
from holdfast_cli.command import SILENT_S, Answer, Call, Command, argument, flag, picked, positive, session_id
from holdfast_cli.problem import UsageError, did_you_mean
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_app.report.report import Report

_KEYS = (
    "objective", "next_step", "blockers", "work", "unsafe", "facts", "memory", "user", "files", "notes", "pointers",
    "withheld", "damaged",
)  # fmt: skip


@Command(
    "Resume and search",
    "print an agent's brief for resuming work, from files alone",
    argument("--max-chars", metavar="N", type=positive, help="maximum characters (default: no limit)"),
    argument("--session", metavar="ID", type=session_id, help="the reading session, whose own work comes first"),
    examples=("holdfast load --max-chars 9000", "holdfast load --session fix-login", "holdfast load --json"),
    notes="It needs only files, and no transcript, pasted context or provider that remembers."
    "\nIf the memory's server does not answer, it shows the part on this machine and exits with 3.",
)
def load(call: Call) -> Answer:
    memory = call.memory
    try:
        session = call.args.session or ""
        with deadline(SILENT_S):
            session = (session and begun(memory, session, printed=True)) or session
            brief = memory.load(max_chars=call.args.max_chars, session=session)
    except Unavailable as error:
        if not memory.services.is_remote:
            raise
        from holdfast_cli import state

        # The part on this machine: flushes kept for the server, and the last brief read from it.
        spool, last, now = memory.services.spool, lastbrief.read(memory.services), memory.services.now()
        copy = {"at": last.at.isoformat(), "text": last.text} if last is not None else None
        parts = [spool.sentence, spool.text(), state.copy_age(last, now), last.text if last else ""]
        call.out.exact("\n\n".join(filter(None, parts)) + "\n")
        return Answer({"spooled": state.kept_table(spool.items()), "copy": copy, "text": spool.text()}, error=error)
    if not str(brief):
        raise UsageError(
            f"A brief does not fit into {call.args.max_chars} characters.",
            next_step="Allow more, such as --max-chars 4000.",
        )
    call.out.exact(f"{brief}\n")
    return Answer(as_table(brief), ok=not brief.damaged)


def as_table(brief: Brief) -> dict[str, Any]:
    named = (("files", brief.files), ("notes", brief.notes))
    return {
        **picked(brief, *_KEYS),
        "unsafe": [picked(unsafe, "session", "error", "next_step", "at") for unsafe in brief.unsafe],
        "damaged": [picked(damage, "name", "message", "next_step") for damage in brief.damaged],
        **{key: [{"name": name, "text": text} for name, text in documents] for key, documents in named},
        "text": str(brief),
    }


@Command(
    "Resume and search",
    "print stored documents, or list them",
    argument("documents", metavar="NAME", nargs="*", help="a document to print (default: list all)"),
    flag("--raw", "print as stored: unmasked, and into a file byte for byte"),
    examples=("holdfast show", "holdfast show MEMORY.md", "holdfast show --raw MEMORY.md USER.md > both.md"),
    notes="Secrets are masked, and control characters are shown as escapes like \\x1b. --raw does neither, but a"
    "\nterminal still gets escapes.",
)
def show(call: Call) -> Answer:
    memory, raw = call.memory, call.args.raw
    documents = [_read(memory, name) for name in call.args.documents or memory.store.names()]
    rows = [_document_row(memory, document) for document in documents]
    if not call.args.documents:
        names = memory.services.gate.outgoing_all([row["name"] for row in rows], surface="daily")
        rows = [{**row, "name": name} for row, name in zip(rows, names, strict=True)]
        cells = []
        for row in rows:
            withheld = f", {count(row['withheld'], 'passage')} withheld from agents" if row["withheld"] else ""
            cells.append((row["name"], size(row["size"]), (f"{row['surface']}{withheld}", "dim")))
        nothing = "Nothing is stored yet. `holdfast flush` writes the first documents."
        return Answer({"documents": rows}, call.out.table(cells, right=(1,)) or nothing)
    if not raw:
        documents = [memory.services.shown(document) for document in documents]
        rows = [_document_row(memory, document) for document in documents]
    err = Term(sys.stderr)
    if cut := {row["name"]: row["withheld"] for row in rows if row["withheld"]}:
        err.note("warn", f"{sentence(cut, names=True)} {NEXT_STEP}")
    for document in documents:
        if len(documents) > 1 and not call.json:
            err.say(err.dim(f"== {document.name}"))
        (call.out.raw if raw else call.out.exact)(document.text)
    return Answer({"documents": [{**row, "text": shown.text} for row, shown in zip(rows, documents, strict=True)]})


def _read(memory: Holdfast, name: str) -> Document:
    """Raises: NotFound, also for a folder; as the store."""
    problem: Corrupt | None = None
    try:
        if document := memory.store.read(name):
            return document
    except Corrupt as error:  # of a folder, too
        problem = error
    names = memory.store.names()
    if inside := [other for other in names if other.startswith(f"{name.rstrip('/')}/")]:
        step = f"Print a document, like `holdfast show {inside[-1]}`. `holdfast show` lists all."
        raise NotFound(f"{name!r} is a folder with {count(len(inside), 'document')}.", next_step=step)
    step = did_you_mean(name, names, "holdfast show {}", otherwise="`holdfast show` lists all documents.")
    raise problem or NotFound(f"There is no document {name!r}.", next_step=step)


def _document_row(memory: Holdfast, document: Document) -> dict[str, Any]:
    return {
        "name": document.name,
        "surface": str(memory.services.layout.surface_of(document.name) or "other"),
        "size": len(document.text.encode("utf-8")),
        "revision": document.revision,
        "withheld": memory.store.withheld_in(document.name),
    }


@Command(
    "Resume and search",
    "print the operator's report: events, blockers and needs",
    argument("--days", metavar="N", type=positive, help="number of days to cover, including today (default 1)"),
    flag("--morning", "cover yesterday and the night, with forge activity"),
    flag("--write", "also store the report as today's"),
    flag("--paths", "show the source after every line"),
    examples=("holdfast report", "holdfast report --days 7", "holdfast report --morning", "holdfast report --write"),
)
def report(call: Call) -> Answer:
    args, memory = call.args, call.memory
    if args.morning and args.days:
        raise UsageError("--morning always covers yesterday and the night.", next_step="Leave out --days.")
    if args.write and (args.days or 1) > 1:
        raise UsageError("A stored report covers one day.", next_step="Leave out --days, or --write.")
    extra: dict[str, Any] = {}
    with deadline(SILENT_S):
        if args.morning:
            made: Report = (morning := memory.morning())
            extra = {"since": morning.since.isoformat(), "remarks": morning.remarks}
        else:
            made = memory.report(days=args.days or 1)
    text = made.markdown(paths=args.paths)
    if args.write:
        from holdfast_app.report.report import write

        extra["written"] = write(memory.services, made.last_day, text).name
    tables = {
        title.lower().replace(" ", "_"): [picked(line, "text", "pointer") for line in lines]
        for title, lines in made.sections.items()
    }
    call.out.exact(text)
    return Answer({"first_day": str(made.first_day), "last_day": str(made.last_day), **tables, **extra})
