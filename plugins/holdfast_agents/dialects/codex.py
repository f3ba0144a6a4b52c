"""Codex's hook protocol. Payloads are nearly Claude Code's, but answers are not.

Source: observed with 0.169.0. At PreCompact any exit code except 0, and any key except ``continue``, ``stopReason``,
``suppressOutput`` and ``systemMessage``, lets the compaction continue. So a block is exit 0 with exactly two keys.
"""

from __future__ import annotations

from holdfast_agents import events
from holdfast_agents.dialects import claude_code
from holdfast_agents.events import Answer, Dialect, Event, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT = "codex"
#: Codex limits SessionEnd to 3 s, whatever its settings say.
LIMITS_S = {**claude_code.LIMITS_S, events.END: 2.6}


def parse(payload: Mapping[str, object]) -> Event:
    """The event in a payload. Kind ``other`` when its name is unknown."""
    event = claude_code.parse(payload, CLIENT)
    return event._replace(kind=events.OTHER) if event.kind == events.CONFIG else event


def answer(kind: str, reply: Reply) -> Answer:
    """A block is exit 0 with ``{"continue": false, "stopReason": ...}`` and nothing else."""
    if kind == events.COMPACTING:
        if not reply.block:
            return Answer()
        return Answer(stdout=events.json_text({"continue": False, "stopReason": reply.block}))
    return claude_code.spoken(kind, reply)


DIALECT = Dialect(CLIENT, LIMITS_S, claude_code.GATED, parse, answer)
