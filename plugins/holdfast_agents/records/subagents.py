"""Finds the sub-agent whose context a compaction drops, where the client does not name it.

Claude Code 2.1.197 sends a sub-agent's ``agent_id`` with its tool events but not with its PreCompact, nor with the
SessionStart and PostCompact that follow. All three look like the parent's. Source: observed. A sub-agent runs inside a
tool call of its parent, which waits for it. Next to each sub-agent's transcript, ``agent-ID.meta.json`` names the call.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.text import untrusted
from holdfast_agents import events

if TYPE_CHECKING:
    from holdfast_agents.events import Event


def running(event: Event) -> list[Event]:
    """``event`` once for each sub-agent whose call has no result in any transcript yet, the last to write first.

    Empty for an event that names its agent, and for a client without such files.
    """
    path = next(iter(event.transcripts), "")
    folder = os.path.join(path.rpartition(".")[0], "subagents")
    if event.agent or event.client != "claude-code" or not path:
        return []
    try:
        files = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".meta.json")]
    except (OSError, ValueError):  # usually the folder is missing
        return []
    calls = {file.removesuffix(".meta.json"): _call(file) for file in files}
    transcripts = [path, *(f"{stem}.jsonl" for stem in calls)]
    answered = {call for file in transcripts for call in _answered(file, {c for c in calls.values() if c})}
    found = [stem for stem, call in calls.items() if call and call not in answered]
    return [_of(event, stem) for stem in sorted(found, key=lambda stem: _changed(f"{stem}.jsonl"), reverse=True)]


def owner(event: Event) -> Event:
    """``event`` as a sub-agent's when one is running and wrote after its parent, which waits for it. Otherwise
    ``event``."""
    for one in running(event):
        own, parent = one.transcripts
        return one if _changed(own) >= _changed(parent) else event
    return event


def _of(event: Event, stem: str) -> Event:
    agent = os.path.basename(stem).removeprefix("agent-")
    return event._replace(
        agent=agent,
        session=events.session_of(event.client, event.native, agent),
        transcripts=(f"{stem}.jsonl", event.transcripts[0]),
    )


def _call(path: str) -> str:
    """Id of the call that started the sub-agent, or an empty string."""
    try:
        with open(path, encoding="utf-8") as file:
            told = untrusted.from_json(file.read())
    except (OSError, ValueError):
        return ""
    call = told.get("toolUseId") if isinstance(told, dict) else None
    return call if isinstance(call, str) else ""


def _answered(path: str, calls: set[str]) -> set[str]:
    """Those of ``calls`` that have a result in a transcript."""
    found: set[str] = set()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if '"tool_result"' in line:
                    found |= {call for call in calls if f'"{call}"' in line}
    except OSError:
        return found
    return found


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
