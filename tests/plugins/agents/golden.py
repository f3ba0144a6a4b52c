"""What each client is answered at each event that was recorded: `python -m tests.plugins.agents.golden` writes it anew.

A scenario is a recorded run of a real client. Its transcript grows as it did then: at an event it holds what the client
had written by that time, and lags behind where the client's file does.
"""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.plugins.agents.hooking import DATA, Answered, Client

SCENARIOS = tuple(sorted(p.name.removesuffix(".hooks.jsonl") for p in DATA.glob("*.hooks.jsonl")))
GOLDEN = DATA / "golden.json"
_VARIES = (
    (re.compile(r"flush_[0-9a-f]{16}"), "flush_ID"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DAY"),
    (re.compile(r"T\d\d:\d\d:\d\d\.\d+Z"), "TTIMEZ"),
    (re.compile(r"\(\d\d:\d\d\)"), "(TIME)"),
    (re.compile(r"\bat \d\d:\d\d\b"), "at TIME"),
    (re.compile(r"\S+ -P -m holdfast_memory"), "PROGRAM"),
)


def replay(scenario: str, folder: Path) -> Iterator[tuple[str, Answered, Client]]:
    """Each event of the scenario and its answer. In a ``blocked`` one the store breaks before the first compaction."""
    name = scenario.partition(".")[0].removesuffix("-blocked").removesuffix("-module")
    recorded, told = _rows(f"{scenario}.hooks.jsonl"), _rows(f"{scenario}.transcript.jsonl")
    project = folder / "project"
    project.mkdir()
    client = Client(project, name, recorded[0]["session_id"])
    client.transcript.touch()
    shown = 0
    for payload in recorded:
        event = payload["hook_event_name"]
        until = max(shown, _known_by(payload, told, shown))
        client.write(*told[shown:until])
        shown = until
        if "-blocked" in scenario and event == "PreCompact" and not (project / ".holdfast" / "memory").is_file():
            client.break_store()
        given = {**payload, "cwd": str(project)}
        if "transcript_path" in given:
            given["transcript_path"] = str(client.transcript)
        yield event, client.send(given), client


def normal(answer: Answered) -> list[Any]:
    """The answer without what differs from run to run."""
    texts = [answer.stdout, answer.stderr]
    for pattern, put in _VARIES:
        texts = [pattern.sub(put, text) for text in texts]
    return [answer.code, *texts]


def _known_by(payload: dict[str, Any], rows: list[dict[str, Any]], shown: int) -> int:
    """How many rows the client has written when it starts the hook."""
    event = payload["hook_event_name"]
    if payload.get("client") == "opencode":
        return len(rows)  # its messages come from a database, which is complete
    if event == "PostToolUse":
        return next(n for n, row in enumerate(rows, 1) if payload["tool_use_id"] in json.dumps(row))
    if event in ("UserPromptSubmit", "Stop"):
        text = json.dumps(payload.get("prompt") or payload.get("last_assistant_message"))
        wanted = '"role": "user"' if event == "UserPromptSubmit" else '"role": "assistant"'
        later = (n for n in range(shown, len(rows)) if text in json.dumps(rows[n]) and wanted in json.dumps(rows[n]))
        return next(later, shown)
    if event in ("PreCompact", "PostCompact"):
        kinds = ("compact_boundary", "compacted")
        ends = (n for n in range(shown, len(rows)) if {rows[n].get("subtype"), rows[n]["type"]} & {*kinds})
        return next(ends, shown) + (event == "PostCompact")
    return shown


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def main() -> None:
    told: dict[str, list[list[Any]]] = {}
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HOME"] = folder  # where earlier runs left no transcripts
            told[scenario] = [[event, *normal(answer)] for event, answer, _ in replay(scenario, Path(folder))]
    GOLDEN.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{GOLDEN.name}: {sum(map(len, told.values()))} answers\n")


if __name__ == "__main__":
    main()
