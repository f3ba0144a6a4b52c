"""The protocol between a client's plugin and ``holdfast hook CLIENT``: one process per event, JSON on stdin.

opencode, Kilo and pi have no command hooks. A plugin (JavaScript, in this package) runs the command with
``{"event": EVENT, "sessionID": ID, "directory": FOLDER, ...}``:

| EVENT | more keys |
|---|---|
| ``start`` | ``source``: startup, resume, compact |
| ``message`` | ``messageID``, ``parts``: ``[{"id", "text"}]``; ``tokens`` and ``window`` of the context |
| ``tool`` | ``tool``, ``callID``, ``args``, ``output`` (text), ``failed`` |
| ``idle`` | ``messages``, or ``parts`` of the last answer |
| ``compacting``, ``compacted``, ``dispose`` | ``messages``; after a compaction also ``summary``, its text |

``messages`` is the conversation as opencode's server or pi's session has it, an array or the path to a file with it. It
is always optional. Unknown keys and events are ignored; the other clients' names and keys are understood too.

Exit 0 allows a compaction, and everything else blocks it: another exit, a signal, no answer in time. The process
answers within 50 s, the plugin waits for 60 s. Elsewhere a failure is ignored. stdout is text for the system prompt,
stderr the reason or a notice for a toast.
"""

from __future__ import annotations

from holdfast_agents import events
from holdfast_agents.events import Answer, Dialect, Event, Reply, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

GATED = (b'"compacting"', b'"PreCompact"')
LIMITS_S = {
    events.COMPACTING: 50.0,
    events.START: 20.0,
    events.PROMPT: 10.0,
    events.TOOL: 10.0,
    events.STOP: 10.0,
    events.COMPACTED: 20.0,
    events.END: 20.0,
}

_KINDS = {
    "start": events.START,
    "message": events.PROMPT,
    "tool": events.TOOL,
    "idle": events.STOP,
    "compacting": events.COMPACTING,
    "compacted": events.COMPACTED,
    "dispose": events.END,
    "SessionStart": events.START,
    "UserPromptSubmit": events.PROMPT,
    "PostToolUse": events.TOOL,
    "Stop": events.STOP,
    "PreCompact": events.COMPACTING,
    "PostCompact": events.COMPACTED,
    "SessionEnd": events.END,
}


def parse(payload: Mapping[str, object], client: str = "opencode") -> Event:
    """The event in a payload. Kind ``other`` when its name is unknown."""
    name = text(payload, "event", "hook_event_name")
    native, agent = text(payload, "sessionID", "session_id"), text(payload, "agentID", "agent_id")
    given = payload.get("messages")
    parts = tuple(
        (text(part, "id"), text(part, "text"))
        for part in _list(payload.get("parts"))
        if isinstance(part, dict) and text(part, "text")
    )
    return Event(
        client=client,
        kind=_KINDS.get(name, events.OTHER),
        name=name,
        session=events.session_of(client, native, agent),
        native=native,
        agent=agent,
        cwd=text(payload, "directory", "cwd"),
        transcripts=tuple(filter(None, [given if isinstance(given, str) else text(payload, "transcript_path")])),
        source=text(payload, "source", "trigger", "reason"),
        key=text(payload, "messageID", "messageId", "message_id"),
        text=text(payload, "summary", "compact_summary", "text", "prompt", "last_assistant_message"),
        tool=text(payload, "tool", "tool_name"),
        arguments=payload.get("args", payload.get("tool_input")),
        output=payload.get("output", payload.get("tool_response")),
        call=text(payload, "callID", "tool_use_id"),
        failed=payload.get("failed") is True,
        parts=parts,
        messages=tuple(_list(given)),
        tokens=_number(payload.get("tokens")),
        window=_number(payload.get("window")),
    )


def answer(kind: str, reply: Reply) -> Answer:
    """A block is exit 2 with the reason on stderr. Otherwise text for the model on stdout, for the user on stderr."""
    if kind == events.COMPACTING:
        return Answer(stderr=f"{reply.block}\n", code=2) if reply.block else Answer()
    return Answer(stdout=reply.context and f"{reply.context}\n", stderr=reply.notice and f"{reply.notice}\n")


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def dialect(client: str) -> Dialect:
    """The protocol, for the sessions of ``client``."""
    return Dialect(client, LIMITS_S, GATED, lambda payload: parse(payload, client), answer)
