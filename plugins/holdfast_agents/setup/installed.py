"""holdfast's entries in a client's settings, and problems with them."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import cast

from attrs import evolve

from holdfast.errors import HoldfastError
from holdfast_agents.clientfiles import hooks_of, is_ours, table
from holdfast_agents.setup import claude_code, jsontext, placing, program
from holdfast_agents.setup.client import Client, Problem, Where, not_found
from holdfast_agents.setup.parts import Hooks, ours


def since(client: Client, there: Sequence[Where]) -> datetime | None:
    """The last change, in UTC, of the settings with the hooks. The hooks may be older."""
    paths = [client.needed(where).places[0].path for where in there]
    times = [os.stat(path).st_mtime for path in paths if os.path.exists(path)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def as_plugin(where: Where) -> bool:
    """Whether Claude Code has holdfast's plugin enabled there."""
    enabled = table(claude_code.CLIENT.needed(where).places[0].path).get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return any(name.startswith(f"{claude_code.PLUGIN}@") and on is True for name, on in names.items())


def problems(client: Client, where: Where) -> Iterator[Problem]:
    """All problems of the client installed there."""
    place = client.needed(where).places[0]
    if isinstance(place.part, Hooks):
        try:
            settings = jsontext.read(placing.read(place.path, place.shown) or "{}", place.shown)
        except HoldfastError as error:
            yield Problem(f"{error.message} The client may not read it either.", next_step=error.next_step)
            return
        yield from _hook_problems(client, where, settings, place.shown)
    yield from client.problems(where)


def _hook_problems(client: Client, where: Where, settings: object, shown: str) -> Iterator[Problem]:
    places = [client.needed(evolve(where, program=words)).places[0] for words in program.KNOWN]
    parts = [cast("Hooks", place.part) for place in places]
    for event in parts[0].groups:
        groups = [group for _, group in ours(settings, client.name, event)]
        gate = event == "PreCompact"
        if not groups:
            yield Problem(f"{shown} lacks the hook for {event}.", unguarded=gate)
        elif not any(groups in ([part.groups[event]], [_resaved(part.groups[event])]) for part in parts):
            yield Problem(f"{shown} has a different hook for {event} from the one installed.", unguarded=gate)
    for _, group in ours(settings, client.name, "UserPromptSubmit"):
        own = [hook for hook in hooks_of(group) if isinstance(hook, dict) and is_ours(hook, client.name)]
        for command in (str(hook.get("command")) for hook in own):
            first = command.split('"')[1] if command.startswith('"') else shlex.split(command)[0]
            if shutil.which(first) is None:
                yield not_found("The hooks start", first, client.name)


def _resaved(group: object) -> object:
    """A group after Claude Code 2.1.197 saved the settings. It drops ``onFailure``."""
    hooks = [hook for hook in hooks_of(group) if isinstance(hook, dict)]
    return {"hooks": [{name: value for name, value in hook.items() if name != "onFailure"} for hook in hooks]}
