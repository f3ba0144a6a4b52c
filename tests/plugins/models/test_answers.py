"""Reading what a model answers: laws that hold for any text."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import AnswerUnusable
from holdfast_models.answers import extraction

FACTS = [{"content": 'a } ] " \\ <think> ```', "category": "goal", "confidence": 0.9}]


@pytest.mark.req("R035")
@given(st.text(max_size=60), st.text(max_size=60))
def test_extraction__prose_without_brackets_around__facts_are_found(before, after):
    for bracket in '{}[]<"':
        before, after = before.replace(bracket, ""), after.replace(bracket, "")
    rows = [{**FACTS[0], "content": "plain"}]
    assert extraction(before + json.dumps({"facts": rows}) + after).facts[0].content == "plain"


@pytest.mark.req("R035")
def test_extraction__cut_anywhere__never_part_of_the_facts():
    rows = [{**FACTS[0], "content": f"{n} {{x}} [y]"} for n in range(3)]
    whole = json.dumps({"facts": rows, "summary": "s"})
    for end in range(len(whole)):
        with pytest.raises(AnswerUnusable):
            extraction(whole[:end])
    assert len(extraction(whole).facts) == 3


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "{" * 390_000, '{"facts": [' * 30_000, "<think>" * 50_000, "</think>" * 40_000,
     ("[" * 900 + "x") * 400],
    ids=["lists", "objects", "facts", "thoughts", "ends of thoughts", "many deep ones"],
)  # fmt: skip
def test_extraction__hostile_answer__quickly_refused(text):
    begun = time.perf_counter()
    with pytest.raises(AnswerUnusable):
        extraction(text)
    assert time.perf_counter() - begun < 5


ANSWER = json.dumps({"facts": [{"content": "Uses tabs", "category": "preference", "confidence": 0.9}]})


@pytest.mark.parametrize(
    "text",
    [
        f"<think>The user likes tabs.\n{ANSWER}",
        f"<think>Perhaps {{'tabs'}}.\n```json\n{ANSWER}\n```\n",
        f'<think>A draft: {{"facts": [{{"content": "wrong"}}]}}. Better:\n{ANSWER}',
        f"<think>one</think> so <think>two {ANSWER}",
        'I weigh {"facts": [}</think>' + ANSWER,
        f'Sure:\n{{"note": "a decoy"}} {{"facts": []}}\n```json\n{ANSWER}\n```',
        json.dumps(json.loads(ANSWER)["facts"]),
        ANSWER.replace("Uses", "Writes <think> and uses"),
    ],
    ids=[
        "plain",
        "fenced",
        "after a draft",
        "second thought",
        "only its end",
        "decoys first",
        "bare list",
        "tag inside",
    ],
)
def test_extraction__answer_in_another_dress__its_fact_is_found(text):
    (fact,) = extraction(text).facts
    assert fact.content.endswith("tabs")
