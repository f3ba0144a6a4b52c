"""Extraction through the real plugins, against a server on loopback that speaks their wire protocols."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.model_server import Reply

from holdfast.api import AddOutcome, Holdfast, Message, Turn
from holdfast.config.values import PluginConfig
from holdfast_app.config import Config, ExtractConfig
from holdfast_models.base import conversation

GOOD = json.dumps(
    {
        "facts": [
            {"content": "User prefers tabs", "category": "preference", "confidence": 0.9},
            {"content": "User knows Rust", "category": "knowledge", "confidence": 0.8},
        ],
        "profile": {"work": "Builds compilers.", "topOfMind": "The parser."},
        "summary": "Talked about style.",
    }
)


@pytest.fixture
def memory(project, server, provider, clock, monkeypatch, closing) -> Any:
    """``memory(timeout_s=1)`` opens the project with the provider's plugin; with ``waits`` for ``[extract]``."""
    monkeypatch.setenv(f"HOLDFAST_{provider.upper()}_KEY", "key-123")

    def open_(waits: ExtractConfig | None = None, **more: Any) -> Holdfast:
        base = server.url + ("/v1" if provider == "openai" else "")
        settings = {"model": "small", "base_url": base, "max_retries": 0, "timeout_s": 5.0, **more}
        plugins = {provider: PluginConfig(settings=settings), "offline": PluginConfig(enabled=False)}
        config = Config(plugins=plugins, extract=waits or ExtractConfig())
        return closing(Holdfast.open(project, config=config, clock=clock))

    return open_


def turn(*texts: str) -> Turn:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    roles = ("user", "assistant")
    return Turn(messages=[Message(role=roles[n % 2], text=t, at=at, id=f"m{n}-{t[:9]}") for n, t in enumerate(texts)])


def contents(memory: Holdfast) -> list[str]:
    return [f.content for f in memory.facts.list()]


def test_complete__returns_a_text_itself__is_named_and_in_the_usage(memory, project, monkeypatch):
    monkeypatch.setattr("holdfast_models.retry.persist", lambda *_, **__: GOOD)
    (failure,) = memory().extract(turn("I like tabs.")).failures
    assert "`complete` must be a Completion, not str" in str(failure)
    assert "`complete` must be a Completion" in (project / ".holdfast" / "state" / "usage.jsonl").read_text()


@pytest.mark.req("R033", "R034", "R035", "R036")
def test_extract__one_turn__model_asked_once_with_both_texts_and_facts_stored(memory, server, provider, project):
    server.answers(GOOD)
    opened = memory()
    result = opened.extract(turn("I like tabs. I write Rust.", "Noted, tabs it is."), source="chat-7")
    (request,) = server.requests
    sent = json.dumps(request.body, ensure_ascii=False)
    assert "I like tabs. I write Rust." in sent
    assert "Noted, tabs it is." in sent
    assert request.body["model"] == "small"
    keys = [request.headers.get(name) for name in ("authorization", "x-api-key")]  # which one is the SDK's to choose
    assert {"Bearer key-123", "key-123"} & set(keys)
    assert [(f.content, f.category, f.confidence, f.source) for f in opened.facts.list()] == [
        ("User prefers tabs", "preference", 0.9, "chat-7"),
        ("User knows Rust", "knowledge", 0.8, "chat-7"),
    ]
    assert result.added == tuple(f.id for f in opened.facts.list())
    assert (result.failures, result.queued, result.profile) == ((), 0, True)
    assert (opened.profile.work, opened.profile.top_of_mind) == ("Builds compilers.", "The parser.")
    (row,) = (project / ".holdfast" / "state" / "usage.jsonl").read_text().splitlines()
    usage = json.loads(row)
    used = [usage[name] for name in ("plugin", "model", "input_tokens", "output_tokens")]
    assert used == [provider, "small", 120, 30]


def test_extract__long_conversation__asked_in_pieces_and_tools_left_out(memory, server):
    at = datetime(2026, 11, 21, tzinfo=UTC)
    turns = [turn(f"question {n} " + "x" * 7_000, f"answer {n}") for n in range(20)]
    turns.append(Turn(messages=[Message(role="tool", text="rm -rf output", at=at, id="t", tool="sh")]))
    memory().extract(turns)
    assert len(server.requests) == 3
    sent = json.dumps([r.body for r in server.requests])
    assert all(f"question {n} " in sent for n in range(20))
    assert "rm -rf" not in sent


@pytest.mark.req("R035")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(text=GOOD[:90], stop="length"), id="truncated in a text"),
        pytest.param(Reply(text=GOOD[: GOOD.index("}, ") + 1]), id="truncated after a fact"),
        pytest.param(Reply(text=""), id="empty"),
        pytest.param(Reply(refusal="I cannot help with that."), id="refusal field"),
        pytest.param(Reply(text="I'm sorry, I cannot help with that.", stop="refusal"), id="refusal in words"),
    ],
)
def test_extract__answer_without_usable_facts__nothing_changes_and_the_turn_waits(memory, server, reply, project):
    server.answers(reply)
    opened = memory()
    opened.facts.create("before")
    result = opened.extract(turn("a", "b"))
    assert (len(result.failures), result.queued, result.judged) == (1, 1, ())
    assert contents(opened) == ["before"]
    assert (project / ".holdfast" / "state" / "extract.jsonl").exists()


@pytest.mark.req("R036", "R038", "R039", "R057")
def test_extract__some_bad_facts__good_ones_stored_each_outcome_told(memory, server):
    rows = [
        {"content": "one", "category": "goal", "confidence": 0.9},
        {"content": "ONE", "category": "goal", "confidence": 0.9},
        {"content": "two", "category": "workflow", "confidence": 0.9},
        {"content": "three", "category": "goal", "confidence": 0.49},
        {"content": "four", "category": "goal", "confidence": 1.2},
        {"content": "five", "category": "goal"},
        {"category": "goal", "confidence": 0.9},
        {"content": "six", "category": "goal", "confidence": True},
        {"content": "seven", "category": "goal", "confidence": None},
        {"content": "eight", "category": "goal", "confidence": "0.9"},
        "nine",
        None,
    ]
    text = json.dumps({"facts": rows}).replace("1.2", "NaN")
    server.answers(text)
    opened = memory()
    result = opened.extract(turn("a", "b"))
    assert contents(opened) == ["one", "eight"]
    outcomes = [j.result.outcome for j in result.judged]
    assert [o.value for o in outcomes] == [
        "added", "duplicate", "refused", "below threshold", *["refused"] * 5, "added", "refused", "refused",
    ]  # fmt: skip
    assert result.judged[1].result.duplicate_of == opened.facts.list()[0].id
    assert all(j.result.reason for j in result.judged if j.result.outcome is AddOutcome.REFUSED)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(Reply(status=429, headers={"Retry-After": "0.05"}), id="429"),
        pytest.param(Reply(status=500, headers={"Retry-After": "0"}), id="500"),
        pytest.param(Reply(text=GOOD, cut=True), id="cut connection"),
        pytest.param(Reply(text=GOOD, delay_s=0.6), id="slow"),
    ],
)
def test_extract__trouble_that_passes__asked_again_and_facts_stored(memory, server, first):
    server.answers(first, GOOD)
    is_slow = first.delay_s > 0  # the short limit may also end the next try on a busy machine
    opened = memory(max_retries=4 if is_slow else 1, timeout_s=0.3 if is_slow else 5.0)
    assert opened.extract(turn("a", "b")).failures == ()
    assert 2 <= len(server.requests) <= (5 if is_slow else 2)
    assert len(contents(opened)) == 2


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(status=429), "answered with HTTP status 429. The quota is used up for now."),
        (Reply(status=401), "answered with HTTP status 401. Set a valid key: `holdfast auth set {0} --origin {1}`."),
        (Reply(delay_s=0.6), "took too long to answer. Check `base_url` and the network."),
        (Reply(text="Hello."), "holds no list `facts`. Another model may do better: `[plugins.{0}] model`."),
        (Reply(text=GOOD, stop="max_tokens"), "answer was cut off. Raise `[plugins.{0}] max_tokens`."),
    ],
    ids=["429", "401", "time-out", "no JSON", "cut off"],
)
def test_extract__fails__one_sentence_and_the_step_that_fits(memory, server, provider, reply, told):
    server.answers(reply)
    [failure] = memory(timeout_s=0.3 if reply.delay_s else 5.0).extract(turn("a", "b")).failures
    assert failure.startswith(f"{provider}: The ")
    again = " It is retried automatically, or now with `holdfast extract --queued`."
    assert failure.endswith(told.format(provider, server.url) + again)


PAGE = b"<!doctype html><title>Sign in</title><p>Welcome to the hotel.</p>"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(PAGE, "text/html; charset=utf-8", id="a page"),
        pytest.param(json.dumps({"choices": [{}], "content": [{}]}).encode(), "application/json", id="nothing inside"),
    ],
)
def test_extract__something_else_answers__asked_once_and_told_to_check_base_url(memory, server, provider, body, kind):
    server.answers(Reply(raw=(body, kind)))
    opened = memory(max_retries=3)
    result = opened.extract(turn("I like tabs"))
    assert contents(opened) == []
    [failure] = result.failures
    assert failure.startswith(
        f"{provider}: The server at the {provider} endpoint does not speak its API. Check `base_url`;"
    )
    assert (len(server.requests), result.queued) == (1, 1)


def test_conversation__calls_of_tools__are_counted_and_those_at_the_end_shown_with_their_errors():
    at = datetime(2026, 11, 21, tzinfo=UTC)
    rows = (
        [("user", "Write both.", ""), ("assistant", "Hm.", "thinking")]
        + [row for _ in range(2) for row in (("assistant", "Write: a.md", "Write"), ("tool", "written", "Write"))]
        + [("assistant", "Both are written.", "")],
        [("user", "Push.", ""), ("assistant", "Bash: git push\nx", "Bash"), ("tool", "no route\nx", "Bash")],
    )
    turns = [
        Turn(
            messages=[
                Message(role=r, text=t, tool=tool, at=at, id=f"{n}", failed="no" in t) for n, (r, t, tool) in said
            ]
        )
        for said in (enumerate(one) for one in rows)
    ]
    assert conversation(turns).split("\n\n") == [
        "User: Write both.", "(calls tools: Write 2)", "Assistant: Both are written.", "User: Push.",
        "Assistant: (calls a tool) Bash: git push", "(the call failed) no route x",
    ]  # fmt: skip


@pytest.mark.req("R033")
def test_extract__a_stored_fact_is_out_of_date__model_sees_it_retires_it_and_the_log_keeps_it(memory, server):
    opened = memory()
    old = opened.facts.create("Invoices are sent by cron").fact
    other = opened.facts.create("Lunch is at noon").fact
    new = {"content": "The billing job sends the invoices", "category": "knowledge", "confidence": 0.9}
    server.answers(json.dumps({"facts": [new], "retire": [old.id, other.id, "fact_00000000"]}))
    opened.extract(turn("The billing job sends the invoices now, not cron.", "Noted."))
    sent = json.dumps(server.requests[-1].body)
    assert f"{old.id}: Invoices are sent by cron" in sent
    assert "Lunch is at noon" not in sent, "a fact on another subject was shown"
    assert contents(opened) == ["Lunch is at noon", new["content"]]
    (gone,) = opened.facts.trail.entries()
    assert (gone.event, gone.id, gone.content) == ("replaced", old.id, "Invoices are sent by cron")
    assert gone.by == opened.facts.list()[1].id
