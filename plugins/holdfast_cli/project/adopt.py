"""``holdfast trust --adopt-state``: what private state that was put aside holds, and taking it over."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from attrs import asdict

from holdfast.text.humanize import count, some
from holdfast_cli.stdin import confirmed
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_app.checkup.adoption import Adopted, Held

_NEXT = "Look at it, then run `holdfast trust --adopt-state --yes`."


def run(out: Term, root: str, *, yes: bool, as_json: bool) -> int:
    """Exit code 0 when nothing is left aside, else 1."""
    from holdfast.config import resolved, settings, statefolder
    from holdfast.fs import private
    from holdfast_app.checkup import adoption

    state = statefolder.path(root, settings.preset(resolved.hot(root)))
    private.check(state)
    held = [adoption.contents(path) for path in statefolder.apart(root, state)]
    if not as_json:
        for one in held:
            _say(out, root, one)
    can_ask = not as_json and sys.stdin is not None and sys.stdin.isatty()
    agreed = bool(held) and (yes or (can_ask and confirmed("Take it over?")))
    done = {one.path: adoption.adopt(state, one.path) for one in held if agreed and not one.problem}
    clean = not held or (len(done) == len(held) and not any(adopted.left for adopted in done.values()))
    if as_json:
        rows = [_row(root, one, done.get(one.path)) for one in held]
        out.json({"ok": clean, "root": root, "state": rows, **({} if clean or agreed else {"next_step": _NEXT})})
    elif not held:
        out.say("No state of another user, machine or layout, or of a copied project, is here.")
    elif agreed:
        for adopted in done.values():
            out.say(f"{out.mark('ok')} {count(len(adopted.taken), 'file')} taken over")
            for name, why in adopted.left:
                out.say(out.wrapped(f"{out.plain(name)} stays: {why}.", first=f"{out.mark('warn')} "))
    elif not can_ask:
        out.say(f"\n  next: {_NEXT}")
    return 0 if clean else 1


def _say(out: Term, root: str, held: Held) -> None:
    out.say(out.bold(out.plain(os.path.relpath(held.path, root))))
    if held.problem:
        step = "Ask its user to flush, or change its owner (`chown -R`), then do this again"
        out.say(out.wrapped(f"It cannot be read: {held.problem}. {step}.", first=f"  {out.mark('warn')} "))
        return
    rows = [
        ("sessions", out.plain(some(held.sessions) or "none")),
        ("not saved (UNSAFE)", out.plain(some(held.unsafe) or "none")),
        ("comments that wait to be published", str(held.waiting)),
        ("files", f"{held.files}, {held.size} bytes"),
    ]
    out.say(out.table(rows))


def _row(root: str, held: Held, done: Adopted | None) -> dict[str, Any]:
    table = asdict(held)
    size = table.pop("size")
    return {
        **table,
        "path": os.path.relpath(held.path, root).replace(os.sep, "/"),
        "bytes": size,
        "taken": done.taken if done else (),
        "left": [{"name": name, "why": why} for name, why in done.left] if done else [],
    }
