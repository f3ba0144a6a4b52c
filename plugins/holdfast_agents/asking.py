"""Asks the agent for its payload while it still has the context, in one sentence at a prompt, once per compaction.

The context's size is the usage that the newest answer near the transcript's end reports. Only the last
:data:`TAIL_BYTES` are read, and the settings only when the context is rather full. Part of the hot path.
"""

from __future__ import annotations

import os
import stat

from holdfast.fs import private, safeopen
from holdfast.journal.journal import file_stem
from holdfast.text import untrusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast_agents.events import Event

#: Maximum bytes read from a transcript's end. An answer follows its tools' results, so its row is near the end.
TAIL_BYTES = 262_144
#: Share of the context window above which holdfast asks, see ``[session] ask_at``. Below LEAST_AT the settings are
#: not read.
DEFAULT_AT, LEAST_AT = 0.7, 0.3
#: Tokens of Claude Code's context windows. Its transcript does not name the window, see :func:`_claude_code_window`.
_USUAL_WINDOW, _LARGE_WINDOW = 200_000, 1_000_000
#: Suffix of Claude Code's model names with the large window.
_LARGE_SUFFIX = "[1m]"
_SETTINGS = (".claude/settings.local.json", ".claude/settings.json", "~/.claude/settings.json")
_MARKS = (b'"usage"', b'"token_count"', b'"compact_boundary"', b'"compacted"')


def sentence(event: Event, root: str, state: str) -> str:
    """The sentence for this prompt, mostly empty. Never raises, because it is a convenience."""
    try:
        use = _use(event)
        if use is None:
            return ""
        used, window, model = use
        path = mark(state, event.session)
        if not used or 2 * used < _asked_at(path):
            forget(state, event.session)
            return ""
        is_certain = bool(window)
        if not is_certain:
            if event.client != "claude-code" or used < LEAST_AT * _USUAL_WINDOW:
                return ""
            window, is_certain = _claude_code_window(root, model, used)
        if used < LEAST_AT * window or os.path.exists(path):
            return ""
        at, own_window = _settings(root)
        share = used / (own_window or window)
        if not at or share < at:
            return ""
        _make(state, path, str(used))
    except Exception:  # noqa: BLE001 - a prompt must not fail for this
        return ""
    about = f"{round(used, -3):,} tokens are in the context"
    if is_certain or own_window:
        about = f"{min(99, share * 100):.0f} % of the context window is used"
    return (
        f"holdfast: about {about}, so it may be compacted soon. "
        "While you still have it, save the important parts with holdfast's MCP tool `flush` (objective, facts, "
        f"decisions, blockers, next step; session `{event.session}`), or with `/memory-update`. Then continue."
    )


def mark(state: str, session: str) -> str:
    """The file that marks an agent asked since the last compaction. It holds the number of tokens at that time."""
    return os.path.join(state, "agents", f"{file_stem(session)}.asked")


def forget(state: str, session: str) -> None:
    """Remove the mark after a compaction, so that holdfast asks again when the context fills up."""
    try:
        os.unlink(mark(state, session))
    except OSError:
        return


def _settings(root: str) -> tuple[float, int]:
    from holdfast.config import resolved

    table = resolved.hot(root).get("session")
    table = table if isinstance(table, dict) else {}
    at, window = table.get("ask_at", DEFAULT_AT), table.get("context_window", 0)
    return float(at), int(window)


def _asked_at(path: str) -> int:
    """Tokens in the context when holdfast asked the agent. 0 if it did not, or if an older release stored no number.

    A context of less than half that size was compacted or rewound, even if no hook saw it.
    """
    try:
        text = safeopen.read(path, 32)
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


def _make(state: str, path: str, text: str) -> None:
    private.make(state, os.path.basename(os.path.dirname(path)))
    fd = safeopen.open_fd(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


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


def _claude_code_window(root: str, model: str, used: int) -> tuple[int, bool]:
    """The window in tokens, and whether that is certain, due to the user's limit or a model name with the large suffix
    in the transcript, the environment or the client's settings."""
    limit = os.environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "")
    if limit.isdecimal() and int(limit):
        return int(limit), True
    names = (model, os.environ.get("ANTHROPIC_MODEL", ""), _model_in_settings(root))
    if any(name.endswith(_LARGE_SUFFIX) for name in names):
        return _LARGE_WINDOW, True
    return (_USUAL_WINDOW if used <= _USUAL_WINDOW else _LARGE_WINDOW), False


def _model_in_settings(root: str) -> str:
    """The model named in Claude Code's settings, or an empty string."""
    from holdfast_agents import clientfiles

    for name in _SETTINGS:
        model = clientfiles.table(os.path.join(root, os.path.expanduser(name))).get("model")
        if isinstance(model, str):
            return model
    return ""


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
    payload = row.get("payload")
    info = payload.get("info") if isinstance(payload, dict) and payload.get("type") == "token_count" else None
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(last, dict):
        return None
    used, window = last.get("total_tokens"), info.get("model_context_window")
    return (used, window, "") if isinstance(used, int) and isinstance(window, int) and window > 0 else None


def _newest(path: str) -> Iterator[dict[str, object]]:
    """A transcript's last rows that may report usage or a compaction, the newest first."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return
        begin = max(0, status.st_size - TAIL_BYTES)
        file.seek(begin)
        lines = file.read(TAIL_BYTES).split(b"\n")
    for line in reversed(lines[1:] if begin else lines):
        if any(mark in line for mark in _MARKS):
            try:
                row = untrusted.from_json(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row
