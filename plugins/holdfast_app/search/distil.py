"""Make a table of word vectors: ``python -m holdfast_app.search.distil WORDS OUT --model MODEL [--base-url URL]``.

WORDS is a file with a word on each line, the most frequent first. Every word is sent to the embeddings endpoint,
or to a sentence-transformers model on this machine with ``--local``. The table is then used without either.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.fs import durable, safeopen
from holdfast_app.search import table
from holdfast_app.search.embedders import Embedder, Embeddings, SentenceTransformers

_DIMS: Final = 100
_WORDS: Final = 20_000


class _Context(NamedTuple):
    name: str
    settings: dict[str, object]
    root: str = ""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m holdfast_app.search.distil", description=__doc__)
    parser.add_argument("words", help="a file with a word on each line, the most frequent first")
    parser.add_argument("out", help="the file to write")
    parser.add_argument("--model", required=True, help="model name, or a folder with --local")
    parser.add_argument("--base-url", help="address of an OpenAI-compatible server")
    parser.add_argument("--local", action="store_true", help="use sentence-transformers on this machine")
    parser.add_argument("--dims", type=int, default=_DIMS, help=f"length of a vector (default: {_DIMS})")
    parser.add_argument("--most", type=int, default=_WORDS, help=f"maximum number of words (default: {_WORDS})")
    args = parser.parse_args(words)
    settings: dict[str, object] = {"model": args.model, **({"base_url": args.base_url} if args.base_url else {})}
    kind: type[Embedder] = SentenceTransformers if args.local else Embeddings
    name = "sentence_transformers" if args.local else "embeddings"
    context: Any = _Context(name, settings)
    try:
        found = safeopen.read(os.path.realpath(args.words), private=False).decode("utf-8", "replace").split("\n")
        data = table.made(found[: args.most], kind(context=context).embed, args.dims)
        durable.replace(os.path.abspath(args.out), data, mode=0o644)
    except (HoldfastError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{args.out}: {len(data):,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
