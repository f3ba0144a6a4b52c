"""The hook protocols of Claude Code and Codex, with payloads and every answer's effect.

Source: observed with Claude Code 2.1.330 and 2.1.197. At PreCompact stdout is text for the summariser, and truncated
JSON counts as text. So a block is exit 2 with the reason on stderr, and allowing prints nothing. Elsewhere exit 0 and
one JSON object. Codex 0.169.0 sends nearly the same payloads. At PreCompact any exit code except 0, and any key except
``continue``, ``stopReason``, ``suppressOutput`` and ``systemMessage``, lets its compaction continue. So a block is exit
0 with exactly two keys.
"""

from __future__ import annotations

from holdfast_agents import events
from holdfast_agents.events import Answer, Dialect, Event, Reply, text
from holdfast_app.message_formats.leaves import BACKGROUND, background_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT = "claude-code"
GATED = (b'"PreCompact"',)
#: The installer asks for 60, 10, 20 and 30 seconds. A hook killed by the client allows the action.
LIMITS_S = {
    events.COMPACTING: 50.0,
    events.START: 17.0,
    events.PROMPT: 8.0,
    events.TOOL: 8.0,
    events.STOP: 8.0,
    events.COMPACTED: 17.0,
    events.END: 25.0,
    events.CONFIG: 8.0,
}
_OWN = ("/memory-update", "/holdfast", "$memory-update", "$holdfast")
_NAMES = {events.START: "SessionStart", events.PROMPT: "UserPromptSubmit", events.TOOL: "PostToolUse"}
_KINDS = {
    "SessionStart": events.START,
    "UserPromptSubmit": events.PROMPT,
    "PostToolUse": events.TOOL,
    "PostToolUseFailure": events.TOOL,
    "Stop": events.STOP,
    "SubagentStop": events.STOP,
    "PreCompact": events.COMPACTING,
    "PostCompact": events.COMPACTED,
    "SessionEnd": events.END,
    "ConfigChange": events.CONFIG,
}


def parse(payload: Mapping[str, object], client: str = CLIENT) -> Event:
    """The event in a payload. Kind ``other`` when its name is unknown or it is not part of the conversation."""
    name = text(payload, "hook_event_name")
    kind = _KINDS.get(name, events.OTHER)
    native, agent = text(payload, "session_id"), text(payload, "agent_id")
    if name == "SubagentStop" and not agent:
        kind = events.OTHER  # the summariser itself is a sub-agent without a name
    prompt = text(payload, "prompt")
    if kind == events.PROMPT and prompt.lstrip().startswith(_OWN):
        kind = events.OTHER  # a command for holdfast, not work
    event = Event(
        client=client,
        kind=kind,
        name=name,
        session=events.session_of(client, native, agent),
        native=native,
        agent=agent,
        cwd=text(payload, "cwd"),
        transcripts=_transcripts(payload, agent),
        source=text(payload, "source", "trigger", "reason"),
        key=text(payload, "prompt_id", "turn_id"),
        text=text(payload, "prompt", "last_assistant_message", "compact_summary"),
        tool=text(payload, "tool_name"),
        arguments=payload.get("tool_input"),
        output=payload.get("tool_response", payload.get("error")),
        call=text(payload, "tool_use_id"),
        failed=name == "PostToolUseFailure",
        path=text(payload, "file_path"),
        unsummarised=payload.get("compact_summary") == "",
    )
    result = background_result(prompt) if kind == events.PROMPT else None
    if result is None:
        return event
    # Sent like a prompt, but not by the user.
    return event._replace(kind=events.TOOL if result else events.OTHER, text="", tool=BACKGROUND, output=result)


def _transcripts(payload: Mapping[str, object], agent: str) -> tuple[str, ...]:
    """The conversation's transcripts. A sub-agent has its own file, or its rows are in the parent's."""
    path = text(payload, "transcript_path")
    stem, dot, suffix = path.rpartition(".")
    plain = agent.replace("-", "").replace("_", "").isalnum()
    own = f"{stem}/subagents/agent-{agent}.{suffix}" if agent and dot and plain else ""
    named = text(payload, "agent_transcript_path") if agent else ""
    return tuple(filter(None, (named, own, path)))


def answer(kind: str, reply: Reply) -> Answer:
    """A block is exit 2 with the reason on stderr. Otherwise JSON for the events that take it, or nothing."""
    if kind in (events.COMPACTING, events.CONFIG):
        return Answer(stderr=f"{reply.block}\n", code=2) if reply.block else Answer()
    if kind == events.END:  # stderr of a failed hook is shown at the end, by `claude -p` too, and changes nothing else
        return Answer(stderr=f"{reply.notice}\n", code=1) if reply.notice else Answer()
    return spoken(kind, reply)


def spoken(kind: str, reply: Reply) -> Answer:
    """The answer to SessionStart, UserPromptSubmit, PostToolUse and Stop. A block at Stop lets the agent continue with
    the reason. Codex understands the same."""
    output: dict[str, object] = {"decision": "block", "reason": reply.block} if reply.block else {}
    if reply.context and kind in _NAMES:
        output["hookSpecificOutput"] = {"hookEventName": _NAMES[kind], "additionalContext": reply.context}
    if reply.notice and kind in (*_NAMES, events.STOP):
        output["systemMessage"] = reply.notice
    return Answer(stdout=events.json_text(output)) if output else Answer()


def codex_event(payload: Mapping[str, object]) -> Event:
    """The event in Codex's payload, which has no change of settings."""
    event = parse(payload, "codex")
    return event._replace(kind=events.OTHER) if event.kind == events.CONFIG else event


def codex_answer(kind: str, reply: Reply) -> Answer:
    """A block is exit 0 with ``{"continue": false, "stopReason": ...}`` and nothing else."""
    if kind != events.COMPACTING:
        return spoken(kind, reply)
    block = {"continue": False, "stopReason": reply.block}
    return Answer(stdout=events.json_text(block)) if reply.block else Answer()


def dialect(client: str) -> Dialect:
    """The protocol of ``claude-code`` or ``codex``. Codex limits SessionEnd to 3 s, whatever its settings say."""
    if client == "codex":
        return Dialect(client, {**LIMITS_S, events.END: 2.6}, GATED, codex_event, codex_answer)
    return Dialect(client, LIMITS_S, GATED, parse, answer)
