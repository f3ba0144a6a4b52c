"""``holdfast show``: stored documents, masked and safe to look at; with ``--raw`` exactly as they are stored.

Agents run this as often as people do, so its output passes the gate like everything that leaves the store.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.config.provenance import NEXT_STEP, sentence
from holdfast.errors import Corrupt, NotFound
from holdfast.text.humanize import nearest, size
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.storage import Document


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="a document to print (default: list all)")
    parser.add_argument("--raw", action="store_true", help="print as stored: unmasked, and into a file byte for byte")
    add_json(parser)
    parser.epilog = (
        examples("holdfast show", "holdfast show MEMORY.md", "holdfast show --raw MEMORY.md USER.md > both.md")
        + "\n\nSecrets are masked, and control characters are shown as escapes like \\x1b. --raw does neither, but a"
        "\nterminal still gets escapes."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    with Holdfast.open(args.root) as memory:
        if args.names:
            return _print(memory, args.names, raw=args.raw, as_json=args.json)
        return _list(memory, as_json=args.json)


def _print(memory: Holdfast, names: list[str], *, raw: bool, as_json: bool) -> int:
    documents = [_read(memory, name) for name in names]
    if not raw:
        documents = [memory.services.shown(document) for document in documents]
    out, err = Term(), Term(sys.stderr)
    withheld = {document.name: number for document in documents if (number := memory.store.withheld_in(document.name))}
    if withheld:
        err.say(err.wrapped(f"{sentence(withheld, names=True)} {NEXT_STEP}", first=f"{err.mark('warn')} ", rest="  "))
        err.stream.flush()
    if as_json:
        out.json({"ok": True, "documents": [{**_row(memory, d), "text": d.text} for d in documents]})
        return 0
    for document in documents:
        if len(documents) > 1:
            err.say(err.dim(f"== {document.name}"))
            err.stream.flush()
        (out.raw if raw else out.exact)(document.text)
    return 0


def _list(memory: Holdfast, *, as_json: bool) -> int:
    out = Term()
    rows = [_row(memory, _read(memory, name)) for name in memory.store.names()]
    if as_json:
        out.json({"ok": True, "documents": rows})
    elif rows:
        out.say(out.table([(str(r["name"]), size(int(str(r["size"]))), (_note(r), "dim")) for r in rows], right=(1,)))
    else:
        out.say("Nothing is stored yet. `holdfast flush` writes the first documents.")
    return 0


def _note(row: dict[str, object]) -> str:
    number = row["withheld"]
    passages = f"{number} {'passage' if number == 1 else 'passages'}"
    return f"{row['surface']}, {passages} withheld from agents" if number else str(row["surface"])


def _read(memory: Holdfast, name: str) -> Document:
    try:
        document = memory.store.read(name)
    except Corrupt:
        _refuse_folder(memory, name)
        raise
    if document is None:
        _refuse_folder(memory, name)
        near = nearest(name, memory.store.names())
        step = f"Did you mean `holdfast show {near}`?" if near else "`holdfast show` lists all documents."
        raise NotFound(f"There is no document {name!r}.", next_step=step)
    return document


def _refuse_folder(memory: Holdfast, name: str) -> None:
    """Raises: NotFound when documents are below ``name``."""
    folder = f"{name.rstrip('/')}/"
    inside = [one for one in memory.store.names() if one.startswith(folder)]
    if inside:
        raise NotFound(
            f"{name!r} is a folder with {len(inside)} document{'s' if len(inside) > 1 else ''}.",
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
