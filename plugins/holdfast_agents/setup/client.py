"""A client's facts: its files, its limits and its settings' content."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from holdfast_agents.clientfiles import FOLDERS, own_folder, read_or_empty
from holdfast_agents.setup import program
from holdfast_agents.setup.parts import Hooks, Part
from holdfast_agents.setup.placing import Place

#: What holdfast can hold in a client. ``FLUSHES``: it waits for the flush, then compacts even if it failed.
GUARDED: Final = "guarded"
FLUSHES: Final = "flushes first, cannot block"
AGREED: Final = "by agreement"


class Problem(NamedTuple):
    """``unguarded``: compaction is not guarded, or not possible. Without a next step, the remedy is to reinstall."""

    message: str
    unguarded: bool = True
    next_step: str = ""


Files = Mapping[str, tuple[Part, str]]


class Where(NamedTuple):
    """``root`` is the project, ``program`` the command that starts holdfast. ``server`` includes the MCP server."""

    root: str
    scope: str
    program: tuple[str, ...]
    server: bool = True

    @property
    def in_project(self) -> bool:
        return self.scope == "project"

    def places(self, client: str, files: Files) -> tuple[Place, ...]:
        """The client's files. A name is below its folder, with ``../`` in the project or in its own folder, and with
        ``~/`` in the project or in the user's home folder. An absolute one is the user's in both scopes."""
        places = []
        for name, (part, what) in files.items():
            own = os.path.expanduser("~") if name.startswith("~/") else own_folder(client)
            shared = self.in_project and not os.path.isabs(name)
            base, inside = (self.root, FOLDERS[client][0]) if shared else (own, "")
            names = name[name.index("/") + 1 :] if name.startswith(("../", "~/")) else os.path.join(inside, name)
            path = os.path.normpath(os.path.join(base, names))
            shown = os.path.relpath(path, base) if shared else path
            places.append(Place(path=path, shown=shown, part=part, base=base, what=what, contained=shared))
        return tuple(places)


class Needed(NamedTuple):
    """A client's files, first the compaction guard. ``by_hand`` are the user's remaining steps, in order."""

    places: tuple[Place, ...]
    by_hand: tuple[str, ...] = ()


class Client(NamedTuple):
    """``shown`` is its name for people, and ``program`` its executable. ``around`` are the cases in which its hooks
    cannot act. ``seen`` is the version whose real program was run. ``reads_parents``: it also reads the settings in the
    folders above. ``needed`` and ``problems`` are its files and their faults."""

    name: str
    shown: str
    program: str
    around: str
    needed: Callable[[Where], Needed]
    seen: str
    problems: Callable[[Where], Iterator[Problem]] = lambda _: iter(())
    holds: str = GUARDED
    reads_parents: bool = False

    @property
    def label(self) -> str:
        """What it holds, for people."""
        return self.holds if self.seen else f"{self.holds}, not run"

    def is_there(self, where: Where) -> bool:
        """Whether holdfast is installed there, even if only in part."""
        server = r'|"holdfast": \{\s*"command"' if self.holds == AGREED else ""
        ours = re.compile(rf"{program.MARK}|{program.PROTOCOL}|holdfast\S{{0,10}}\s+hook\s+{self.name}\b{server}")
        texts = (read_or_empty(place.path).decode("utf-8", "replace") for place in self.needed(where).places[:2])
        return any(map(ours.search, texts))


def not_found(who: str, what: str, client: str) -> Problem:
    """The problem that a client does not find the program ``what``."""
    step = f"Put it on the client's PATH, or run `holdfast install {client} --scope user`, which uses its full path."
    return Problem(f"{who} {what!r}, which cannot be found here.", next_step=step)


def stale(
    place: Place, parts: Iterable[Part], lacking: str, *, unguarded: bool = True, client: str = ""
) -> Iterator[Problem]:
    """The problem that the file is missing, where ``lacking`` says what follows, has none of ``parts``, or starts a
    program that ``client`` does not find."""
    text = read_or_empty(place.path).replace(b"\r\n", b"\n").decode("utf-8", "replace")
    if not text:
        yield Problem(f"{place.shown} is missing or empty, {lacking}.", unguarded=unguarded)
    elif all(part.put(text, place.shown) != text for part in parts):
        yield Problem(f"{place.shown} differs from what this version installs.", unguarded=unguarded)
    elif client and f'"{program.PLAIN[0]}' in text and not program.on_path():
        yield not_found(f"{place.shown} starts", program.PLAIN[0], client)


def worktrees(client: str) -> str:
    """The manual step for a client that also reads settings in parent folders."""
    return (
        f"Commit these files, because a git worktree without them is not guarded. "
        f"`holdfast install {client} --scope user` guards every folder."
    )


def hooks(client: str, words: tuple[str, ...], events: Mapping[str, int | Mapping[str, Any]], **fill: str) -> Hooks:
    """Hooks in Claude Code's form, which start the program ``words``. An event has its time limit in seconds, or more
    of its hook, whose strings may hold ``{program}`` and the names in ``fill``."""
    groups = {}
    for event, extra in events.items():
        hook = {"command": f"{{program}} hook {client}", **({"timeout": extra} if isinstance(extra, int) else extra)}
        for key, value in hook.items():
            for name, text in {"program": program.spelled(words), **fill}.items() if isinstance(value, str) else ():
                value = hook[key] = value.replace(f"{{{name}}}", text)
        groups[event] = {"hooks": [{"type": "command", **hook}]}
    return Hooks(client=client, groups=groups)
