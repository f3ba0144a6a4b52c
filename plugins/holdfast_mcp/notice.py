"""Whether hooks guard this client's compaction, and the notice for a client without them.

MCP has no event for compaction, so a server cannot block it. A client's hooks can, and they leave a heartbeat whenever
they run (:mod:`holdfast_agents.records.heartbeat`). A missing heartbeat is reported with each reply.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from holdfast_agents.records.heartbeat import Beat, beats

#: A client starts this server when a session begins. Its hooks may have run shortly before.
_BEFORE: Final = timedelta(hours=1)


def hook_client(name: str) -> str:
    """The supported client that a client's MCP name refers to. Empty if holdfast has no hooks for it."""
    return next((known for known in ("claude-code", "opencode", "codex") if known in name.casefold()), "")


def latest(state: str, client: str, started: datetime) -> Beat | None:
    """The last heartbeat of this client's hooks, unless it is from before this server's session."""
    ours = hook_client(client)
    return next((b for b in beats(state) if b.client == ours and b.at >= started - _BEFORE), None)


def unguarded(client: str) -> str:
    """The notice for a client without a heartbeat."""
    ours = hook_client(client)
    how = (
        f"To have it enforced, run `holdfast install {ours}`, then `holdfast doctor`."
        if ours
        else "holdfast has no hooks for this client, so nothing can enforce it."
    )
    return (
        "Notice: no hook from this client was seen in this project during this session. MCP cannot block a compaction, "
        f"so call `flush` yourself before context is compacted, cleared or handed over. {how}"
    )
