"""``holdfast show``: stored documents, masked and safe to look at; with ``--raw`` exactly as they are stored.

Agents run this as often as people do, so its output passes the gate like everything that leaves the store.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from holdfast.errors import Corrupt, NotFound
from holdfast.text.humanize import count, nearest, size
from holdfast_app.trust.provenance import NEXT_STEP, sentence
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast import Holdfast
    from holdfast.storage import Document


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
    """The named documents, or a row for each one."""
    memory, raw = call.memory, call.args.raw
    documents = [_read(memory, name) for name in call.args.documents or memory.store.names()]
    rows = [_row(memory, document) for document in documents]
    if not call.args.documents:
        return Answer({"documents": rows}, lambda out: _list(out, rows))
    if not raw:
        documents = [memory.services.shown(document) for document in documents]
        rows = [_row(memory, document) for document in documents]
    err = Term(sys.stderr)
    if withheld := {str(row["name"]): int(str(row["withheld"])) for row in rows if row["withheld"]}:
        err.note("warn", f"{sentence(withheld, names=True)} {NEXT_STEP}")
        err.stream.flush()
    table = [{**row, "text": document.text} for row, document in zip(rows, documents, strict=True)]
    return Answer({"documents": table}, lambda out: _print(out, err, documents, raw=raw))


def _print(out: Term, err: Term, documents: Sequence[Document], *, raw: bool) -> None:
    for document in documents:
        if len(documents) > 1:
            err.say(err.dim(f"== {document.name}"))
            err.stream.flush()
        (out.raw if raw else out.exact)(document.text)


def _list(out: Term, rows: Sequence[dict[str, object]]) -> None:
    cells = []
    for row in rows:
        withheld = int(str(row["withheld"]))
        note = f"{row['surface']}, {count(withheld, 'passage')} withheld from agents" if withheld else row["surface"]
        cells.append((str(row["name"]), size(int(str(row["size"]))), (str(note), "dim")))
    out.say(out.table(cells, right=(1,)) or "Nothing is stored yet. `holdfast flush` writes the first documents.")


def _read(memory: Holdfast, name: str) -> Document:
    """Raises: NotFound, also for a folder; as the store."""
    try:
        if document := memory.store.read(name):
            return document
    except Corrupt:
        _refuse_folder(memory, name)
        raise
    _refuse_folder(memory, name)
    near = nearest(name, memory.store.names())
    step = f"Did you mean `holdfast show {near}`?" if near else "`holdfast show` lists all documents."
    raise NotFound(f"There is no document {name!r}.", next_step=step)


def _refuse_folder(memory: Holdfast, name: str) -> None:
    """Raises: NotFound when documents are below ``name``."""
    folder = f"{name.rstrip('/')}/"
    inside = [one for one in memory.store.names() if one.startswith(folder)]
    if inside:
        raise NotFound(
            f"{name!r} is a folder with {count(len(inside), 'document')}.",
            next_step=f"Print a document, like `holdfast show {inside[-1]}`. `holdfast show` lists all.",
        )


def _row(memory: Holdfast, document: Document) -> dict[str, object]:
    return {
        "name": document.name,
        "surface": str(memory.services.layout.surface_of(document.name) or "other"),
        "size": len(document.text.encode("utf-8")),
        "revision": document.revision,
        "withheld": memory.store.withheld_in(document.name),
    }
