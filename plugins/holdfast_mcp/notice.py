"""Whether something guards this client's compaction, and what to say when nothing does.

MCP has no event for compaction, so a server cannot hold it back. A client's hooks can, and they leave a sign whenever
they run (:mod:`holdfast_agents.records.heartbeat`); their silence is told with every reply.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from holdfast_agents.records.heartbeat import Beat, beats

#: A client starts this server when a session begins. Its hooks may have begun to run somewhat before.
_BEFORE: Final = timedelta(hours=1)


def hook_client(name: str) -> str:
    """The client of ours behind the name that a client gives itself in MCP; empty when we have no hooks for it."""
    return next((known for known in ("claude-code", "opencode", "codex") if known in name.casefold()), "")


def latest(state: str, client: str, started: datetime) -> Beat | None:
    """The last sign of this client's hooks, unless it is from before this server's session."""
    ours = hook_client(client)
    return next((b for b in beats(state) if b.client == ours and b.at >= started - _BEFORE), None)


def unguarded(client: str) -> str:
    """The notice for a client whose hooks gave no sign."""
    ours = hook_client(client)
    how = (
        f"To have it enforced: `holdfast install {ours}`, then `holdfast doctor`."
        if ours
        else "There are no hooks for this client, so nothing can enforce it."
    )
    return (
        "Notice: no hook of this client was seen in this project during this session. MCP cannot hold a compaction "
        f"back, so call `flush` yourself before context is compacted, cleared or handed over. {how}"
    )
