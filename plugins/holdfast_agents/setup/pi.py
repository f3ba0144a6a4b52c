"""pi: an extension, the skill and ``/memory-update``.

Source: observed with 1.5.2. A cancelled compaction is tried again before the next prompt. pi loads a project's
extensions only when the project is trusted, and compacts without them.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast_agents.clientfiles import pi_folder, read_or_empty
from holdfast_agents.setup import program
from holdfast_agents.setup.client import Client, Needed, Problem, Where, not_found, worktrees
from holdfast_agents.setup.opencode import plugin
from holdfast_agents.setup.parts import Whole

NAME = "pi"
_TRUST = (
    "Open `pi` in this folder once and trust it, or run it with `--approve`. Before that it loads no extension here."
)


def _needed(where: Where) -> Needed:
    base = where.root if where.in_project else pi_folder()
    inside = (".pi",) if where.in_project else ()
    files = {
        ("extensions", "holdfast.js"): (plugin(where.program, NAME), "the extension"),
        ("prompts", "memory-update.md"): (program.memory_update(), "/memory-update"),
        ("skills", "holdfast", "SKILL.md"): (program.skill(), "the skill"),
    }
    places = [where.place(Whole(body=body), what, base, *inside, *name) for name, (body, what) in files.items()]
    by_hand = (_TRUST, worktrees(NAME)) if where.in_project else ()
    return Needed(client=NAME, places=tuple(places), by_hand=by_hand)


def _problems(where: Where) -> Iterator[Problem]:
    file = _needed(where).places[0]
    text = read_or_empty(file.path).decode("utf-8", "replace")
    if not text:
        yield Problem(f"{file.shown} is missing, so compaction is unguarded.")
    elif text not in [plugin(words, NAME) for words in program.KNOWN]:
        yield Problem(f"{file.shown} differs from this version's extension.")
    elif text == plugin(program.PLAIN, NAME) and not program.on_path():
        yield not_found("The extension starts", program.PLAIN[0], NAME)


CLIENT = Client(
    name=NAME,
    shown="pi",
    program="pi",
    folder=pi_folder,
    seen="1.5.2",
    reads_parents=False,
    elsewhere="a start in a subfolder or in a git worktree that lacks these files (`--scope user` guards it); ",
    around="a project that it does not trust, and `--no-extensions`",
    needed=_needed,
    problems=_problems,
)
