"""The clients' hook protocols, with payloads and every answer's effect.

Source: observed with Claude Code 2.1.330 and 2.1.197. At PreCompact stdout is text for the summariser, and truncated
JSON counts as text. So a block is exit 2 with the reason on stderr, and allowing prints nothing. Elsewhere exit 0 and
one JSON object. Codex 0.169.0 sends nearly the same payloads. At PreCompact any exit code except 0, and any key except
``continue``, ``stopReason``, ``suppressOutput`` and ``systemMessage``, lets its compaction continue. So a block is exit
0 with exactly two keys.

opencode, Kilo and pi have no command hooks. A plugin (JavaScript, in this package) runs the command with ``{"event":
EVENT, "sessionID": ID, "directory": FOLDER, ...}``, see :func:`parse`. ``messages`` is the conversation as
opencode's server or pi's session has it, an array or the path to a file with it, and always optional. Unknown keys and
events are ignored. Exit 0 allows a compaction, and everything else blocks it. The process answers within 50 s, the
plugin waits for 60 s. Elsewhere stdout is text for the system prompt, stderr the reason or a notice for a toast.
"""

from collections.abc import Mapping
from typing import NamedTuple

from holdfast_agents import asking, events
from holdfast_agents.events import UNSTOPPABLE, Answer, Event, Reply, text
from holdfast_app.message_formats.leaves import BACKGROUND, as_typed, background_result

#: Clients whose plugin in JavaScript runs the command.
_PLUGINS = ("opencode", "kilo", "pi")
#: The installer asks for 60, 10, 20 and 30 seconds. A hook killed by the client allows the action.
_LIMITS_S = {
    events.COMPACTING: 50.0, events.START: 17.0, events.PROMPT: 8.0, events.TOOL: 8.0, events.STOP: 8.0,
    events.COMPACTED: 17.0, events.END: 25.0, events.CONFIG: 8.0,
}  # fmt: skip
_OWN = ("/memory-update", "/holdfast", "$memory-update", "$holdfast")
_NAMES = {events.START: "SessionStart", events.PROMPT: "UserPromptSubmit", events.TOOL: "PostToolUse"}
_KINDS = {
    "SessionStart": events.START, "UserPromptSubmit": events.PROMPT, "PostToolUse": events.TOOL,
    "PostToolUseFailure": events.TOOL, "Stop": events.STOP, "SubagentStop": events.STOP,
    "PreCompact": events.COMPACTING, "PostCompact": events.COMPACTED, "SessionEnd": events.END,
    "ConfigChange": events.CONFIG, "start": events.START, "message": events.PROMPT, "tool": events.TOOL,
    "idle": events.STOP, "compacting": events.COMPACTING, "compacted": events.COMPACTED, "dispose": events.END,
}  # fmt: skip
#: Where the clients' events have words, and a tool's result.
_WORDS = ("prompt", "last_assistant_message", "prompt_response", "compact_summary", "summary", "text")
_RESULTS = ("tool_response", "tool_result", "tool_output", "output", "error")


def limit_s(client: str, kind: str) -> float:
    """The seconds that ``client`` allows, less the time to answer. Codex limits SessionEnd to 3 s, against its
    settings."""
    if kind == events.END and client in ("codex", *_PLUGINS):
        return 2.6 if client == "codex" else 20.0
    return _LIMITS_S.get(kind, 5.0)


def is_gated(client: str, raw: bytes) -> bool:
    """Whether an unreadable payload has what only a compaction's has."""
    marks = (b'"PreCompact"', b'"PreCompress"')
    return any(mark in raw for mark in ((*marks, b'"compacting"') if client in _PLUGINS else marks))


def event_in(payload: Mapping[str, object], client: str) -> Event:
    """The event in a payload. Never raises: missing fields and those of a wrong type are left empty, and an unknown
    event's kind is OTHER."""
    return _shaped_event(payload, client) if client in SHAPES else parse(payload, client)


def answer_of(client: str, kind: str, reply: Reply) -> Answer:
    """``reply`` to a kind of event in the client's form."""
    if client in SHAPES:
        return _shaped_answer(client, kind, reply)
    if client in _PLUGINS and kind != events.COMPACTING:  # for the model on stdout, for the user on stderr
        return Answer(stdout=reply.context and f"{reply.context}\n", stderr=reply.notice and f"{reply.notice}\n")
    if client != "codex":
        return _answer(kind, reply)
    if kind == events.COMPACTING and reply.block:  # with any other key the compaction would continue
        return Answer(stdout=events.json_text({"continue": False, "stopReason": reply.block}))
    return Answer() if kind == events.COMPACTING else _spoken(kind, reply)


def parse(payload: Mapping[str, object], client: str = "claude-code") -> Event:
    """The event in Claude Code's form, or that of our plugins. Kind ``other`` when it is not part of the
    conversation."""
    name = text(payload, "hook_event_name", "event")
    kind = _KINDS.get(name, events.OTHER)
    native, agent = text(payload, "session_id", "sessionID"), text(payload, "agent_id", "agentID")
    if name == "SubagentStop" and not agent:
        kind = events.OTHER  # the summariser itself is a sub-agent without a name
    prompt = text(payload, "prompt")
    if kind == events.PROMPT and prompt.lstrip().startswith(_OWN):
        kind = events.OTHER  # a command for holdfast, not work
    parts = [part for part in _list(payload.get("parts")) if isinstance(part, dict)]
    typed = as_typed if kind == events.PROMPT and client != "pi" else str
    event = Event(
        client=client,
        kind=kind,
        name=name,
        session=events.session_of(client, native, agent),
        native=native,
        agent=agent,
        cwd=text(payload, "cwd", "directory"),
        transcripts=_transcripts(payload, agent),
        source=text(payload, "source", "trigger", "reason"),
        key=text(payload, "prompt_id", "turn_id", "message_id", "messageID", "messageId"),
        text=text(payload, *_WORDS),
        tool=text(payload, "tool_name", "tool"),
        arguments=payload.get("tool_input", payload.get("args")),
        output=next((value for value in map(payload.get, _RESULTS) if value is not None), None),
        call=text(payload, "tool_use_id", "tool_call_id", "callID"),
        failed=name == "PostToolUseFailure" or payload.get("failed") is True,
        path=text(payload, "file_path"),
        unsummarised=payload.get("compact_summary") == "",
        answers=payload.get("answers") is True,
        parts=tuple((text(part, "id"), typed(text(part, "text"))) for part in parts if text(part, "text")),
        messages=tuple(_list(payload.get("messages"))),
        tokens=_number(payload.get("tokens")),
        window=_number(payload.get("window")),
    )
    result = background_result(prompt) if kind == events.PROMPT else None
    if result is None:
        return event
    # Sent like a prompt, but not by the user.
    return event._replace(kind=events.TOOL if result else events.OTHER, text="", tool=BACKGROUND, output=result)


def _transcripts(payload: Mapping[str, object], agent: str) -> tuple[str, ...]:
    """The conversation's transcripts. A sub-agent has its own file, or its rows are in the parent's."""
    path = text(payload, "messages", "transcript_path")
    stem, dot, suffix = path.rpartition(".")
    plain = agent.replace("-", "").replace("_", "").isalnum()
    own = f"{stem}/subagents/agent-{agent}.{suffix}" if agent and dot and plain else ""
    return tuple(filter(None, (text(payload, "agent_transcript_path") if agent else "", own, path)))


def _answer(kind: str, reply: Reply) -> Answer:
    """A block is exit 2 with the reason on stderr. Otherwise JSON for the events that take it, or nothing."""
    if kind in (events.COMPACTING, events.CONFIG):
        return Answer(stderr=f"{reply.block}\n", code=2) if reply.block else Answer(stdout=reply.context)
    if kind == events.END:  # stderr of a failed hook is shown at the end, by `claude -p` too, and changes nothing else
        return Answer(stderr=f"{reply.notice}\n", code=1) if reply.notice else Answer()
    return _spoken(kind, reply)


def _spoken(kind: str, reply: Reply) -> Answer:
    """The answer to SessionStart, UserPromptSubmit, PostToolUse and Stop. A block at Stop lets the agent continue with
    the reason. Codex understands the same."""
    output: dict[str, object] = {"decision": "block", "reason": reply.block} if reply.block else {}
    if reply.context and kind in _NAMES:
        output["hookSpecificOutput"] = {"hookEventName": _NAMES[kind], "additionalContext": reply.context}
    if reply.notice and kind in (*_NAMES, events.STOP):
        output["systemMessage"] = reply.notice
    return Answer(stdout=events.json_text(output)) if output else Answer()


class Shape(NamedTuple):
    """A client with command hooks in Claude Code's form. ``names`` maps its events to Claude Code's. ``key``: the
    answer is only the text for the model, under this key. ``second``: as in its time limits."""

    names: Mapping[str, str] = {}
    key: str = ""
    second: int = 1


_GEMINI = {
    "BeforeAgent": "UserPromptSubmit", "AfterTool": "PostToolUse", "AfterAgent": "Stop", "PreCompress": "PreCompact"
}  # fmt: skip
SHAPES = {
    "deepagents": Shape(),
    "qwen": Shape(),
    "gemini": Shape(names=_GEMINI, second=1000),
    "copilot": Shape(key="additionalContext"),
    "kimi": Shape(key="message"),
    "droid": Shape(),
}


def _shaped_event(payload: Mapping[str, object], client: str) -> Event:
    """The event in the payload of a client in :data:`SHAPES`. A sub-agent's compaction saves its parent."""
    name, prompt = text(payload, "hook_event_name"), text(payload, "prompt")
    prompt = prompt or "\n".join(text(part, "text") for part in _list(payload.get("prompt")) if isinstance(part, dict))
    if prompt.startswith("<hook_context>"):  # Gemini CLI puts the brief before the prompt
        prompt = prompt.partition("</hook_context>")[2].lstrip()
    own = {
        "hook_event_name": SHAPES[client].names.get(name, name),
        "prompt": prompt if name in ("UserPromptSubmit", "BeforeAgent") else "",
    }
    event, path = parse({**payload, **own}, client), text(payload, "transcript_path")
    if event.agent and event.kind in (events.COMPACTING, events.COMPACTED):
        event = event._replace(agent="", session=events.session_of(client, event.native))
    if name == "PreCompress" and event.source == "auto":  # sent at every model call
        event = event._replace(kind=events.OTHER) if asking.is_far(path, event.cwd) else event
    if event.kind == events.STOP and client in ("copilot", "kimi", "droid"):
        event = event._replace(text=asking.recorded_answer(client, path, event.native))
    return event._replace(transcripts=())


def _shaped_answer(client: str, kind: str, reply: Reply) -> Answer:
    """The answer in Claude Code's form, as far as the client heeds it."""
    shape = SHAPES[client]
    if kind == events.COMPACTING and client in UNSTOPPABLE:
        return Answer(stdout=events.json_text({"systemMessage": reply.block})) if reply.block else Answer()
    if shape.key and kind in _NAMES:
        message = "\n\n".join(filter(None, (reply.notice if client == "kimi" else "", reply.context)))
        return Answer(stdout=events.json_text({shape.key: message})) if message else Answer()
    return _answer(kind, reply)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
