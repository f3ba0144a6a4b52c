"""Clients with a plugin in JavaScript: opencode, its fork Kilo, and pi.

Source: observed with opencode 1.18.33, Kilo 7.7.9 and pi 1.5.2; for opencode 2 the types that it publishes. A plugin
that fails to load is silently skipped, so in opencode and Kilo the settings disable the compaction agent and the
plugin's ``config`` hook enables it again. Kilo loads plugins from ``.kilo`` alone. pi loads a project's extensions only
when the project is trusted, compacts without them, and tries a cancelled compaction again before the next prompt.
"""

import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Final

from holdfast_agents.clientfiles import at, own_folder, read_or_empty, table
from holdfast_agents.setup import program
from holdfast_agents.setup.client import Client, Files, Needed, Problem, Where, stale, worktrees
from holdfast_agents.setup.parts import Values, Whole

_SHOWN: Final = {"opencode": "opencode", "kilo": "Kilo", "pi": "pi"}
#: Path to the setting that disables compaction.
SWITCH: Final = ("agent", "compaction", "disable")
_LIFTS, _LEAVES = "const LIFTS = true", "const LIFTS = false"
_SERVER = ("mcp", "holdfast")
_TRUST = "Open `pi` in this folder once and trust it, or run it with `--approve`. Until then it loads no extension."
_WISHED = (
    "Your settings disabled compaction before holdfast was installed (`agent.compaction.disable`), so it stays "
    "off. To enable it with the guard, remove that entry and install again."
)


def _needed(name: str, where: Where) -> Needed:
    base = where.root if where.in_project else own_folder(name)
    files = [os.path.join(base, f"{name}{suffix}") for suffix in (".json", ".jsonc")]
    file = next(filter(os.path.exists, files), files[0])
    inside = f".{name}" if where.in_project else ""
    wished = _off_by_wish(file, os.path.join(base, inside, "plugins", "holdfast.js"))
    server = {"type": "local", "command": [*where.program, "mcp"], "enabled": True}
    settings = Values(
        members={**({} if wished else {SWITCH: True}), **({_SERVER: server} if where.server else {})},
        server=_SERVER,
        listed={("instructions",): f"{inside or base}/{program.PROTOCOL}"},
    )
    body = plugin(where.program, name, lifts=not wished)
    places = where.places(
        name,
        {
            f"../{os.path.basename(file)}": (settings, "compaction off without the plugin"),
            **_files("plugins", body, "the plugin", "commands"),
            program.PROTOCOL: (Whole(body=program.instructions()), "the protocol"),
        },
    )
    restart = f"Restart {_SHOWN[name]} where it is running, because it loads plugins at its start."
    steps = (_WISHED if wished else "", restart, worktrees(name) if where.in_project else "")
    return Needed(places=places, by_hand=tuple(filter(None, steps)))


def _pi(where: Where) -> Needed:
    files = _files("extensions", plugin(where.program, "pi"), "the extension", "prompts")
    return Needed(places=where.places("pi", files), by_hand=(_TRUST, worktrees("pi")) if where.in_project else ())


def _files(folder: str, body: str, what: str, commands: str) -> Files:
    return {
        f"{folder}/holdfast.js": (Whole(body=body), what),
        f"{commands}/memory-update.md": (Whole(body=program.memory_update()), "/memory-update"),
        "skills/holdfast/SKILL.md": (Whole(body=program.data("skill.md")), "the skill"),
    }


def plugin(words: tuple[str, ...], client: str = "opencode", *, lifts: bool = True) -> str:
    """The plugin, which starts the program ``words``. ``lifts``: it enables the compaction that settings disable."""
    text = program.data("process.js") + program.data("pi.js" if client == "pi" else "holdfast.js")
    if client == "opencode":
        text = text.replace("export const", "const", 1) + program.data("opencode2.js")
    text = program.filled(text)
    text = text.replace('["holdfast-memory"]', json.dumps(list(words))).replace('"opencode"', f'"{client}"', 1)
    return text if lifts else text.replace(_LIFTS, _LEAVES)


def _off_by_wish(settings: str, script: str) -> bool:
    """Whether the user disabled compaction in the file ``settings`` before holdfast was installed, so that it stays
    off. ``script`` is the plugin's path. Its text records the answer."""
    if at(table(settings), SWITCH) is not True:
        return False
    if os.path.exists(script):
        return _LEAVES.encode() in read_or_empty(script)
    return program.PROTOCOL.encode() not in read_or_empty(settings)


def _problems(name: str, where: Where) -> Iterator[Problem]:
    """Problems with the plugin, and with the setting that disables compaction without it."""
    *settings, file = _pi(where).places[:1] if name == "pi" else _needed(name, where).places[:2]
    if settings and at(table(settings[0].path), SWITCH) is not True:
        yield Problem(f"{settings[0].shown} does not set {'.'.join(SWITCH)}, so it is unguarded without the plugin.")
    plugins = [Whole(body=plugin(words, name, lifts=on)) for words in program.KNOWN for on in (True, False)]
    yield from stale(file, plugins, f"so compaction is {'unguarded' if name == 'pi' else 'off'}", client=name)


_OFF = "where the plugin does not load (`--pure`, an error in it) nothing is ever compacted"
CLIENTS = tuple(
    Client(
        name=name,
        shown=shown,
        program=name,
        seen=seen,
        reads_parents=name != "pi",
        around="a project that it does not trust, and `--no-extensions`" if name == "pi" else _OFF,
        needed=_pi if name == "pi" else partial(_needed, name),
        problems=partial(_problems, name),
    )
    for (name, shown), seen in zip(_SHOWN.items(), ("1.18.33", "7.7.9", "1.5.2"), strict=True)
)
