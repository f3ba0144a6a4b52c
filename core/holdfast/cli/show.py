"""``holdfast show``: documents exactly as they are stored."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.cli.args import add_json, examples
from holdfast.cli.term import Term
from holdfast.cli.words import nearest, size
from holdfast.errors import Corrupt, NotFound

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.storage import Document


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="a document; without one they are listed")
    add_json(parser)
    parser.epilog = examples(
        "holdfast show", "holdfast show MEMORY.md", "holdfast show USER.md continuity/active.md > both.md"
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    with Holdfast.open(args.root) as memory:
        return _print(memory, args.names, as_json=args.json) if args.names else _list(memory, as_json=args.json)


def _print(memory: Holdfast, names: list[str], *, as_json: bool) -> int:
    documents = [_read(memory, name) for name in names]
    out, err = Term(), Term(sys.stderr)
    if as_json:
        out.json({"ok": True, "documents": [{**_row(memory, d), "text": d.text} for d in documents]})
        return 0
    for document in documents:
        if len(documents) > 1:
            err.say(err.dim(f"== {document.name}"))
            err.stream.flush()
        out.exact(document.text)
    return 0


def _list(memory: Holdfast, *, as_json: bool) -> int:
    out = Term()
    rows = [_row(memory, _read(memory, name)) for name in memory.store.names()]
    if as_json:
        out.json({"ok": True, "documents": rows})
    elif rows:
        out.say(
            out.table(
                [(str(r["name"]), size(int(str(r["size"]))), (str(r["surface"]), "dim")) for r in rows], right=(1,)
            )
        )
    else:
        out.say("Nothing is stored yet. `holdfast flush` writes the first documents.")
    return 0


def _read(memory: Holdfast, name: str) -> Document:
    try:
        document = memory.store.read(name)
    except Corrupt:
        _refuse_folder(memory, name)
        raise
    if document is None:
        _refuse_folder(memory, name)
        near = nearest(name, memory.store.names())
        step = f"Did you mean `holdfast show {near}`?" if near else "`holdfast show` lists what there is."
        raise NotFound(f"There is no document {name!r}.", next_step=step)
    return document


def _refuse_folder(memory: Holdfast, name: str) -> None:
    """Raises: NotFound when documents are below ``name``."""
    folder = f"{name.rstrip('/')}/"
    inside = [one for one in memory.store.names() if one.startswith(folder)]
    if inside:
        raise NotFound(
            f"{name!r} is a folder with {len(inside)} document{'s' if len(inside) > 1 else ''}.",
            next_step=f"Print one of them, like `holdfast show {inside[-1]}`; `holdfast show` lists all.",
        )


def _row(memory: Holdfast, document: Document) -> dict[str, object]:
    return {
        "name": document.name,
        "surface": str(memory.services.layout.surface_of(document.name) or "other"),
        "size": len(document.text.encode("utf-8")),
        "revision": document.revision,
    }
