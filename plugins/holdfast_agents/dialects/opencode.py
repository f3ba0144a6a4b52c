"""The protocol between opencode's plugin and ``holdfast hook opencode``: one process per event, JSON on stdin.

opencode has no command hooks. Its plugin (JavaScript, in this package) runs the command with this payload:

    {"event": EVENT, "sessionID": ID, "directory": FOLDER, ...}

| EVENT | sent from | more keys |
|---|---|---|
| ``start`` | the first ``chat.message`` of a session, or after a compaction | ``source``: startup, resume, compact |
| ``message`` | ``chat.message`` | ``messageID``, ``parts``: ``[{"id", "text"}]``, text only; ``tokens``, ``window`` |
| ``tool`` | ``tool.execute.after`` | ``tool``, ``callID``, ``args``, ``output`` (text), ``failed`` |
| ``idle`` | event ``session.idle`` | ``messages``; or ``parts`` of the last answer |
| ``compacting`` | ``experimental.session.compacting`` | ``messages`` |
| ``compacted`` | event ``session.compacted`` | ``messages``, or ``summary``: the summary's text |
| ``dispose`` | ``dispose`` | ``messages`` |

``tokens`` is the last answer's usage since a compaction, and ``window`` is the model's limit.

``messages`` is the ``data`` that ``client.session.messages`` returned, as an array or the path to a file with it
(one JSON array, or one message per line). It is always optional. At ``compacting`` without it, only the journal is
used, and if that is empty too, compaction is blocked.

| the process | means |
|---|---|
| exit 0 | allowed, or noted |
| any other exit, a signal, no process, no answer in time | at ``compacting``: **blocked**; elsewhere: ignore it |
| stdout | text for the system prompt (``start``: the brief; ``message``: a summary's losses, a request), else empty |
| stderr | at ``compacting`` the reason, for a toast and the error; elsewhere a notice for a toast, else empty |

The plugin's own time-out should be 60 s at ``compacting``. The process answers within 50 s. The event may be passed as
a second argument (``holdfast hook opencode compacting``), so that an unreadable payload is refused. Unknown keys and
events are ignored. The other clients' names and keys (``hook_event_name``, ``session_id``, ``transcript_path``) are
understood too.
"""

from __future__ import annotations

from holdfast_agents import events
from holdfast_agents.events import Answer, Dialect, Event, Reply, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT = "opencode"
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


def parse(payload: Mapping[str, object]) -> Event:
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
        client=CLIENT,
        kind=_KINDS.get(name, events.OTHER),
        name=name,
        session=events.session_of(CLIENT, native, agent),
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


DIALECT = Dialect(CLIENT, LIMITS_S, GATED, parse, answer)
