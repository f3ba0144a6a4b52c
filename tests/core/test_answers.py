"""Reading what a model answers: laws that hold for any text."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.answers import AnswerUnusable, extraction, text_of, without_thoughts

FACTS = [{"content": 'a } ] " \\ <think> ```', "category": "goal", "confidence": 0.9}]


@pytest.mark.req("R035")
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_extraction__prose_without_brackets_around__facts_are_found(before: str, after: str) -> None:
    for bracket in '{}[]<"':
        before, after = before.replace(bracket, ""), after.replace(bracket, "")
    rows = [{**FACTS[0], "content": "plain"}]
    assert extraction(before + json.dumps({"facts": rows}) + after).facts[0].content == "plain"


@pytest.mark.req("R035")
def test_extraction__cut_anywhere__never_part_of_the_facts() -> None:
    rows = [{**FACTS[0], "content": f"{n} {{x}} [y]"} for n in range(3)]
    whole = json.dumps({"facts": rows, "summary": "s"})
    for end in range(len(whole)):
        with pytest.raises(AnswerUnusable):
            extraction(whole[:end])
    assert len(extraction(whole).facts) == 3


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(['{"facts": [', "]}", "}", "]", '"', "{", "[", "<think>", "</think>", "a", "```", ","])
    ).map("".join)
)
def test_extraction__any_pieces__facts_or_a_reason(text: str) -> None:
    with contextlib.suppress(AnswerUnusable):  # and nothing else
        assert isinstance(extraction(text).facts, tuple)


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "{" * 390_000, '{"facts": [' * 30_000, "<think>" * 50_000, "</think>" * 40_000,
     ("[" * 900 + "x") * 400],
    ids=["lists", "objects", "facts", "thoughts", "ends of thoughts", "many deep ones"],
)  # fmt: skip
def test_extraction__hostile_answer__quickly_refused(text: str) -> None:
    begun = time.perf_counter()
    with pytest.raises(AnswerUnusable):
        extraction(text)
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<think>b</think>c", "ac"),
        ("b</think>c", "c"),
        ("a<THINK x='1'>b", "a"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("plain <thinker>", "plain <thinker>"),
    ],
)
def test_without_thoughts__any_form__only_the_answer_is_left(text: str, left: str) -> None:
    assert without_thoughts(text) == left


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}, "c"], "a\nc"),
        ({"type": "text", "text": "a"}, "a"),
        (None, ""),
        ([None, 3, {"type": "text", "text": None}], ""),
    ],
)
def test_text_of__answers_of_providers__their_text(content: Any, text: str) -> None:
    assert text_of(content) == text
