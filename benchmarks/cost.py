"""What the promise costs: recorded sessions replayed through ``holdfast hook``: `python benchmarks/cost.py FILE...`.

Each transcript (Claude Code, Codex, opencode) is replayed in a new project with the defaults, event by event as its
client would have sent it: the start, prompts, tool results, the ends of turns, and each recorded compaction with its
start after it. The figures are those of ``holdfast status --cost``: flushes refused although nothing was wrong, tokens
given to the model, and their share of the session's contexts: the tokens that the client recorded as sent with the
last request before each compaction, or a quarter of the messages' characters where it records none. Repeated requests
do not count, so the share of what was paid for is lower. Aims: no refusal, 2 %.
Each event is a fork of this process, so its seconds lack the start of Python; ``benchmarks/hooks.py`` has those.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast_agents import hook
from holdfast_app.message_formats.reading import Transcript
from holdfast_app.transcripts import read

AIM = 0.02
#: One request's tokens, as Claude Code and Codex record them.
_USAGE = re.compile(
    r'"usage":\s*\{"input_tokens":\s*\d+,\s*"cache_creation_input_tokens":\s*\d+,\s*"cache_read_input_tokens":\s*\d+'
    r'|"last_token_usage":\s*\{"input_tokens":\s*\d+'
)
Payload = dict[str, Any]


def events(said: Transcript, common: Payload) -> Iterator[Payload]:
    """The events of a session, in order."""
    yield {"hook_event_name": "SessionStart", "source": "startup"}
    answer, call = "", ""
    for one in said.kept:
        if one.role == "user" or (one.role, one.tool) == ("system", "summary"):
            if answer:
                yield {"hook_event_name": "Stop", "last_assistant_message": answer}
            answer = ""
        if one.role == "user":
            yield {"hook_event_name": "UserPromptSubmit", "prompt": one.text}
        elif one.role == "assistant" and one.tool:
            call = one.text
        elif one.role == "assistant":
            answer = one.text
        elif one.role == "tool":
            result = {"tool_input": {"command": call}, "tool_response": {"stdout": one.text}}
            yield {"hook_event_name": "PostToolUse", "tool_name": one.tool or "Bash", **result}
        elif one.tool == "summary":
            yield {"hook_event_name": "PreCompact", "trigger": "auto"}
            yield {"hook_event_name": "PostCompact", "trigger": "auto", "compact_summary": one.text}
            yield {"hook_event_name": "SessionStart", "source": "compact"}
    if answer:
        yield {"hook_event_name": "Stop", "last_assistant_message": answer}
    yield {"hook_event_name": "SessionEnd", "reason": "exit"}


def contexts(path: Path) -> int:
    """The recorded tokens of the session's contexts; 0 when the client records none. A context that shrank to half was
    compacted."""
    total = most = 0
    for found in _USAGE.finditer(path.read_text(encoding="utf-8", errors="replace")):
        tokens = sum(map(int, re.findall(r":\s*(\d+)", found[0])))
        if tokens * 2 < most:
            total, most = total + most, 0
        most = max(most, tokens)
    return total + most


def send(payload: Payload, project: Path) -> int:
    """Run the hook for one event, in a process of its own. Its exit code is not 0 when it blocks a compaction."""
    given, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.dup2(given, 0)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        sys.stdin = os.fdopen(0)
        os.chdir(project)
        hook.quick(["claude-code"], None)
        os._exit(1)
    os.close(given)
    with os.fdopen(write, "wb") as pipe:
        pipe.write(json.dumps(payload).encode())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def replay(path: Path, project: Path) -> dict[str, Any]:
    """The session's cost, with the number of blocked compactions."""
    common = {"session_id": "0f6f7c54-6f0e-4a4b-9f0e-2b8a0d1c7e11", "cwd": str(project)}
    blocked = sum(send(common | event, project) != 0 for event in events(read(path), common))
    words = [sys.executable, "-m", "holdfast_memory", "--root", str(project), "status", "--cost", "--json"]
    spent: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return spent | {"blocked": blocked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    shares, added, said, refusals, by_event = [], 0, 0, 0, dict[str, list[float]]()
    for path in parser.parse_args().files:
        with tempfile.TemporaryDirectory() as folder:
            spent = replay(path, Path(folder))
        tokens, whole = sum(one["tokens"] for one in spent["events"]), contexts(path) or spent["said"]
        added, said, refusals = added + tokens, said + whole, refusals + max(spent["blocked"], len(spent["refusals"]))
        shares.append(tokens / max(1, whole))
        for one in spent["events"]:
            total = by_event.setdefault(one["event"], [0, 0, 0])
            by_event[one["event"]] = [a + one[k] for a, k in zip(total, ("times", "seconds", "tokens"), strict=True)]
        print(f"{path.name:40} {whole:>9,} tokens {shares[-1]:7.1%}", flush=True)
    print(f"\n{'event':20}{'times':>8}{'seconds each':>14}{'tokens':>10}")
    for event, (times, seconds, tokens) in by_event.items():
        print(f"{event:20}{times:8,.0f}{seconds / times:14.3f}{tokens:10,.0f}")
    print(f"\n{len(shares)} sessions, {refusals} refusals (aim 0)")
    print(f"tokens added: {added / max(1, said):.2%} in all (aim {AIM:.0%}), median {statistics.median(shares):.1%}")


if __name__ == "__main__":
    main()
