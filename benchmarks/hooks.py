"""The cost of ``holdfast hook`` at each event and of five commands, in bare interpreters: `python benchmarks/hooks.py`.

Each event is a process with its payload on stdin, as a client starts it; its wall and processor time are compared with
``python -c pass`` in the same run, interleaved. Minima and medians are printed: on a machine with other work the minima
of processor time are the steadier ones. The conversation is made up: a transcript of the given size in which, as in
real ones, most bytes are bookkeeping and tool output. ``PreCompact`` is timed with the hooks active all
along (prompts, tool calls and answers are journalled already), for a conversation that was compacted in its middle, as
a context of 200,000 tokens makes it, and for one that never was; and for one that was begun without hooks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: Limits, in starts of a bare interpreter.
AIMS = {
    "UserPromptSubmit": 6,
    "PostToolUse": 6,
    "Stop": 6,
    "SessionStart": 18,
    "PreCompact": 40,
    "PreCompact, repeated": 40,
    "PreCompact, never compacted before": 40,
    "PreCompact, nothing journalled before": 40,
    "holdfast load": 18,
    "holdfast status": 18,
    "holdfast remember": 18,
    "holdfast search": 18,
    "holdfast flush": 20,
}
#: Commands of a person or an agent, in the project that the events before have filled; the flush has a turn to save.
COMMANDS = {
    "holdfast load": ["load"],
    "holdfast status": ["status"],
    "holdfast remember": ["remember", "The parser reads the journal"],
    "holdfast search": ["search", "parser journal"],
    "holdfast flush": ["flush", "--session", "by-hand"],
}
SESSION = "0f6f7c54-6f0e-4a4b-9f0e-2b8a0d1c7e11"
#: Made-up words, some thousands as in a long conversation: with a dozen every message would hold every word.
_PARTS = ("", "con", "dis", "ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "ing", "ter", "al")
WORDS = sorted({"".join(parts) for parts in itertools.product(_PARTS, repeat=3)} - {""})


def prose(rng: random.Random, chars: int) -> str:
    words = itertools.takewhile(lambda pair: pair[0] < chars, ((n * 6, rng.choice(WORDS)) for n in itertools.count()))
    return " ".join(word for _, word in words)


def conversation(folder: Path, size: int) -> Iterator[tuple[list[dict[str, object]], list[dict[str, object]]]]:
    """Turn by turn until ``size`` bytes: the rows of the transcript, and the events that hooks were started with."""
    rng = random.Random(7)
    common = {"sessionId": SESSION, "cwd": str(folder), "version": "2.1.330", "gitBranch": "main", "isSidechain": False}
    numbers = itertools.count()
    written = 0

    def row(kind: str, **more: object) -> dict[str, object]:
        number = next(numbers)
        at = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        return {**common, "type": kind, "uuid": f"row-{number}", "timestamp": at, **more}

    def said(role: str, *blocks: dict[str, object], **more: object) -> dict[str, object]:
        return row(role, message={"role": role, "content": list(blocks)}, **more)

    for turn in itertools.count():
        prompt, last = prose(rng, 200), prose(rng, 900)
        rows = [row("user", message={"role": "user", "content": prompt})]
        events: list[dict[str, object]] = [{"hook_event_name": "UserPromptSubmit", "prompt": prompt}]
        for step in range(3):
            call, out = f"toolu_{turn}_{step}", prose(rng, rng.choice((200, 1_500, 6_000)))
            given = {"command": prose(rng, 80)}
            rows += [
                row("api-request-blob", message=prose(rng, 4_000)),
                said("assistant", {"type": "text", "text": prose(rng, 300)}),
                said("assistant", {"type": "tool_use", "id": call, "name": "Bash", "input": given}),
                said(
                    "user",
                    {"type": "tool_result", "tool_use_id": call, "content": out, "is_error": False},
                    toolUseResult={"stdout": out, "stderr": ""},
                ),
            ]
            events.append(
                {
                    "hook_event_name": "PostToolUse",
                    "tool_name": "Bash",
                    "tool_input": given,
                    "tool_response": {"stdout": out, "stderr": ""},
                    "tool_use_id": call,
                }
            )
        rows.append(said("assistant", {"type": "text", "text": last}))
        events.append({"hook_event_name": "Stop", "last_assistant_message": last})
        for event in events:
            event["prompt_id"] = f"prompt-{turn}"
        written += sum(len(json.dumps(r)) + 1 for r in rows)
        yield rows, events
        if written >= size:
            return


def prepare(folder: Path, size: int, *, journalled: bool, compacted: bool = False) -> dict[str, bytes]:
    """A project whose client said so much; the payloads of the events to time."""
    from holdfast import Holdfast
    from holdfast_agents import dialects, gated, turns

    project, transcript = folder / "project", folder / "transcript.jsonl"
    project.mkdir(parents=True)
    common = {"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(project)}
    with transcript.open("w", encoding="utf-8") as file:
        for rows, events in conversation(project, size):
            file.writelines(json.dumps(row) + "\n" for row in rows)
            for event in events if journalled else ():
                turns.journal(dialects.parse({**common, **event}), str(project))
            if compacted and file.tell() > size / 2:
                file.flush()
                compacted = False
                with Holdfast.open(project) as memory:
                    asked = dialects.parse({**common, "hook_event_name": "PreCompact"})
                    assert gated.compacting(memory, asked).block == ""
                    gated.compacted(memory, asked)
    payloads: dict[str, dict[str, object]] = {
        "UserPromptSubmit": {"prompt": "Go on with the parser, please.", "prompt_id": "p"},
        "PostToolUse": {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {"stdout": "ok"}},
        "Stop": {"last_assistant_message": "The parser is done; the tests pass.", "prompt_id": "p"},
        "SessionStart": {"source": "resume"},
        "SessionEnd": {"reason": "prompt_input_exit"},
        "PreCompact": {"trigger": "auto", "custom_instructions": None},
    }
    told = {name: {**common, "hook_event_name": name, **more} for name, more in payloads.items()}
    return {name: json.dumps(payload).encode() for name, payload in told.items()}


def timed(command: list[str], payload: bytes, cwd: Path) -> tuple[float, float]:
    """Wall and processor seconds of one process."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "CLAUDE_PROJECT_DIR")}
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(payload)
        process.stdin.close()
        process.stdout.read()
        told = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} exits {process.returncode}: {told.decode()}")
    return wall, used.ru_utime + used.ru_stime


def measure(folder: Path, size: int, runs: int) -> dict[str, list[tuple[float, float]]]:
    """Times by name. Each round begins with a fresh copy of the projects."""
    key = folder / "key"  # copies of a project are other folders; a shared key makes their private state ours
    key.write_text(os.urandom(32).hex())
    key.chmod(0o600)
    os.environ["HOLDFAST_KEY_FILE"] = str(key)
    prepared = {}
    for name, journalled, compacted in (("with", True, True), ("long", True, False), ("without", False, False)):
        payloads = prepare(folder / name, size, journalled=journalled, compacted=compacted)
        shutil.copytree(folder / name / "project", folder / name / "fresh")
        prepared[name] = payloads
    names = ("python -c pass", *AIMS, "SessionStart, after a kill")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for round_ in range(runs + 1):
        for name, pair in one_round(folder, prepared).items():
            if round_:  # the first round fills caches
                times[name].append(pair)
    return times


def one_round(folder: Path, prepared: dict[str, dict[str, bytes]]) -> dict[str, tuple[float, float]]:
    """Times of one process of each kind. Each PreCompact except the repeated one has a fresh project."""
    program = os.path.join(sysconfig.get_path("scripts"), "holdfast")
    hook = [program, "hook", "claude-code"]
    got: dict[str, tuple[float, float]] = {}
    for name, payloads in prepared.items():
        project = folder / name / "project"
        shutil.rmtree(project)
        shutil.copytree(folder / name / "fresh", project)
        first = timed(hook, payloads["PreCompact"], project)
        if name != "with":
            got[f"PreCompact, {'never compacted' if name == 'long' else 'nothing journalled'} before"] = first
            continue
        got["PreCompact"] = first
        got["PreCompact, repeated"] = timed(hook, payloads["PreCompact"], project)
        for event in ("UserPromptSubmit", "PostToolUse", "Stop"):
            got[event] = timed(hook, payloads[event], project)
        got["SessionStart, after a kill"] = timed(hook, payloads["SessionStart"], project)
        timed(hook, payloads["SessionEnd"], project)
        got["SessionStart"] = timed(hook, payloads["SessionStart"], project)
        got["python -c pass"] = timed([sys.executable, "-c", "pass"], b"", project)
        timed([program, "add", "user", "Save this by command.", "--session", "by-hand"], b"", project)
        timed([program, "search", "parser"], b"", project)  # builds the index
        for command, words in COMMANDS.items():
            got[command] = timed([program, *words], b"", project)
    return got


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--megabytes", type=float, default=5.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder), int(args.megabytes * 1_000_000), args.runs)
    for index, kind in enumerate(("wall", "processor")):
        bare = [pair[index] for pair in times["python -c pass"]]
        least, middle = min(bare), statistics.median(bare)
        print(f"\n{kind} time in bare interpreters of {least * 1e3:.1f} ms (least), {middle * 1e3:.1f} ms (median)")
        print(f"{'':40}{'least':>9}{'median':>9}   aim")
        for name, pairs in times.items():
            taken = [pair[index] for pair in pairs]
            figures = f"{min(taken) / least:9.1f}{statistics.median(taken) / middle:9.1f}"
            print(f"{name:40}{figures}   {AIMS.get(name, '')}")


if __name__ == "__main__":
    main()
