"""Each framework's own compactor under the guard, run by the real package with a scripted model.

Every question is the same text, so that a row which is matched to an older one would be missing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.test_real_clients import spoil
from tests.support.compacting_server import CompactingServer

from holdfast import Holdfast
from holdfast.journal.safety import State

pytestmark = pytest.mark.filterwarnings("ignore")

TURNS = 8
ASKED = "Go on."
Counts = list[int]


def journal_of(memory: Holdfast, session: str = "s") -> list[tuple[str, str, str]]:
    entries = memory.session(session).journal.entries()
    return [(r["role"], r.get("tool", ""), r["text"]) for e in entries if (r := e.record)["kind"] == "message"]


def _langchain_model(seen: Counts) -> Any:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **more: Any) -> Any:
            seen.append(len(messages))
            return super()._generate(messages, *args, **more)

    return Scripted(messages=iter(AIMessage(f"answer {n}") for n in range(1, 40)))


async def _agent(model: Any, middleware: Any) -> None:
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver

    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    for turn in range(TURNS):
        state = {"messages": [HumanMessage(ASKED)]}
        if turn % 2:
            await agent.ainvoke(state, thread)
        else:
            await asyncio.to_thread(agent.invoke, state, thread)


async def langchain(memory: Holdfast, root: Path, seen: Counts) -> None:
    from langchain.agents.middleware import SummarizationMiddleware

    model = _langchain_model(seen)
    shorten = SummarizationMiddleware(model, trigger=("messages", 6), keep=("messages", 2), summarizer=lambda _: "SUM")
    await _agent(model, memory.guard(shorten, session="s"))


async def deepagents(memory: Holdfast, root: Path, seen: Counts) -> None:
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.summarization import SummarizationMiddleware

    model = _langchain_model(seen)
    backend = FilesystemBackend(root_dir=root / "offloaded", virtual_mode=True)
    shorten = SummarizationMiddleware(
        model=_langchain_model([]), backend=backend, trigger=("messages", 6), keep=("messages", 2)
    )
    await _agent(model, memory.guard(shorten, session="s"))


async def pydantic_ai(memory: Holdfast, root: Path, seen: Counts) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart
    from pydantic_ai.models.function import FunctionModel

    def respond(messages: Any, info: Any) -> ModelResponse:
        seen.append(len(messages))
        return ModelResponse(parts=[ThinkingPart("hm"), TextPart(f"answer {len(seen)}")])

    shorten = memory.guard(ProcessHistory(lambda rows: rows[-3:]), session="s")
    agent = Agent(FunctionModel(respond), instructions="Be brief", capabilities=[shorten])
    history: Any = []
    for _ in range(TURNS):
        history = (await agent.run(ASKED, message_history=history)).all_messages()


async def google_adk(memory: Holdfast, root: Path, seen: Counts) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.apps.app import App, EventsCompactionConfig
    from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai.types import Content, Part

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            seen.append(len(llm_request.contents))
            thought = Part(text="hm", thought=True)
            yield LlmResponse(content=Content(role="model", parts=[thought, Part(text=f"answer {len(seen)}")]))

    class Summarizes(Scripted):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            yield LlmResponse(content=Content(role="model", parts=[Part(text="SUM")]))

    shorten = memory.guard(LlmEventSummarizer(llm=Summarizes(model="m")), session="s")
    compaction = EventsCompactionConfig(summarizer=shorten, compaction_interval=2, overlap_size=1)
    root_agent = LlmAgent(name="agent", model=Scripted(model="m"))
    sessions = InMemorySessionService()
    runner = Runner(
        app=App(name="app", root_agent=root_agent, events_compaction_config=compaction), session_service=sessions
    )
    await sessions.create_session(app_name="app", user_id="u", session_id="x")
    for _ in range(TURNS):
        said = Content(role="user", parts=[Part(text=ASKED)])
        async for _event in runner.run_async(user_id="u", session_id="x", new_message=said):
            pass


async def agent_framework(memory: Holdfast, root: Path, seen: Counts) -> None:
    from agent_framework import (
        Agent,
        BaseChatClient,
        ChatResponse,
        CompactionProvider,
        InMemoryHistoryProvider,
        Message,
    )
    from agent_framework._compaction import SummarizationStrategy

    class Scripted(BaseChatClient):
        def __init__(self, text: str = "", counts: Counts = seen) -> None:
            super().__init__()
            self.text, self.counts = text, counts

        def _inner_get_response(self, *, messages: Any, stream: Any, options: Any, **more: Any) -> Any:
            async def answer() -> ChatResponse:
                self.counts.append(len(messages))
                return ChatResponse(messages=[Message("assistant", [self.text or f"answer {len(seen)}"])])

            return answer()

    shorten = SummarizationStrategy(client=Scripted("SUM", []), target_count=2, threshold=1)
    history = InMemoryHistoryProvider()
    provider = CompactionProvider(
        before_strategy=memory.guard(shorten, session="s"), history_source_id=history.source_id
    )
    agent = Agent(client=Scripted(), name="a", context_providers=[history, provider])
    session = agent.create_session()
    for _ in range(TURNS):
        await agent.run(ASKED, session=session)


async def openai_agents(memory: Holdfast, root: Path, seen: Counts) -> None:
    import openai
    from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession, set_tracing_disabled
    from agents.memory import OpenAIResponsesCompactionSession

    set_tracing_disabled(True)
    with CompactingServer(probe=lambda body: seen.append(len(body["input"]))) as server:
        client = openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k")
        stored = OpenAIResponsesCompactionSession(
            "s",
            SQLiteSession("s"),
            client=client,
            compaction_mode="input",
            should_trigger_compaction=lambda context: len(context["session_items"]) >= 6,
        )
        session = memory.guard(stored)
        for _ in range(TURNS):
            await Runner.run(Agent(name="a", model=OpenAIResponsesModel("gpt-4.1", client)), ASKED, session=session)
        await session.run_compaction({"force": True})


FRAMEWORKS = {
    langchain: "langchain",
    deepagents: "deepagents",
    pydantic_ai: "pydantic_ai",
    google_adk: "google.adk",
    agent_framework: "agent_framework",
    openai_agents: "agents",
}


@pytest.mark.req("R184", "R083")
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda f: f.__name__)
def test_guard__framework_that_compacts__every_row_is_journalled_once_and_no_summary_as_speech(framework, project):
    pytest.importorskip(FRAMEWORKS[framework])
    seen: Counts = []

    async def main() -> None:
        async with Holdfast.open(project) as memory:
            await framework(memory, project, seen)
            said = [row for row in journal_of(memory) if row[1] not in {"thinking", "summary"}]
            asked = [row for row in said if row[0] == "user"]
            answered = [row[2] for row in said if row[0] == "assistant"]
            assert {row[2] for row in asked} == {ASKED}, "no summary counts as the user's words"
            late = framework in (google_adk, agent_framework)  # the last turns have not passed a compactor yet
            assert TURNS - late <= len(asked) <= TURNS
            assert all(text.startswith("answer ") for text in answered)
            assert len(set(answered)) == len(answered) >= TURNS - 2 * late
            assert memory.session("s").last_receipt is not None

    asyncio.run(main())
    assert max(seen) < 2 * TURNS - 1, f"nothing compacted: {seen}"


@pytest.mark.req("R184", "R166")
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda f: f.__name__)
def test_guard__framework_and_a_broken_store__goes_on_with_every_row(framework, project, caplog):
    pytest.importorskip(FRAMEWORKS[framework])
    seen: Counts = []
    spoil(project)

    async def main() -> None:
        async with Holdfast.open(project) as memory:
            await framework(memory, project, seen)
            assert memory.session("s").state is State.UNSAFE

    asyncio.run(main())
    assert seen == sorted(seen), f"a request was shortened: {seen}"
    assert len(seen) == TURNS
    assert "is not compacted" in caplog.text


def test_guard__middleware_that_adds_a_message__is_no_compaction(project):
    pytest.importorskip("langchain")
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import HumanMessage

    class Adds(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> Any:
            return {"messages": [HumanMessage("Be careful")]}

    with Holdfast.open(project) as memory:
        agent = create_agent(_langchain_model([]), middleware=[memory.guard(Adds(), session="s")])
        agent.invoke({"messages": [HumanMessage(ASKED)]})
        assert [text for _, _, text in journal_of(memory)] == [ASKED, "Be careful", "answer 1"]
        assert len(memory.session("s").messages) == 3
        assert memory.session("s").last_receipt is None
