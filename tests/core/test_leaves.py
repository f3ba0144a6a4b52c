"""Every string of a row that is dropped is in the journal, or its digest is, whichever the row and the importer."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rows import FORMS, kept, strings, values

from holdfast import Holdfast
from holdfast.errors import FlushRefused
from holdfast_app.loops.mirror import parse
from holdfast_app.message_formats.leaves import leaves
from holdfast_app.message_formats.reading import Reading
from holdfast_app.transcripts import claude_code, codex, opencode, read

FEW = settings(max_examples=20)
READERS: dict[str, Any] = {"claude-code": claude_code, "codex": codex, "opencode": opencode}


def text_of(kept: Any) -> str:
    return "\n".join(m.text for m in kept)


def lost(rows: list[Any], journal: str) -> list[str]:
    return [text for row in rows for text in strings(row) if not kept(text, journal)]


@pytest.mark.parametrize("form", ["messages", "responses"])
@FEW
@given(data=st.data())
def test_parse__any_row_of_a_loop__keeps_each_string_or_refuses(form, data):
    rows = data.draw(st.lists(FORMS[form], min_size=1, max_size=3))
    try:
        journal = text_of(parse(rows))
    except FlushRefused:
        return
    assert lost(rows, journal) == []


@FEW
@given(st.lists(st.dictionaries(st.sampled_from(("role", "content", "text", "type", "x")), values(), max_size=4)))
def test_parse__any_object_at_all__keeps_each_string_or_refuses(rows):
    try:
        journal = text_of(parse(rows))
    except FlushRefused:
        return
    assert lost(rows, journal) == []


@pytest.mark.parametrize("form", sorted(READERS))
@FEW
@given(data=st.data())
def test_take__any_row_of_a_client__keeps_each_string(form, data):
    rows = data.draw(st.lists(FORMS[form], min_size=1, max_size=3))
    reading = Reading()
    for position, row in enumerate(rows):
        if not READERS[form].take(row, position, reading):
            reading.unknown(row, position)
    assert lost(rows, text_of(reading.kept)) == []


def test_leaves__nested_as_deep_as_json_can_be__are_all_found():
    value: Any = "bottom"
    for _ in range(5_000):
        value = [value]
    assert list(leaves(value)) == [("", "bottom")]


CASES: dict[str, dict[str, Any]] = {
    "strings": {"content": ["the only text"]},
    "an object": {"content": {"answer": "the only text"}},
    "a number": {"content": 4711},
    "a tuple": {"content": ("the only text", {"type": "text", "text": "and more"})},
    "strings and blocks": {"content": ["the only text", {"type": "text", "text": "and more"}]},
    "an unknown block": {"content": [{"type": "hologram", "frames": [{"caption": "the only text"}]}]},
    "a document": {
        "content": [{"type": "document", "title": "T-1", "source": {"type": "text", "data": "the only text"}}]
    },
    "reasoning": {"content": [{"type": "reasoning", "text": "the only text"}]},
    "an image": {"content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]},
    "a refusal": {"content": [{"type": "refusal", "refusal": "the only text"}]},
    "a refusal of its own": {"content": None, "refusal": "the only text"},
    "a nested input": {"content": [{"type": "tool_use", "name": "e", "input": {"a": [{"b": {"c": "the only text"}}]}}]},
    "a key without a value": {"content": [{"type": "hologram", "the only text": None}]},
    "a key of an argument": {"content": [{"type": "tool_use", "name": "e", "input": {"the only text": []}}]},
    "a block's status": {"content": [{"type": "text", "text": "a", "status": "the only text"}]},
    "a block's time": {"content": [{"type": "text", "text": "a", "time": {"said": "the only text"}}]},
    "a block's signature": {"content": [{"type": "thinking", "thinking": "a", "signature": "the only text"}]},
    "a tool's name": {"content": [{"type": "tool_use", "name": {"of": "the only text"}, "input": {}}]},
    "a caller": {"content": [{"type": "tool_use", "name": "e", "input": {}, "caller": ["the only text"]}]},
    "a result that is an error": {"content": [{"type": "tool_result", "content": "a", "is_error": "the only text"}]},
    "text called base64": {"content": [{"type": "document", "source": {"type": "base64", "data": "the only text"}}]},
    "a call's id": {
        "content": "a",
        "tool_calls": [{"id": "the only text", "function": {"name": "f", "arguments": ""}}],
    },
    "a call's function": {"content": "a", "tool_calls": [{"function": "the only text"}]},
    "a function call": {"content": "a", "function_call": "the only text"},
    "a row's type": {"content": "a", "type": "the only text"},
    "a row's date": {"content": "a", "date": "the only text"},
    "a row's usage": {"content": "a", "usage": {"note": ["the only text"]}},
    "a row's id of a call": {"content": "a", "tool_call_id": {"x": "the only text"}},
    "words in Chinese": {"content": "a", "model": "\u552f\u4e00\u7684\u6587\u5b57"},
    "a nested result": {"content": [{"type": "tool_result", "content": [{"x": ["the only text", {"y": "and more"}]}]}]},
}


def test_guard__content_of_any_form__is_in_the_journal(tmp_path):
    with Holdfast.open(tmp_path) as memory:
        for case, content in CASES.items():
            row = {"role": "assistant", **content}
            assert memory.guard(lambda rows: [], session=case, messages=lambda rows: rows)([row]) == []
            session = memory.session(case)
            assert session.last_receipt is not None
            journal = "\n".join(e.record["text"] for e in session.journal.of_kinds("message"))
            assert lost([row], journal) == [], case
            assert "4711" in journal or case != "a number"


def test_import__content_of_any_form__is_kept(tmp_path):
    path = tmp_path / "t.jsonl"
    for case, content in CASES.items():
        rows = [{"role": "user", "content": "first"}, {"role": "assistant", **content}]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert lost(rows, text_of(read(path).kept)) == [], case


@pytest.mark.parametrize(
    "row",
    [
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "a", "note": "the only text"}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [], "note": "the only text"},
        },
        {"info": {"role": "user", "note": "the only text"}, "parts": []},
        {"info": {"role": "user"}, "parts": [{"type": "text", "text": "a", "metadata": {"note": "the only text"}}]},
    ],
)
def test_read__member_beside_the_content__its_text_is_kept(row, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    assert lost([row], text_of(read(path).kept)) == []


def test_image__in_base64__is_kept_as_its_type_length_and_digest():
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 500}}
    (message,) = parse([{"role": "user", "content": [block]}])
    assert message.text.startswith("[image]")
    assert "image/png in base64: 2,000 characters, sha256 " in message.text
    assert lost([block], message.text) == []


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"role": "martian", "content": "x"}, "Message 1 of the context has an unknown form"),
        ({"role": "user", "content": b"x"}, "Message 1 of the context holds a value that JSON cannot represent"),
        ({"role": "user", "content": object()}, "Message 1 of the context holds a value that JSON cannot represent"),
    ],
)
def test_parse__row_that_cannot_be_kept__is_refused_by_number_and_reason(row, why):
    with pytest.raises(FlushRefused, match=why):
        parse([{"role": "user", "content": "a"}, row])


def test_parse__instructions_before_the_conversation__are_the_loops_own_and_later_ones_are_kept():
    rows = [{"role": "system", "content": "Be brief"}, *({"role": r, "content": r} for r in ("user", "system"))]
    assert [m.text for m in parse(rows)] == ["user", "system"]


def test_read__rows_that_hold_no_conversation__are_left_out(tmp_path):
    rows = [
        {"type": "summary", "sessionId": "s"},
        {"type": "summary", "sessionId": "s"},
        {"type": "user", "isMeta": True, "sessionId": "s", "message": {"content": "words of a skill"}},
        {"type": "hologram", "sessionId": "s", "content": "kept all the same"},
        {"type": "hologram", "sessionId": "s"},
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    transcript = read(path)
    assert [m.role for m in transcript.kept] == ["system", "system"]  # what an agent saw is evidence
    assert transcript.kept[0].text == "words of a skill"
    assert "kept all the same" in transcript.kept[1].text
