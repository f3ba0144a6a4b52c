"""Transcript readers: what real clients recorded, and what a broken or hostile file does to them."""

import hashlib
import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.errors import Corrupt
from holdfast_app.message_formats.leaves import MAX_CALL_CHARS, MAX_RESULT_CHARS
from holdfast_app.transcripts import read

SAMPLES = Path(__file__).parents[2] / "data" / "transcripts"


def said(transcript):
    """Role and text of what was said and done, without the elided texts of the samples."""
    return [(m.role, m.text) for m in transcript.messages if "[elided" not in m.text]


def claude(kind="user", content="hello", **fields):
    """A row of Claude Code."""
    message = {"role": kind, "content": content}
    return {"type": kind, "message": message, "sessionId": "s-1", "cwd": "/home/ann", "gitBranch": "main", **fields}


def codex(payload, kind="response_item"):
    """A row of Codex."""
    return {"timestamp": "2026-11-21T21:02:40.116Z", "type": kind, "payload": payload}


def opencode(*parts, role="assistant", **info):
    """A row of opencode."""
    info = {"role": role, "sessionID": "ses_1", "time": {"created": 1795294939254}, **info}
    return {"info": info, "parts": list(parts)}


def pi(number, role, content, **fields):
    """A row of pi."""
    return {"type": "message", "id": number, "parentId": "a", "message": {"role": role, "content": content, **fields}}


def gemini(kind, content="", **fields):
    """A row of Gemini CLI."""
    return {"type": kind, "content": content, "id": kind, "timestamp": "2026-11-20T09:00:00Z", **fields}


def write(path, *rows, end="\n"):
    """Rows as JSONL; a text is written as it is."""
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + end, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_read__compacted_mid_turn__keeps_what_was_said_without_context_and_summary(name):
    transcript = read(SAMPLES / f"{name}.midturn.jsonl")
    call = {"claude-code": "Bash: echo TOOL-{}\ndescription: a dummy tool call", "codex": "exec_command: echo TOOL-{}"}
    assert said(transcript) == [
        ("user", "Work on PLAN-42. KEYWORD-0"),
        ("assistant", "Step 1."),
        ("assistant", call[name].format(1)),
        ("tool", "TOOL-1"),
        ("assistant", "Step 2."),
        ("assistant", call[name].format(2)),
        ("tool", "TOOL-2"),
        ("assistant", "Done: PLAN-42."),
    ]
    assert transcript.format == name
    if name == "codex":
        assert not any("elided" in m.text for m in transcript.messages)
        return
    assert transcript.branch == "master"
    assert transcript.session_id == "3059b615-8ae4-4f68-b0df-31feb0731bb7"
    assert transcript.messages[2].tool == transcript.messages[3].tool == "Bash"
    assert transcript.messages[0].id == "44fa1c5e-4939-4788-bd85-0a838dd0cc48"
    assert transcript.messages[0].at == datetime(2026, 11, 21, 21, 2, 8, 18000, tzinfo=UTC)


def test_read__codex_script_that_edits__tells_the_files(tmp_path):
    listed = "Success. Updated the following files:\nM src/a.rs\n"
    edit = {"type": "patch_apply_end", "call_id": "exec-1", "stdout": listed, "success": True}
    path = write(
        tmp_path / "rollout.jsonl",
        codex({"type": "custom_tool_call", "name": "exec", "call_id": "c", "input": "await tools.apply_patch(p)"}),
        codex(edit, kind="event_msg"),
        codex({"type": "custom_tool_call_output", "call_id": "c", "output": "{}"}),
        codex({**edit, "call_id": "call_2"}, kind="event_msg"),  # the call's own result tells it
    )
    call = ("assistant", "exec: await tools.apply_patch(p)")
    assert said(read(path)) == [call, ("tool", listed.strip()), ("tool", "{}")]


def test_read__opencode_dump__gives_call_and_result_of_a_tool_part():
    transcript = read(SAMPLES / "opencode.manual.jsonl")
    assert said(transcript)[:4] == [
        ("user", "Remember PLAN-42. KEYWORD-0"),
        ("assistant", "Step 1."),
        ("assistant", "bash: echo TOOL-1\ndescription: a dummy tool call"),
        ("tool", "TOOL-1"),
    ]
    assert transcript.messages[3].id == transcript.messages[2].id + "#result"
    assert transcript.session_id == "ses_e00154c62ffeRa2f6QSOE7S4Y0"


@pytest.mark.req("R074")
def test_read__one_conversation_in_each_format__gives_the_same_words(tmp_path):
    """No vendor's transcript is special: what is taken from each is the same."""
    call = {"type": "toolCall", "id": "c", "name": "sh", "arguments": {"cmd": "make"}}
    sh = {"toolCallId": "c", "toolName": "sh"}
    use = {"type": "tool_use", "id": "c", "name": "sh", "input": {"cmd": "make"}}
    asked = [{"id": "c", "function": {"name": "sh", "arguments": '{"cmd": "make"}'}}]
    state = {"status": "error", "input": {"cmd": "make"}, "error": "no"}
    no = {"status": "error", "result": [{"functionResponse": {"response": "no"}}]}
    rows: dict[str, list[dict[str, object]]] = {
        "claude-code": [
            claude(uuid="1", content="Fix it."),
            claude("assistant", [use], uuid="2"),
            claude(uuid="3", content=[{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}]),
            claude("assistant", uuid="4", content=[{"type": "text", "text": "Fixed."}]),
        ],
        "codex": [
            codex({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}),
            codex({"type": "function_call", "name": "sh", "call_id": "c", "arguments": '{"cmd": "make"}'}),
            codex(
                {"type": "function_call_output", "call_id": "c", "output": "Process exited with code 2\nOutput:\nno"}
            ),
            codex({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Fixed."}]}),
        ],
        "opencode": [
            opencode({"type": "text", "text": '"Fix it."'}, role="user"),
            opencode({"type": "tool", "tool": "sh", "state": state}, {"type": "text", "text": "Fixed."}),
        ],
        "pi": [
            {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-20T09:00:00Z", "cwd": "/home/ana/app"},
            {"type": "model_change", "id": "a", "parentId": None, "provider": "p", "modelId": "m"},
            pi("m1", "user", "Fix it."),
            pi("m2", "assistant", [{"type": "thinking", "thinking": "Which one?"}, call]),
            pi("m3", "toolResult", [{"type": "text", "text": "no"}], toolCallId="c", toolName="sh", isError=True),
            pi("m4", "assistant", [{"type": "text", "text": "Fixed."}]),
        ],
        "copilot": [
            {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "/home/ana/app"}}, "id": "1"},
            {"type": "user.message", "data": {"content": "Fix it.", "transformedContent": "<date>1</date>"}, "id": "2"},
            {"type": "assistant.message", "data": {"content": "", "reasoningText": "Which one?"}, "id": "3"},
            {"type": "tool.execution_start", "data": {**sh, "arguments": {"cmd": "make"}}, "id": "4"},
            {"type": "tool.execution_complete", "data": {**sh, "success": False, "error": "no"}, "id": "5"},
            {"type": "assistant.message", "data": {"content": "Fixed."}, "id": "6"},
        ],
        "gemini": [
            {"sessionId": "s", "projectHash": "5f", "startTime": "2026-11-20T09:00:00Z"},
            {"$set": {"messages": [gemini("user", [{"text": "Fix it."}])]}},
            gemini("gemini", thoughts=[{"subject": "Which one?"}]),
            gemini("gemini", toolCalls=[{"id": "c", "name": "sh", "args": {"cmd": "make"}, **no}]),
            gemini("gemini", "Fixed."),
            gemini("info", "An update is available."),
        ],
        "messages": [
            {"role": "system", "content": "You are terse."},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": None, "tool_calls": asked},
            {"role": "tool", "tool_call_id": "c", "content": "no", "is_error": True},
            {"role": "assistant", "content": "<think>Is it?</think>\n<thinking>Yes.</thinking>Fixed."},
        ],
    }
    for name, own in rows.items():
        transcript = read(write(tmp_path / "x", *own))
        assert transcript.format == name
        assert [(m.role, m.text, m.tool, m.failed) for m in transcript.messages] == [
            ("user", "Fix it.", "", False),
            ("assistant", "sh: make", "sh", False),
            ("tool", "no", "sh", True),
            ("assistant", "Fixed.", "", False),
        ], name
        assert len({m.id for m in transcript.messages}) == 4


def test_read__pi__keeps_its_summary_and_what_others_put_in_aside(tmp_path):
    command = {"role": "bashExecution", "command": "make", "output": "no rule", "exitCode": 2}
    rows: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "s1", "cwd": "/home/ana/app"},
        {"type": "custom_message", "id": "x", "customType": "ext", "content": "Be brief."},
        {"type": "message", "id": "u", "parentId": "x", "message": {"role": "user", "content": "Go"}},
        {"type": "compaction", "id": "k", "parentId": "u", "summary": "Asked to go.", "firstKeptEntryId": "u"},
        {"type": "message", "id": "b", "parentId": "k", "message": command},
        {"type": "branch_summary", "id": "r", "parentId": "k", "fromId": "b", "summary": "Tried make."},
        {"type": "message", "id": "c", "parentId": "r", "message": {"role": "custom", "content": "A note."}},
        {"type": "unheard_of", "id": "z", "parentId": "c", "content": "What is this?"},
    ]
    transcript = read(write(tmp_path / "x", *rows))
    assert (transcript.format, transcript.session_id) == ("pi", "s1")
    said_and_done = [(m.role, m.text, m.failed) for m in transcript.messages]
    assert said_and_done == [("user", "Go", False), ("tool", "$ make\nno rule", True)]
    aside = [m.text for m in transcript.kept if m not in transcript.messages]
    assert aside[:4] == ["Be brief.", "Asked to go.", "Tried make.", "A note."]
    assert "What is this?" in aside[4]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b'{"a": 1}\n', "no known format"),
        (b"[]", "no known format"),
        (b'{"data": [{"id": 1}]}', "no known format"),
        (b'{"type": "user", "sessionId"', "no known format"),
        (b"\x00\xff\xfe" * 100, "no known format"),
        (
            b'{"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": %s}]}}'
            % (b"[" * 700 + b"]" * 700),
            "no known format",
        ),
    ],
)
def test_read__nothing_to_understand__says_so_and_names_the_formats(tmp_path, content, reason):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(Corrupt, match=reason) as raised:
        read(path)
    for name in ("Claude Code", "Codex", "Copilot CLI", "Gemini CLI", "opencode", "pi"):
        assert name in raised.value.next_step


def test_read__claude_code_rows_nobody_said__are_left_out(tmp_path):
    path = write(
        tmp_path / "t",
        {"type": "queue-operation", "operation": "enqueue", "content": "hello", "sessionId": "s-1"},
        claude(uuid="1", isSidechain=True),
        claude(uuid="2", isMeta=True),
        claude(uuid="3", isCompactSummary=True),
        claude(uuid="4", content="<command-name>/model</command-name><command-args>opus</command-args>"),
        claude(uuid="4b", content="<local-command-stdout></local-command-stdout>"),
        claude("assistant", uuid="6", content=[{"type": "thinking", "thinking": "hm"}]),
        claude("assistant", uuid="7", content="API Error", isApiErrorMessage=True),
        claude(uuid="8", content=[{"type": "text", "text": "Stop hook feedback: more"}]),
        claude(uuid="9", content="  "),
        claude(uuid="10", content="Real.<system-reminder>x</system-reminder>"),
        claude(uuid="11", content="A task.", isSidechain=True, agentId="a1"),
    )
    assert said(read(path)) == [("user", "Real.")]
    assert said(read(path, agent="a1")) == [("user", "A task.")]


def test_claude_code__prompt_typed_while_the_model_works__is_said_when_the_queue_is_handed_over(tmp_path):
    def queue(operation, **more):
        return {"type": "queue-operation", "operation": operation, "sessionId": "s-1", **more}

    path = write(
        tmp_path / "t",
        claude(uuid="1"),
        queue("enqueue", content='{"task_id": "b1"}'),
        queue("enqueue", content="switch to main first"),
        queue("remove"),
        queue("enqueue", content="and push it"),
        queue("dequeue"),
        claude(uuid="2", message={"role": "user", "content": "and push it"}),
        queue("remove"),
    )
    assert [m.text for m in read(path).messages][1:] == ["switch to main first", "and push it"]


def test_read__ten_megabyte_rows__clips_results_and_keeps_words(tmp_path):
    big = "x" * 10_000_000
    path = write(
        tmp_path / "t",
        claude(uuid="1", content=big),
        claude("assistant", [{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": big}}], uuid="2"),
        claude(uuid="3", content=[{"type": "tool_result", "tool_use_id": "c", "content": "head" + big + "tail"}]),
    )
    said_by_user, call, result = read(path).messages
    assert len(said_by_user.text) == 10_000_000
    line, _, argument = call.text.partition("\ncommand:\n")
    assert len(line) == MAX_CALL_CHARS
    assert len(argument) <= MAX_RESULT_CHARS
    assert f"10,000,000 characters left out; sha256 {hashlib.sha256(big.encode()).hexdigest()}" in argument
    assert len(result.text) <= MAX_RESULT_CHARS
    assert result.text.startswith("head")
    assert "characters left out" in result.text
    assert result.text.endswith("tail")


def test_read__a_file_much_larger_than_its_messages__is_read_in_bounded_memory(tmp_path):
    row = json.dumps({"role": "tool", "tool_call_id": "c", "content": "y" * 500_000})
    path = tmp_path / "t"
    path.write_text(30 * f"{row}\n", encoding="utf-8")  # 15 MB
    tracemalloc.start()
    try:
        assert len(read(path).messages) == 30
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_read__last_line_cut_at_every_byte__never_raises_and_loses_nothing_before(tmp_path):
    first = json.dumps(claude(uuid="1", content="first")) + "\n"
    last = json.dumps(claude(uuid="2", content="größe"), ensure_ascii=False).encode() + b"\n"
    path = tmp_path / "t"
    for length in range(len(last)):
        path.write_bytes(first.encode() + last[:length])
        transcript = read(path)
        whole = length == len(last) - 1  # only the newline is missing
        assert [m.id for m in transcript.messages] == (["1", "2"] if whole else ["1"])
        assert transcript.truncated is (0 < length < len(last) - 1)
        if transcript.truncated:
            assert transcript.next_offset == len(first)


def test_read__from_every_offset_reached__gives_the_rest_of_the_same_messages():
    for name in ("claude-code.midturn.jsonl", "codex.midturn.jsonl"):
        whole = read(SAMPLES / name)
        content = (SAMPLES / name).read_bytes()
        offset = 0
        for line in content.splitlines(keepends=True):
            offset += len(line)
            later = read(SAMPLES / name, offset=offset)
            assert [m.id for m in later.messages] == [m.id for m in whole.messages[-len(later.messages) or 99 :]]
            assert later.session_id == whole.session_id
            assert later.next_offset == whole.next_offset == len(content)
