"""A checkpointed LangGraph agent whose summarisation node cannot drop a message before it is safe on disk.

    pip install holdfast-memory langgraph
    python examples/langgraph_agent.py FOLDER

The "model" answers from a list, so that this runs anywhere; put a chat model in its place. LangGraph's checkpoint holds
the graph's own state; holdfast keeps what must survive it: another thread, another provider, or nothing but the files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from holdfast import FlushRefused, Holdfast

MAX_MESSAGES = 3  # in the state; tiny, so that the example compacts
CALL = {"name": "run_tests", "args": {"suite": "login"}, "id": "c1"}


def scripted_model() -> Iterator[AIMessage]:
    """A stand-in for a chat model."""
    yield AIMessage("", tool_calls=[CALL])
    yield AIMessage("It is flaky. Decision: inject the clock instead of mocking it.")
    yield AIMessage("Done, 41 passed. Next: run the suite ten times on staging.")


def thread_of(state: MessagesState, config: RunnableConfig) -> str:
    """The session is the thread, so each conversation of a graph is flushed separately."""
    return str(config["configurable"]["thread_id"])


def build(memory: Holdfast) -> Any:
    """The graph: compact when it is too long, ask the model, run its tools, record the conversation."""
    model = scripted_model()

    @memory.guard(session=thread_of)
    def summarise(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        """Drop everything except the current request. The brief from files replaces the dropped messages."""
        print(f"compacted: {len(state['messages']) - 1} messages are in the files now")
        brief = HumanMessage(str(memory.load(max_chars=2000)))
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), brief, state["messages"][-1]]}

    def compact(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        try:
            return summarise(state, config)
        except FlushRefused as refused:  # nothing was dropped: go on with the long state, and say why
            print(f"not compacted: {refused}", file=sys.stderr)
            return {}

    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [next(model)]}

    def tools(state: MessagesState) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [ToolMessage("login: 41 passed", tool_call_id=c["id"], name=c["name"]) for c in calls]}

    def record(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        memory.session(thread_of(state, config)).mirror.keep(state["messages"])
        return {}

    graph = StateGraph(MessagesState)
    for name, node in (("compact", compact), ("agent", agent), ("tools", tools), ("record", record)):
        graph.add_node(name, node)
    graph.add_conditional_edges(START, lambda s: "compact" if len(s["messages"]) > MAX_MESSAGES else "agent")
    graph.add_edge("compact", "agent")
    graph.add_edge("agent", "record")  # on disk before the next step
    graph.add_conditional_edges("record", lambda s: "tools" if getattr(s["messages"][-1], "tool_calls", []) else END)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=InMemorySaver())


def main(root: str) -> None:
    with Holdfast.open(root) as memory:
        graph = build(memory)
        thread: RunnableConfig = {"configurable": {"thread_id": "login-test"}}
        for request in ("Fix the flaky login test.", "Do it."):
            state = graph.invoke({"messages": [HumanMessage(request)]}, thread)
            print(state["messages"][-1].content)
        memory.session("login-test").end()  # the end is a flush too; it raises when that fails
    with Holdfast.open(root) as memory:  # as another process would, without the checkpoint
        print(memory.load())


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python examples/langgraph_agent.py FOLDER")
    main(sys.argv[1])
