"""Asks the agent for its payload while it still has the context: after a prompt or a tool's result, and again once more
work has followed. Never twice for the same messages.

The context's size is the usage that the newest answer near the transcript's end reports. Only the last
:data:`TAIL_BYTES` are read, and the settings only when the context is rather full. Part of the hot path.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from holdfast.fs import durable, private, safeopen
from holdfast.journal.journal import file_stem
from holdfast.text import untrusted
from holdfast_agents import clientfiles, events
from holdfast_agents.events import Event
from holdfast_app.message_formats.leaves import BACKGROUND

#: Maximum bytes read from a transcript's end. An answer follows its tools' results, so its row is near the end.
TAIL_BYTES = 262_144
#: Share of the context window above which holdfast asks, see ``[session] ask_at``. Below LEAST_AT the settings are
#: not read.
DEFAULT_AT, LEAST_AT = 0.6, 0.3
#: Share of the window by which the context must have grown since the last question or statement. After a prompt there
#: is a new request, so less is enough.
_GROWN = {events.PROMPT: 0.05, events.TOOL: 0.15, events.STOP: 0.05}
#: Tokens of Claude Code's context windows. Its transcript does not name the window, see :func:`_claude_code_window`.
_USUAL_WINDOW, _LARGE_WINDOW = 200_000, 1_000_000
#: Share of the window at which Gemini CLI compacts, unless its settings name a smaller one.
_GEMINI_AT, _THRESHOLD = 0.5, ("model", "compressionThreshold")
#: Client -> what only a prompt's row has in its record, an answer's value at a path, and the path to the answer's text.
_ANSWERS = {
    "copilot": (b'"type":"user.message"', "assistant.message", ("type",), ("data", "content")),
    "kimi": (b'"type":"turn.prompt"', "content.part", ("event", "type"), ("event", "part", "text")),
    "droid": (b'"interactionMode"', "assistant", ("message", "role"), ("message", "content")),
}
_SETTINGS = (".claude/settings.local.json", ".claude/settings.json", "~/.claude/settings.json")
_MARKS = (b'"usage"', b'"token_count"', b'"compact_boundary"', b'"compacted"')
_WAIT_S = 1.0
#: Lines, because Claude Code refuses to run JSON in a here-document. Lines left as dots state nothing.
_LINES = """objective: ...
fact: ...
decision: ... because ...
rejected: ...: ...
rule: ...
blocker: ...
next step: ...
artifact: ...
"""


def question(event: Event, root: str, state: str) -> str:
    """The question for this event, mostly empty. Never raises, because it is a convenience."""
    try:
        return _question(event, root, state)
    except Exception:  # noqa: BLE001 - an event must not fail for this
        return ""


def _question(event: Event, root: str, state: str) -> str:
    use = None if event.failed or event.tool == BACKGROUND else _use(event)
    if use is None:
        return ""
    used, window, model = use
    path = mark(state, event.session)
    if not used or 2 * used < _asked_at(path):
        forget(state, event.session)
        return ""
    if _is_statement(event):
        _make(state, path, used)
        return ""
    if not window:
        if event.client != "claude-code" or used < LEAST_AT * _USUAL_WINDOW:
            return ""
        window = _claude_code_window(root, model, used)
    if used < LEAST_AT * window:
        return ""
    at, own_window, at_stop = _settings(root)
    window = own_window or window
    if event.kind == events.STOP:
        at = LEAST_AT if at_stop and not os.path.exists(f"{path}-at-stop") else 0
    if not at or used < at * window:
        return ""
    private.make(state, "agents")
    with private.lock(path, timeout_s=_WAIT_S):  # tools that ran in parallel end together
        asked_at = _asked_at(path)
        if asked_at and used < asked_at + _GROWN[event.kind] * window:
            return ""
        _make(state, path, used)
    if event.kind == events.STOP:
        _make(state, f"{path}-at-stop", used)
    from shlex import quote

    from holdfast_app import background

    background.after_turn(root, is_full=True)
    goal = "stop" if event.kind == events.STOP else "continue"
    return (
        f"holdfast: about {round(used, -3):,} tokens are in the context, so it may be compacted soon. While you still "
        f"have it, run this in the shell with what this conversation has of each (a line for each item, no item twice),"
        f" then {goal}:\n"
        f"{_program(event.client)} flush --session {quote(event.session)} --payload - <<'END'\n{_LINES}END"
    )


def is_far(path: str, folder: str) -> bool:
    """Whether Gemini CLI compacts only later than now, at a share of the window that its settings name."""
    files = (os.path.join(place, ".gemini/settings.json") for place in (folder, os.path.expanduser("~")))
    own = (clientfiles.at(clientfiles.table(file), _THRESHOLD) for file in files)
    at = min(_GEMINI_AT, *(share for share in own if isinstance(share, float | int)), 1)
    row = newest(path, b'"tokens":{')
    used = clientfiles.at(row, ("tokens", "total"))
    return isinstance(used, int) and str(row.get("model"))[:7] == "gemini-" and used < 0.8 * at * _LARGE_WINDOW


def recorded_answer(client: str, path: str, native: str) -> str:
    """The answer to the last prompt in the client's record, which is written with a delay: at ``path``, or for Kimi
    Code by the session's ``native`` id."""
    asked, answered, kind, where = _ANSWERS[client]
    if client == "kimi":
        import glob

        folder = os.path.join(glob.escape(clientfiles.own_folder(client)), "sessions", "*", glob.escape(native))
        path = next(glob.iglob(os.path.join(folder, "agents/main/wire.jsonl")), "")
    for _ in range(50):
        row = newest(path, asked, f'"{kind[-1]}":"{answered}"'.encode())
        answer = clientfiles.at(row, where) if clientfiles.at(row, kind) == answered else ""
        if isinstance(answer, list):
            answer = "\n".join(events.text(block, "text") for block in answer if isinstance(block, dict))
        if isinstance(answer, str) and answer.strip():
            return answer
        time.sleep(0.02)
    return ""


def newest(path: str, *marks: bytes) -> dict[str, object]:
    """The last row with one of ``marks`` near the end of a transcript. Empty when there is none."""
    with suppress(OSError, ValueError):
        return next(_newest(path, marks), {})
    return {}


def mark(state: str, session: str) -> str:
    """The file with the number of tokens at the last question or statement since the last compaction."""
    return os.path.join(state, "agents", f"{file_stem(session)}.asked")


def forget(state: str, session: str) -> None:
    """Remove the mark after a compaction, so that holdfast asks again when the context fills up."""
    with suppress(OSError):
        os.unlink(mark(state, session))


def _is_statement(event: Event) -> bool:
    """Whether the agent has just stated its payload, in the shell or with the MCP tool."""
    if event.kind != events.TOOL:
        return False
    called = f"{event.tool} {event.arguments}"
    return "holdfast" in called and "flush" in called and (event.session in called or "flush" in event.tool)


def _program(client: str) -> str:
    """The command that started this hook: its name, which Claude Code's settings allow, or its path, because Codex runs
    commands in a login shell with another PATH."""
    from holdfast_agents.setup import program

    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) not in program.PLAIN:
        return program.spelled(program.THIS)
    return program.spelled(program.PLAIN if client == "claude-code" else (started,))


def _settings(root: str) -> tuple[float, int, bool]:
    from holdfast_app.project_settings import resolved

    table = resolved.hot(root).get("session")
    table = table if isinstance(table, dict) else {}
    at, window = table.get("ask_at", DEFAULT_AT), table.get("context_window", 0)
    return float(at), int(window), table.get("ask_at_stop") is True


def _asked_at(path: str) -> int:
    """Tokens in the context at the last question or statement, 0 without one.

    A context of less than half that size was compacted or rewound, even if no hook saw it.
    """
    try:
        text = safeopen.read(path, 32)
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


def _make(state: str, path: str, used: int) -> None:
    private.make(state, "agents")
    durable.replace(path, str(used).encode(), flush=False)


def _use(event: Event) -> tuple[int, int, str] | None:
    """Tokens in the context, its window, and the model. None when the tokens are unknown. The window is 0 when the
    client does not report it. Tokens are 0 right after a compaction, when older usage no longer counts."""
    if event.tokens:
        return event.tokens, event.window, ""
    for row in _newest(event.transcripts[0]) if event.transcripts else ():
        if row.get("type") == "compacted" or row.get("subtype") == "compact_boundary":
            return 0, 0, ""
        use = _of_codex(row) if event.client == "codex" else _of_claude_code(row)
        if use is not None:
            return use
    return None


def _claude_code_window(root: str, model: str, used: int) -> int:
    """The window in tokens: the user's limit, or the large one for a model name with its suffix in the transcript, the
    environment or the client's settings, and for a context that is too large for the usual one."""
    limit = os.environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "")
    if limit.isdecimal() and int(limit):
        return int(limit)
    tables = (clientfiles.table(os.path.join(root, os.path.expanduser(name))) for name in _SETTINGS)
    set_model = next((name for table in tables if isinstance(name := table.get("model"), str)), "")
    names = (model, os.environ.get("ANTHROPIC_MODEL", ""), set_model)
    is_large = used > _USUAL_WINDOW or any(name.endswith("[1m]") for name in names)
    return _LARGE_WINDOW if is_large else _USUAL_WINDOW


def _of_claude_code(row: dict[str, object]) -> tuple[int, int, str] | None:
    message = row.get("message")
    if row.get("type") != "assistant" or row.get("isSidechain") is True or not isinstance(message, dict):
        return None
    usage = message.get("usage")
    if not isinstance(usage, dict) or message.get("model") == "<synthetic>":
        return None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(n for n in map(usage.get, names) if isinstance(n, int)), 0, str(message.get("model") or "")


def _of_codex(row: dict[str, object]) -> tuple[int, int, str] | None:
    at = clientfiles.at
    used = at(row, ("payload", "info", "last_token_usage", "total_tokens"))
    window = at(row, ("payload", "info", "model_context_window"))
    if at(row, ("payload", "type")) != "token_count":
        return None
    return (used, window, "") if isinstance(used, int) and isinstance(window, int) and window > 0 else None


def _newest(path: str, marks: tuple[bytes, ...] = _MARKS) -> Iterator[dict[str, object]]:
    """A transcript's last rows that may report usage or a compaction, the newest first."""
    with safeopen.reader(os.path.realpath(path), private=False) as file:
        begin = max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES)
        file.seek(begin)
        lines = file.read(TAIL_BYTES).split(b"\n")
    for line in reversed(lines[1:] if begin else lines):
        if any(mark in line for mark in marks):
            try:
                row = untrusted.from_json(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row
