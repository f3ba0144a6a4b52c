"""``holdfast demo``: the promise, shown on a recorded session."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli.args import examples
from holdfast.errors import Unsupported


def configure(parser: ArgumentParser) -> None:
    parser.epilog = examples("holdfast demo")


def run(args: Namespace) -> int:
    raise Unsupported("The demo is not in this build yet.", next_step="Try `holdfast init` instead.")
