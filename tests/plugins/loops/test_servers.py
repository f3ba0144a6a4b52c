"""The SDKs' own clients against servers that compact at random requests."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from tests.plugins.agents.test_real_clients import spoil
from tests.plugins.loops.test_frameworks import journal_of
from tests.support.compacting_server import CompactingServer, tokens

from holdfast import FlushRefused, Holdfast

pytestmark = pytest.mark.filterwarnings("ignore")

THRESHOLD = 2_500
REPEATED = "Go on."


def words(number: int) -> str:
    """Every third question is the same."""
    return REPEATED if number % 3 == 0 else f"question {number} " + "and more " * 300


def flushed(memory: Holdfast) -> Any:
    """A probe: every request's message must be in the journal, and flushed when the request may compact."""
    seen: list[tuple[bool, int]] = []

    def probe(body: Any) -> None:
        session = memory.session("s")
        seen.append((not session.unflushed, tokens(body)))

    return seen, probe


@pytest.mark.req("R184", "R083")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_anthropic__server_that_compacts_at_random__no_row_is_lost_and_no_summary_is_speech(stream, project):
    anthropic = pytest.importorskip("anthropic")

    moments = random.Random(3)
    with Holdfast.open(project) as memory:
        seen, probe = flushed(memory)
        with CompactingServer(lambda number: moments.random() < 0.3, probe) as server:
            client = memory.guard(anthropic.Anthropic(base_url=server.url, api_key="k"), session="s")
            trigger = {"type": "input_tokens", "value": THRESHOLD}
            edits: Any = {"edits": [{"type": "compact_20260112", "trigger": trigger}]}
            rows: list[Any] = []
            for number in range(12):
                if number % 5 == 4:  # another request of the same program
                    title: Any = [{"role": "user", "content": f"A title for turn {number}"}]
                    client.messages.create(model="m", max_tokens=10, messages=title)
                rows.append({"role": "user", "content": words(number)})
                asked: Any = {"model": "m", "max_tokens": 10, "messages": rows, "context_management": edits}
                if stream:
                    with client.beta.messages.stream(**asked) as answers:
                        answer = answers.get_final_message()
                else:
                    answer = client.beta.messages.create(**asked)
                if any(block.type == "compaction" for block in answer.content) and number % 2:
                    rows = []  # the loop drops what the block replaces
                rows.append({"role": "assistant", "content": answer.content})
        said = journal_of(memory)
    told = Counter(text for role, tool, text in said if role == "user" and "title" not in text)
    assert told == Counter(words(number).strip() for number in range(12))
    assert all(safe for safe, size in seen if size > THRESHOLD)
    assert not all(safe for safe, _ in seen), "a request that is surely below the threshold needs no flush"
    assert not any("The server's words" in text for role, tool, text in said if tool != "summary")
    assert any("The server's words" in text for role, tool, text in said)
    ties = [text for role, tool, text in said if text.startswith("[server's summary")]
    assert len(ties) == sum("The server's words" in text for role, tool, text in said)
    assert ("assistant", "", "answer 14") in said, "no request followed it"


@pytest.mark.req("R184", "R166")
def test_openai__loop_does_not_send_the_servers_item_back__its_next_request_is_flushed_first(project):
    openai = pytest.importorskip("openai")
    with Holdfast.open(project) as memory:
        seen, probe = flushed(memory)
        with CompactingServer(lambda number: True, probe) as server:
            client = memory.guard(openai.OpenAI(base_url=f"{server.url}/v1", api_key="k"), session="s")
            management: Any = [{"type": "compaction", "compact_threshold": THRESHOLD}]
            rows: Any = [{"role": "user", "content": "word " * THRESHOLD}]
            for turn in range(2):
                answer = client.responses.create(model="m", input=rows, context_management=management)
                rows += [
                    {"role": "assistant", "content": answer.output_text},
                    {"role": "user", "content": f"And {turn}?"},
                ]
    assert [safe for safe, _ in seen] == [True, True]


@pytest.mark.req("R184", "R083")
def test_openai__items_kept_by_the_server__every_row_is_journalled_and_sealed_ones_are_named(project):
    openai = pytest.importorskip("openai")

    moments = random.Random(5)
    per_request = 12
    with Holdfast.open(project) as memory:
        seen, probe = flushed(memory)
        with CompactingServer(lambda number: moments.random() < 0.6, probe) as server:
            client = memory.guard(openai.OpenAI(base_url=f"{server.url}/v1", api_key="k"), session="s")
            management: Any = [{"type": "compaction", "compact_threshold": THRESHOLD}]
            last: Any = {}
            for request in range(10):
                rows: Any = [{"role": "user", "content": words(request * per_request + n)} for n in range(per_request)]
                answer = client.responses.create(model="m", input=rows, context_management=management, **last)
                last = {"previous_response_id": answer.id}
        said = journal_of(memory)
    assert Counter(t for r, _, t in said if r == "user") == Counter(words(n).strip() for n in range(120))
    assert [t for r, tool, t in said if r == "assistant"] == [f"answer {n}" for n in range(1, 11)]
    assert all(safe for safe, _ in seen[1:]), "only the first is surely below the threshold"
    sealed = [t for _, tool, t in said if tool == "summary" and "only the provider can read" in t]
    tied = [t for _, tool, t in said if tool == "summary" and ", after flush flush_" in t]
    assert len(sealed) == len(tied) + sum("although no flush" in t for _, _, t in said) > 1


@pytest.mark.req("R184")
def test_openai__compacted_on_demand__the_prompts_in_the_answer_are_journalled_once(project):
    openai = pytest.importorskip("openai")
    with Holdfast.open(project) as memory, CompactingServer() as server:
        client = memory.guard(openai.OpenAI(base_url=f"{server.url}/v1", api_key="k"), session="s")
        rows: Any = []
        for turn in range(4):
            rows.append({"role": "user", "content": f"question {turn}"})
            rows += client.responses.create(model="m", input=rows).output
            rows = client.responses.compact(model="m", input=rows).output
        said = journal_of(memory)
    assert [text for role, _, text in said if role == "user"] == [f"question {turn}" for turn in range(4)]
    assert sum("after flush flush_" in text for _, _, text in said) == 4


@pytest.mark.req("R184", "R166")
def test_client__broken_store__a_request_that_may_compact_is_not_sent(project):
    openai = pytest.importorskip("openai")

    spoil(project)
    with Holdfast.open(project) as memory, CompactingServer() as server:
        client = memory.guard(openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k"), session=lambda body: "s")
        rows: Any = [{"role": "user", "content": "Fix it"}]

        async def main() -> None:
            await client.responses.create(model="m", input=rows)
            with pytest.raises(FlushRefused):
                await client.with_options(timeout=5).responses.compact(model="m", input=rows)
            with pytest.raises(FlushRefused, match="JSON cannot represent"):
                await client.responses.create(model="m", input=[object()])

        asyncio.run(main())
        assert len(server.bodies) == 1
        assert journal_of(memory) == [("user", "", "Fix it"), ("assistant", "", "answer 1")]


@pytest.mark.req("R184")
def test_openai__streamed_chat__reaches_the_loop(project):
    openai = pytest.importorskip("openai")
    with Holdfast.open(project) as memory, CompactingServer() as server:
        client = memory.guard(openai.OpenAI(base_url=f"{server.url}/v1", api_key="k"), session="s")
        rows: Any = [{"role": "user", "content": "Fix it"}]
        chunks = list(client.chat.completions.create(model="m", messages=rows, stream=True))
        assert [chunk.choices[0].delta.content for chunk in chunks] == ["answer 1"]
        assert journal_of(memory) == [("user", "", "Fix it"), ("assistant", "", "answer 1")]


@pytest.mark.req("R184", "R166")
def test_openai__answer_that_cannot_be_journalled__is_kept_until_it_is(project):
    """Only the server has it: the next request names the answer and does not repeat it."""
    openai = pytest.importorskip("openai")
    sessions = project / ".holdfast/state/sessions"

    def spoil_sessions(body: Any) -> None:
        if body["input"] == "two":
            sessions.rename(project / "away")
            sessions.write_text("")

    with Holdfast.open(project) as memory, CompactingServer(probe=spoil_sessions) as server:
        client = memory.guard(openai.OpenAI(base_url=f"{server.url}/v1", api_key="k"), session="s")
        first = client.responses.create(model="m", input="one")
        second = client.responses.create(model="m", input="two", previous_response_id=first.id)
        with pytest.raises(FlushRefused):
            client.responses.create(model="m", input="three", previous_response_id=second.id)
        sessions.unlink()
        (project / "away").rename(sessions)
        client.responses.create(model="m", input="three", previous_response_id=second.id)
        assert [text for _, _, text in journal_of(memory)] == [
            "one",
            "answer 1",
            "two",
            "answer 2",
            "three",
            "answer 3",
        ]
