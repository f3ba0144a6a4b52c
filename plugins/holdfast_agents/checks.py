"""``holdfast doctor``'s checks of the clients: hooks installed, trusted and running, and known gaps.

A missing, untrusted or disabled hook is silent. So besides the settings, the checks compare the
last heartbeat with the client's own recordings.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from attrs import evolve

from holdfast import Holdfast
from holdfast.errors import HoldfastError
from holdfast.models import Check, Outcome
from holdfast.text.humanize import ago
from holdfast_agents.clientfiles import at, table
from holdfast_agents.records import heartbeat, memo
from holdfast_agents.records.heartbeat import Beat
from holdfast_agents.setup import claude_code, jsontext, placing, program
from holdfast_agents.setup.client import AGREED, Client, Problem, Where, stale
from holdfast_agents.setup.clients import CLIENTS, SCOPES, where
from holdfast_agents.setup.parts import Hooks, ours
from holdfast_app.sessions import pastgate

#: How long a client may write after the last hook ran. One answer can take that long.
_SILENCE = timedelta(minutes=10)
_SWITCH_OFF = (
    "Run `claude plugin disable NAME` for plugins that compact, here or given with `--plugin-dir`. holdfast saves what "
    "such a compaction drops only after it."
)


def checks(memory: Holdfast) -> Iterator[Check]:
    """A few lines for each client that is set up here or whose hooks have ever run. One line when there is none."""
    root = memory.services.root
    beats = {beat.client: beat for beat in heartbeat.beats(memory.services.state)}
    none = True
    now = memory.services.now()
    scopes = [where(root, scope) for scope in SCOPES]
    for name, client in CLIENTS.items():
        # Kimi Code's hooks are the user's in both scopes.
        there = [*{client.needed(one).places[0].path: one for one in scopes if client.is_there(one)}.values()]
        plugins = [one for one in scopes if name == claude_code.NAME and _as_plugin(one)]
        if there or plugins or name in beats:
            none = False
            found = [*_installed(client, there, plugins)]
            if client.holds != AGREED:
                found += [*_started_here(client, there, plugins), _running(client, beats.get(name), there, root, now)]
            yield from found
            elsewhere = client.elsewhere if all(one.in_project for one in (*there, *plugins)) else ""
            gaps = "; ".join(filter(None, (elsewhere, client.around)))
            broken = any(one.outcome is Outcome.FAIL for one in found)
            label = f"{client.label} once that is repaired" if broken else client.label
            yield _good(name, f"{label}; not covered: {gaps}" if gaps else label)
    for one in pastgate.recent(memory.services.state, now):
        yield _warn("past the gate", one.sentence.partition(" `holdfast doctor`")[0], _SWITCH_OFF)
    if none:
        yield _good("agents", f"no client is guarded here. `holdfast install CLIENT` guards one ({', '.join(CLIENTS)})")


def _installed(client: Client, there: Sequence[Where], plugins: Sequence[Where]) -> Iterator[Check]:
    name = client.name
    for one in there:
        yield from _settings(client, one)
    for one in plugins:
        yield _good(name, f"installed as a plugin ({client.needed(one).places[0].shown})")
    if not there and not plugins:
        message = "Its hooks have run, but neither this project's settings nor the user's contain them."
        yield _warn(name, message, f"Run `holdfast install {name}`, unless they were for one session only.")
    # Claude Code drops duplicate commands, so it runs each hook once.
    once = name == claude_code.NAME and not plugins and len({one.program for one in there}) == 1
    if len(there) + len(plugins) > 1 and not once:
        message = "It is guarded more than once (project, user or plugin), so each hook runs more than once."
        yield _warn(name, message, f"Run `holdfast uninstall {name} --scope user` or `--scope project`.")


def _started_here(client: Client, there: Sequence[Where], plugins: Sequence[Where]) -> Iterator[Check]:
    """Whether a client started in the working directory reads this project's settings.

    Claude Code reads only the settings in the folder where it is started. The others also search the parent folders. A
    git worktree has the settings only when they are committed.
    """
    guarding = [*there, *plugins]
    if not guarding or not all(one.in_project for one in guarding):
        return
    here = os.getcwd()
    above = Path(here).parents if client.reads_parents else []
    places = [evolve(guarding[0], root=str(folder)) for folder in (here, *above)]
    if any(client.is_there(one) or (plugins and _as_plugin(one)) for one in places):
        return
    root = guarding[0].root
    yield _fail(
        client.name,
        f"{client.shown} started in this folder ({here}) runs none of this project's hooks, so it compacts unguarded: "
        f"its settings are in {root}.",
        f"Run `holdfast install {client.name} --scope user` to guard every folder, or start it in {root}.",
    )


def _settings(client: Client, one: Where) -> Iterator[Check]:
    problems = list(_problems(client, one))
    again = f"Run `holdfast install {client.name}{'' if one.in_project else ' --scope user'}` again."
    for problem in problems:
        bad = _fail if problem.unguarded else _warn
        yield bad(client.name, problem.message, problem.next_step or again)
    if not problems:
        whose = "this project's" if one.in_project else "the user's own"
        trusted = " and trusted" if client.name == "codex" else ""
        yield _good(client.name, f"installed{trusted} in {whose} settings ({client.needed(one).places[0].shown})")


def _running(client: Client, beat: Beat | None, there: Sequence[Where], root: str, now: datetime) -> Check:
    """Whether the hooks run. Turns that the client recorded after the last heartbeat, or after the last change of the
    settings with the hooks, which may be older, were unguarded."""
    written = memo.last(client.name, root)
    installed = max((memo.changed(client.needed(one).places[0].path) for one in there), default=0.0)
    start = beat.at if beat else datetime.fromtimestamp(installed, UTC)
    if written is not None and start.timestamp() and written - start > _SILENCE:
        last = f"its hooks last ran {ago(beat.at, now)}" if beat else "its hooks have not run yet"
        message = f"{client.shown} was used {ago(written, now)}, but {last}."
        return _fail(client.name, message, "It ran without hooks. Check the cases listed below, then restart it.")
    if beat is None:
        return _warn(client.name, f"No {client.shown} hook has run yet.", "Start it, send a message, and check again.")
    return _good(client.name, f"its hooks run: {beat.event}, {ago(beat.at, now)}")


def _good(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.OK, message=message)


def _warn(name: str, message: str, next_step: str) -> Check:
    return Check(name=name, outcome=Outcome.WARN, message=message, next_step=next_step)


def _fail(name: str, message: str, next_step: str) -> Check:
    return Check(name=name, outcome=Outcome.FAIL, message=message, next_step=next_step)


# the settings' content


def _as_plugin(where: Where) -> bool:
    """Whether Claude Code has holdfast's plugin enabled there."""
    enabled = table(claude_code.CLIENT.needed(where).places[0].path).get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return any(name.startswith(f"{claude_code.PLUGIN}@") and on is True for name, on in names.items())


def _problems(client: Client, where: Where) -> Iterator[Problem]:
    """All problems of the client installed there."""
    if isinstance(client.needed(where).places[0].part, Hooks):
        try:
            yield from _hook_problems(client, where)
        except HoldfastError as error:
            yield Problem(f"{error.message} The client may not read it either.", next_step=error.next_step)
            return
    yield from client.problems(where)


def _hook_problems(client: Client, where: Where) -> Iterator[Problem]:
    """Whether the settings have the hooks as installed. Raises: ConfigError, Unavailable for unreadable ones."""
    place = client.needed(where).places[0]
    settings = jsontext.read(placing.read(place.path, place.shown) or "{}", place.shown)
    parts = []
    for words in program.KNOWN:
        part = cast("Hooks", client.needed(evolve(where, program=words)).places[0].part)
        own = {path: value for path, value in part.members.items() if path != part.server}
        parts.append(evolve(part, members=own, listed={}))  # without what users may take out
    gate = next(iter(parts[0].groups))
    groups = [group for _, group in ours(settings, client.name, gate)]
    is_gated = any(groups == [part.groups[gate]] for part in parts)
    is_gated &= all(at(settings, path) == value for path, value in parts[0].members.items())
    lacking = "so its hooks do not run"
    yield from stale(place, parts, lacking, unguarded=not is_gated, client=client.name)
