"""A stand-in for each program: an executable that answers in the program's own format, as its file ``mode`` says.

The formats are those of recorded runs of Claude Code 2.1.330, Codex CLI 0.169.0, opencode 1.18.33 and Gemini CLI
0.61.0; the text is made up. What it was given is in ``seen.jsonl``.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ANSWER = {
    "facts": [{"content": "Always uses pytest -q", "category": "preference", "confidence": 0.95}],
    "profile": {"work": "Builds a payment service."},
    "summary": "Agreed on pytest.",
    "decisions": ["Tests run with pytest -q"],
    "rejected": [{"what": "nose", "why": "it is not maintained"}],
}
#: program -> what it says when it fails so, and the exit status. Recorded.
FAILURES: dict[str, dict[str, tuple[str, int | None, int]]] = {
    "claude": {
        "logged out": ("Not logged in · Please run /login", None, 1),
        "over quota": ("API Error: Request rejected (429) · This request would exceed your rate limit", 429, 1),
        "unknown model": ("There's an issue with the selected model (nope). It may not exist.", 404, 1),
        "busy": ("API Error: 529 Overloaded. This is a server-side issue, usually temporary", 529, 1),
    },
    "codex": {
        "logged out": ("unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1/v1/responses", None, 1),
        "over quota": ("You\u2019ve hit your usage limit. Try again later.", None, 1),
        "unknown model": ("unexpected status 404 Not Found: model not found", None, 1),
        "busy": ("We\u2019re currently experiencing high demand, which may cause temporary errors.", None, 1),
    },
    "opencode": {
        "logged out": ("bad key", 401, 1),
        "over quota": ("rate limited", 429, 1),
        "unknown model": ("model not found", 404, 1),
        "busy": ("boom", 500, 1),
    },
    "gemini": {
        "logged out": ("When using Gemini API, you must specify the GEMINI_API_KEY environment variable.", None, 41),
        "over quota": ("You exceeded your current quota", None, 1),
        "unknown model": ("models/nope is not found for API version", None, 1),
        "busy": ("The model returned an empty response with no text or thoughts.", None, 1),
    },
}


def make(folder: Path, program: str, mode: str = "good") -> Path:
    """Put the program ``program`` into ``folder``; :func:`set_mode` changes how it answers."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / program
    script = Path(__file__).resolve()
    run = f"exec(compile(open({str(script)!r}).read(), 'standin', 'exec'), {{'__name__': '__main__'}})"
    path.write_text(f"#!{sys.executable} -I\n{run}\n")
    path.chmod(0o755)
    set_mode(folder, mode)
    return path


def set_mode(folder: Path, mode: str) -> None:
    """How the programs in ``folder`` answer from now on."""
    (folder / "mode").write_text(mode)


def seen(folder: Path) -> list[dict[str, Any]]:
    """What the programs in ``folder`` were given, a row for each run."""
    path = folder / "seen.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def claude(text: str, status: int | None = None, *, failed: bool = False) -> str:
    row = {
        "type": "result",
        "subtype": "success",
        "is_error": failed,
        "api_error_status": status,
        "result": text,
        "stop_reason": "end_turn",
    }
    usage = {"input_tokens": 21, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 200}
    return json.dumps({**row, "usage": {**usage, "output_tokens": 12}})


def codex(text: str, status: int | None = None, *, failed: bool = False) -> str:
    del status
    rows: list[dict[str, Any]] = [
        {"type": "thread.started", "thread_id": "01a20416-9a60-7121-91ea-bc0cdc05ad0c"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Model metadata not found."}},
        {"type": "turn.started"},
    ]
    if failed:
        rows += [{"type": "error", "message": text}, {"type": "turn.failed", "error": {"message": text}}]
    else:
        rows += [
            {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}},
            {"type": "turn.completed", "usage": {"input_tokens": 321, "output_tokens": 12}},
        ]
    return "\n".join(map(json.dumps, rows))


def opencode(text: str, status: int | None = None, *, failed: bool = False) -> str:
    if failed:
        data = {"message": text, "statusCode": status, "isRetryable": False}
        return json.dumps({"type": "error", "sessionID": "ses_1", "error": {"name": "APIError", "data": data}})
    tokens = {"total": 333, "input": 321, "output": 12, "reasoning": 0, "cache": {"write": 0, "read": 0}}
    half = len(text) // 2  # a text may come in several parts
    rows: list[dict[str, Any]] = [
        {"type": "step_start", "sessionID": "ses_1", "part": {"type": "step-start"}},
        {"type": "text", "sessionID": "ses_1", "part": {"type": "text", "text": text[:half]}},
        {"type": "text", "sessionID": "ses_1", "part": {"type": "text", "text": text[half:]}},
        {"type": "step_finish", "part": {"type": "step-finish", "reason": "stop", "tokens": tokens}},
    ]
    return "\n".join(map(json.dumps, rows))


def gemini(text: str, status: int | None = None, *, failed: bool = False) -> str:
    del status
    if failed:
        return "Warning: colours\n" + json.dumps(
            {"session_id": "s", "error": {"type": "Error", "message": text, "code": 1}}, indent=2
        )
    models = {"gemini-pro": {"tokens": {"input": 321, "prompt": 321, "candidates": 12, "total": 333}}}
    return json.dumps({"session_id": "s", "response": text, "stats": {"models": models}}, indent=2)


def _main() -> None:
    path = Path(sys.argv[0])
    folder, program = path.parent, path.name
    mode = (folder / "mode").read_text()
    if sys.argv[1:] == ["debug", "config"]:
        print(json.dumps({"model": "fake/model", "mcp": {"notes": {"type": "local", "enabled": True}}}, indent=2))
        return
    text = "" if mode == "exit 1" else sys.stdin.read()
    here = Path.cwd()
    row = {
        "program": program,
        "argv": sys.argv[1:],
        "env": dict(os.environ),
        "stdin": text,
        "cwd": str(here),
        "mode": oct(here.stat().st_mode & 0o777),
        "files": {str(p.relative_to(here)): p.read_text() for p in here.rglob("*") if p.is_file()},
    }
    with open(folder / "seen.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    say = {"claude": claude, "codex": codex, "opencode": opencode, "gemini": gemini}[program]
    if mode == "good":
        print(say(json.dumps(ANSWER)))
    elif mode == "exit 1":
        print("error: unknown option '--nonsense'; the user said pytest", file=sys.stderr)
        sys.exit(1)
    elif mode == "hang":
        import subprocess

        child = subprocess.Popen(["sleep", "600"])
        (folder / "child").write_text(str(child.pid))
        child.wait()
    else:
        said, status, code = FAILURES[program][mode]
        print(say(said, status, failed=True), file=sys.stderr if program == "gemini" else sys.stdout)
        sys.exit(code)


if __name__ == "__main__":
    _main()
