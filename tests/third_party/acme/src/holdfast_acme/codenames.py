"""A feature: the words that must not be stored, as a method, a command and a check of ``holdfast doctor``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.api import Check


SUMMARY = "list the words that must not be stored"


def codenames(memory: Holdfast) -> list[str]:
    """The words that must not be stored: ``memory.codenames()``."""
    words = memory.config.plugin("acme").settings.get("codenames", [])
    return [str(word) for word in words] if isinstance(words, list) else []


def checks(memory: Holdfast) -> Iterator[Check]:
    """A line of ``holdfast doctor``."""
    from holdfast.api import Check, Outcome

    number = len(codenames(memory))
    yield Check(
        name="acme",
        outcome=Outcome.OK if number else Outcome.WARN,
        message=f"{number} codenames are refused",
        next_step="" if number else "List them in `[plugins.acme] codenames`.",
    )


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--upper", action="store_true", help="in capitals")
    parser.epilog = "examples:\n  holdfast codenames --upper"


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    with Holdfast.open(args.root) as memory:
        words = codenames(memory)
    print("\n".join(w.upper() if args.upper else w for w in words))
    return 0
