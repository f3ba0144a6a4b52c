"""Every string of a row that is dropped is in the journal, or its digest is, whichever the row and the importer."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.api import FlushRefused, Holdfast
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.loops.hold import parse
from holdfast_app.message_formats.leaves import leaves
from holdfast_app.message_formats.reading import Reading
from holdfast_app.transcripts import claude_code, codex, opencode, read

FEW = settings(max_examples=20)
READERS: dict[str, Any] = {"claude-code": claude_code, "codex": codex, "opencode": opencode}
#: Members that link or steer a row or block, and are not content.
LINKS = {"type", "id", "role", "call_id", "tool_use_id", "tool_call_id", "callID", "sessionId", "sessionID", "status"}
LINKS |= {"name"}
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
ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}], "note": "and more"},
    {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "https://example.com/a.png"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": []}]},
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "the only text"}]},
    {"type": "function_call", "call_id": "c1", "name": "edit", "arguments": "the only text"},
    {"type": "function_call_output", "call_id": "c1", "output": "the only text"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "the only text"}]},
    {"type": "web_search_call", "action": {}, "query": "the only text"},
    {"type": "hologram", "payload": "the only text"},
]
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "a", "metadata": {"note": "the only text"}},
    {"type": "reasoning", "text": "the only text"},
    {"type": "file", "mime": "text/plain", "url": "https://example.com/a", "filename": "the only text"},
    {"type": "tool", "tool": "edit", "callID": "c1", "state": {"status": "completed", "input": {}, "output": "a"}},
    {"type": "tool", "tool": "edit", "callID": "c1", "state": {"status": "error", "input": {}, "error": "a"}},
    {"type": "tool", "tool": "edit", "callID": "c1", "state": {"status": "running", "input": {"a": "the only text"}}},
    {"type": "hologram", "payload": "the only text"},
]
ROWS: dict[str, list[dict[str, Any]]] = {
    "messages": [{"role": "assistant", **content} for content in CASES.values()],
    "responses": ITEMS,
    "claude-code": [
        *({"type": "user", "sessionId": "s", "message": {"role": "user", **content}} for content in CASES.values()),
        {"type": "hologram", "sessionId": "s-1", "message": {"x": "the only text"}, "content": "and more"},
    ],
    "codex": [{"type": "response_item", "payload": item} for item in ITEMS],
    "opencode": [{"info": {"role": "user", "sessionID": "s", "note": "and more"}, "parts": [part]} for part in PARTS],
}
#: Often several lines, and sometimes too long to be kept whole.
WORDS = st.text("abc \u00e9\u4e2d\U0001f469\n\t:.{[<", min_size=1, max_size=30).map(lambda s: f"leaf {s} end")
VALUES = st.recursive(
    WORDS | st.integers(4_001, 9_000).map(lambda n: f"leaf {'x' * n}") | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places in a row where any value may stand, each table's further member among them."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key not in {*LINKS, "tool", "state"}:
            yield (*path, key)
        if isinstance(inner, dict | list | tuple):
            yield from places(inner, (*path, key))
    if isinstance(value, dict):
        yield (*path, "further")


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with ``new`` at that place."""
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = put(value[key], tuple(rest), new) if rest else new
    return copy


@st.composite
def rows(draw: st.DrawFn, form: str) -> list[Any]:
    """One to three known rows of that form, each with any value in one place."""
    made = draw(st.lists(st.sampled_from(ROWS[form]), min_size=1, max_size=3))
    envelope = form in READERS  # whose members are the client's own
    found = [[path for path in places(row) if len(path) > envelope] for row in made]
    return [put(row, draw(st.sampled_from(paths)), draw(VALUES)) for row, paths in zip(made, found, strict=True)]


def strings(row: object) -> Iterator[str]:
    """The strings that must not be lost: all but blank ones and single words under :data:`LINKS`."""
    if isinstance(row, str):
        if row.strip():
            yield row
    elif isinstance(row, Mapping):
        for name, value in row.items():
            if name not in LINKS or not isinstance(value, str) or len(value.split()) > 1:
                yield from strings(value)
    elif isinstance(row, list | tuple):
        for value in row:
            yield from strings(value)


def text_of(kept: Any) -> str:
    return "\n".join(m.text for m in kept)


def lost(rows: list[Any], journal: str) -> list[str]:
    """The strings of which the journal holds neither the text nor its SHA-256 digest."""
    wanted = [text for row in rows for text in strings(row) if text.strip() not in journal]
    return [text for text in wanted if hashlib.sha256(text.encode()).hexdigest() not in journal]


ANY = st.lists(st.dictionaries(st.sampled_from(("role", "content", "text", "type", "x")), VALUES, max_size=4))


@pytest.mark.parametrize("drawing", [rows("messages"), rows("responses"), ANY], ids=["messages", "responses", "any"])
@FEW
@given(data=st.data())
def test_parse__any_row_of_a_loop__keeps_each_string_or_refuses(drawing, data):
    drawn = data.draw(drawing)
    try:
        journal = text_of(parse(drawn))
    except FlushRefused:
        return
    assert lost(drawn, journal) == []


@pytest.mark.parametrize("form", READERS)
@FEW
@given(data=st.data())
def test_take__any_row_of_a_client__keeps_each_string(form, data):
    drawn, reading = data.draw(rows(form)), Reading()
    for position, row in enumerate(drawn):
        if not READERS[form].take(row, position, reading):
            reading.unknown(row, position)
    assert lost(drawn, text_of(reading.kept)) == []


def test_leaves__nested_as_deep_as_json_can_be__are_all_found():
    value: Any = "bottom"
    for _ in range(5_000):
        value = [value]
    assert list(leaves(value)) == [("", "bottom")]


def test_guard__content_of_any_form__is_in_the_journal(tmp_path):
    for row in ROWS["messages"]:
        assert lost([row], text_of(parse([row]))) == [], row
    with Holdfast.open(tmp_path) as memory:
        assert memory.guard(lambda rows: [], session="s", messages=lambda rows: rows)(ROWS["messages"]) == []
        journal = [e.record["text"] for e in memory.session("s").journal.of_kinds("message")]
    assert journal == [m.text for m in parse(ROWS["messages"])]
    assert "4711" in "".join(journal)


def test_import__content_of_any_form__is_kept(tmp_path):
    path = tmp_path / "t.jsonl"
    for form in ("messages", *READERS):
        for row in ROWS[form]:
            path.write_text(f"{json.dumps(ROWS[form][0])}\n{json.dumps(row)}", encoding="utf-8")
            assert lost([row], text_of(read(path).kept)) == [], row


@pytest.mark.parametrize(
    "image",
    [
        {"source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 500}},
        {"base64": "QUJD" * 500, "mime_type": "image/png"},
        {"image_url": {"url": "data:image/png;base64," + "QUJD" * 500}},
    ],
)
def test_image__in_base64__is_kept_as_its_type_length_and_digest_and_is_nobodys_words(image):
    block = {"type": "image", **image}
    (message,) = parse([{"role": "user", "content": [block]}])
    assert re.match(r"\[image\]\n.*image/png in base64: 2,0[02][02] characters, sha256 ", message.text, re.DOTALL)
    assert (own_words(message.text), lost([block], message.text)) == ("", [])


def test_parse__instructions_before_the_conversation__are_the_loops_own_and_later_ones_are_kept():
    rows = [{"role": role, "content": role} for role in ("system", "developer", "user", "system")]
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
