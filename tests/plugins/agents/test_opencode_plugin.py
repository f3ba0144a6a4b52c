"""opencode's plugin, run by node: it blocks on every kind of failure, and tells each event as the protocol says."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.processes import finished

from holdfast_agents.setup import opencode as opencode_files

NODE = shutil.which("node")
pytestmark = [
    pytest.mark.skipif(NODE is None, reason="needs node, to run the plugin as opencode does"),
    pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for holdfast is a shell script"),
]

#: The end of a stand-in's script that allows a compaction.
DONE = '[ "$3" = compacting ] && exit 10; exit 0'
ID = "ses_1"
COMPACT = ["experimental.session.compacting", {"sessionID": ID}, {"context": []}]
SYSTEM = ["experimental.chat.system.transform", {"sessionID": ID}, {"system": []}]
TURN = [
    "chat.message",
    {"sessionID": ID, "messageID": "msg_1"},
    {
        "message": {"id": "msg_1"},
        "parts": [
            {"type": "text", "id": "prt_1", "text": "Fix it"},
            {"type": "text", "id": "prt_2", "text": "a file", "synthetic": True},
            {"type": "file", "id": "prt_3"},
        ],
    },
]
MESSAGES = [
    {"info": {"id": "msg_1", "role": "user"}, "parts": [{"type": "text", "id": "prt_1", "text": "Fix it"}]},
    {
        "info": {"id": "msg_2", "role": "assistant"},
        "parts": [{"type": "step-start"}, {"type": "text", "id": "prt_9", "text": "It is fixed"}],
    },
]


class Played(NamedTuple):
    """What opencode saw, and what was started: ``(words, payload)`` each."""

    results: list[dict[str, Any]]
    started: list[tuple[list[str], dict[str, Any]]]

    @property
    def error(self) -> str:
        """Of the last step; empty when there was none."""
        text: str = self.results[-1].get("error", "")
        return text

    @property
    def events(self) -> list[str]:
        return [payload["event"] for _, payload in self.started]


Play = Callable[..., Played]


@pytest.fixture
def play(tmp_path) -> Play:
    """``play(*steps, script=DONE)``: the plugin with a shell script in the place of holdfast; None for no program.

    In the script ``$3`` is the event. Where it sleeps, time-outs are far shorter than they are.
    """
    folder = tmp_path / "my project"
    folder.mkdir()
    log = tmp_path / "log"
    tool = tmp_path / "bin dir" / "holdfast"
    tool.parent.mkdir()
    plugin = tmp_path / "holdfast.mjs"

    def run(
        *steps: list[Any], script: str | None = DONE, lifts: bool = True, host: str = "opencode", **more: Any
    ) -> Played:
        if script is not None:
            tool.write_text(f'#!/bin/sh\npayload=$(cat)\nprintf "%s\\n%s\\n" "$*" "$payload" >> "{log}"\n{script}\n')
            tool.chmod(0o755)
        source = opencode_files.plugin((str(tool),), lifts=lifts)
        plugin.write_text(source, encoding="utf-8")
        asked = {"plugin": str(plugin), "directory": str(folder), "steps": steps, "messages": MESSAGES, **more}
        assert NODE
        done = finished(
            [NODE, str(Path(__file__).with_name(f"{host}_harness.mjs"))],
            input=json.dumps(asked),
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr
        lines = log.read_text().splitlines() if log.exists() else []
        started = [(words.split(), json.loads(payload)) for words, payload in zip(lines[::2], lines[1::2], strict=True)]
        return Played(json.loads(done.stdout)["results"], started)

    return run


def test_compacting__a_very_long_conversation__is_handed_over_in_a_private_file_that_goes_again(play, tmp_path):
    long = [{"info": {"role": "user"}, "parts": [{"type": "text", "id": "p", "text": "x" * 9_000_000}]}]
    copy = tmp_path / "copy"
    find = """file=$(printf %s "$payload" | sed 's/.*"messages":"\\([^"]*\\)".*/\\1/')"""
    keep = f'{find}; ls -l "$file" > "{copy}.mode"; cp "$file" "{copy}"; exit 10'
    played = play(COMPACT, script=keep, messages=long)
    assert played.error == ""
    assert json.loads(copy.read_text()) == long
    assert Path(f"{copy}.mode").read_text().startswith("-rw-------")
    assert not Path(played.started[0][1]["messages"]).exists()


OFF = {"agent": {"compaction": {"disable": True}}}
USER, PROJECT = ".config/opencode/opencode.json", "my project/opencode.jsonc"


@pytest.mark.parametrize(
    ("name", "text", "lifted"),
    [
        (USER, '{ // mine\n"agent": {"compaction": {"model": "a/b", "disable" : true}}}', False),
        (PROJECT, '{"agent": {"compaction": {"disable": true}}, "mcp": {"holdfast": {}}}', False),
        (
            PROJECT,
            '{"agent": {"compaction": {"disable": true}}, "instructions": [".opencode/holdfast-protocol.md"]}',
            True,
        ),
    ],
)
def test_config__other_settings_without_holdfast_switch_compaction_off__it_stays_off(
    play, tmp_path, name, text, lifted
):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    kept = play(["config", OFF, None]).results[0]["input"]["agent"]["compaction"]
    assert kept == ({} if lifted else {"disable": True})


def test_system__after_the_first_prompt__the_brief_is_there_on_every_call(play):
    script = 'case "$3" in start) echo "Where to resume";; message) echo "You lost the next step";; esac'
    played = play(SYSTEM, TURN, SYSTEM, SYSTEM, script=script)
    assert [r["output"]["system"] for r in (played.results[0], *played.results[2:])] == [
        [],
        ["Where to resume", "You lost the next step"],
        ["Where to resume", "You lost the next step"],
    ]
    assert played.started[0][1]["source"] == "resume"


def test_tool__context_is_rather_full__the_question_is_put_to_its_result(play):
    def tool() -> list[Any]:
        told = {"tool": "bash", "sessionID": ID, "callID": "c", "args": {"command": "ls"}}
        return ["tool.execute.after", told, {"output": "ok", "metadata": {"exit": 0}}]

    info = {"role": "assistant", "providerID": "p", "modelID": "m", "tokens": {"input": 50, "output": 1}}
    messages = [{"info": info, "parts": []}]
    providers = [{"id": "p", "models": {"m": {"limit": {"context": 100}}}}]
    script = '[ "$3" = tool ] && echo "Flush now"'
    played = play(tool(), SYSTEM, tool(), script=script, messages=messages, providers=providers)
    assert [r["output"].get("output") for r in played.results] == [
        "ok",
        None,
        "ok\n\n<system-reminder>\nFlush now\n</system-reminder>",
    ]
    assert played.results[1]["output"]["system"] == ["Flush now"], "the first one was not waited for"


def test_events__idle_tool_and_dispose__are_told_as_the_protocol_says(play):
    played = play(
        TURN,
        ["tool.execute.after", {"tool": "bash", "sessionID": ID, "callID": "c1", "args": {"command": "ls"}},
         {"title": "ls", "output": "a.py", "metadata": {}}],
        ["event", {"event": {"type": "session.idle", "properties": {"sessionID": ID}}}, None],
        ["event", {"event": {"type": "file.edited", "properties": {"file": "x"}}}, None],
        ["dispose", None, None],
    )  # fmt: skip
    assert played.events == ["start", "message", "tool", "idle", "dispose"]
    assert played.started[1][1]["parts"] == [{"id": "prt_1", "text": "Fix it"}]
    told = [payload for _, payload in played.started]
    assert (told[2]["tool"], told[2]["callID"], told[2]["args"], told[2]["output"], told[2]["failed"]) == (
        "bash", "c1", {"command": "ls"}, "a.py", False,
    )  # fmt: skip
    assert told[3]["parts"] == [{"id": "prt_9", "text": "It is fixed"}]
    assert told[4]["messages"] == MESSAGES


@pytest.mark.req("R184")
def test_events__of_a_sub_agent__only_its_compactions_are_told_and_they_are_gated(play):
    compacted = ["event", {"event": {"type": "session.compacted", "properties": {"sessionID": ID}}}, None]
    steps = (TURN, SYSTEM, COMPACT, compacted, ["dispose", None, None], COMPACT)
    played = play(*steps, parents={ID: "ses_0"}, script='[ "$3" = compacting ] && exit 2; exit 0')
    assert played.events == ["compacting", "compacted", "compacting"]
    assert {(payload["sessionID"], payload["agentID"]) for _, payload in played.started} == {("ses_0", ID)}
    assert "blocked the compaction" in played.error


# opencode 2, by its published types: no package of it could be had

SAID = [
    {"id": "msg_1", "type": "user", "text": "Fix it"},
    {"id": "msg_2", "type": "system", "text": "Instructions"},
    {
        "id": "msg_3",
        "type": "assistant",
        "content": [
            {"type": "text", "text": "It is fixed"},
            {"type": "tool", "id": "c1", "name": "shell",
             "state": {"status": "completed", "input": {"command": "ls"},
                       "content": [{"type": "text", "text": "a.py"}]}},
        ],
    },
]  # fmt: skip
COMPACT_2 = ["compaction", {"sessionID": ID, "system": []}]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (DONE, None),
        ('echo "The disk is full." >&2; exit 2', "The disk is full."),
        ("exit 0", "ended without an answer"),
        ("exit 1", "exit code 1"),
        (None, "is not installed"),
    ],
)
def test_opencode_2__compaction__fails_unless_holdfast_allows_it(play, script, why):
    played = play(COMPACT_2, script=script, host="opencode2", messages=SAID)
    assert (why in played.error) if why else played.error == ""
    if why is None:
        said, answer = played.started[0][1]["messages"]
        assert said == {
            "info": {"id": "msg_1", "role": "user"},
            "parts": [{"type": "text", "id": "msg_1", "text": "Fix it"}],
        }
        assert [part.get("text") or part["state"]["output"] for part in answer["parts"]] == ["It is fixed", "a.py"]


def test_opencode_2__a_turn_with_a_compaction__is_told_as_in_version_1(play):
    def happened(kind: str) -> list[Any]:
        return ["event", {"type": f"session.{kind}", "data": {"sessionID": ID}}]

    tool = {"sessionID": ID, "tool": "shell", "id": "c1", "input": {"command": "ls"}}
    played = play(
        ["prompt", {"sessionID": ID, "messageID": "msg_1", "prompt": {"text": "Fix it"}}],
        ["context", {"sessionID": ID, "system": []}],
        ["execute.after", {**tool, "status": "completed", "result": {"output": "a.py"}}],
        ["execute.after", {**tool, "id": "c2", "status": "error", "error": {"message": "no such file"}}],
        happened("execution.succeeded"),
        COMPACT_2,
        happened("compaction.ended"),
        script=f'[ "$3" = start ] && echo "Where to resume"; {DONE}',
        host="opencode2",
        messages=SAID,
        wait=1000,
    )
    assert played.events == [
        "start", "message", "tool", "tool", "idle", "compacting", "compacted", "start", "dispose",
    ]  # fmt: skip
    told = [payload for _, payload in played.started]
    assert told[1]["parts"] == [{"id": "msg_1", "text": "Fix it"}]
    assert [(one["output"], one["failed"]) for one in told[2:4]] == [("a.py", False), ("no such file", True)]
    assert told[4]["parts"] == [{"id": "msg_3-0", "text": "It is fixed"}]
    assert told[7]["source"] == "compact"
    assert played.results[1]["event"]["system"] == [{"type": "text", "text": "Where to resume"}]
