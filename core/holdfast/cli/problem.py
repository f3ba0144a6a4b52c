"""How an error is told: two lines for a person on stderr, and with ``--json`` one object on stdout as well."""

from __future__ import annotations

import sys

from holdfast.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UsageError(HoldfastError):
    """The command line cannot be understood."""

    exit_code = 2


def tell(error: HoldfastError, *, as_json: bool) -> int:
    """Print ``error`` and return its exit code.

    stderr gets ``holdfast: MESSAGE`` and ``  next: NEXT STEP``. With ``--json`` stdout gets
    ``{"ok": false, "error": {"kind", "message", "next_step", "exit_code", ...}}``, so that it always parses.
    """
    from holdfast.cli.term import Term

    if as_json:
        Term().json({"ok": False, "error": as_table(error)})
    err = Term(sys.stderr)
    # The name first and unstyled: people and programs search logs for it.
    err.say(f"holdfast: {err.red(err.plain(error.message), bold=True)}")
    err.say(f"  {err.dim('next:')} {err.plain(_next_step(error))}")
    return error.exit_code


def _next_step(error: HoldfastError) -> str:
    if error.next_step:
        return error.next_step
    return (
        "Correct it, then try again."
        if error.exit_code == UsageError.exit_code
        else "`holdfast doctor` looks for the cause."
    )


def as_table(error: HoldfastError) -> dict[str, Any]:
    """The error as the JSON object that ``--json`` prints; a refused flush also tells ``target`` and ``missing``."""
    table: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": error.message,
        "next_step": _next_step(error),
        "exit_code": error.exit_code,
    }
    for name in ("target", "missing"):
        value = getattr(error, name, None)
        if value is not None:
            table[name] = value
    return table
