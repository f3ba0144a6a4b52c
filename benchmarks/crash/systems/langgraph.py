"""LangGraph: a message in a thread's checkpoint, by the SQLite saver
(https://docs.langchain.com/oss/python/langgraph/persistence, "Checkpointer libraries")."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph


class Store:
    thread: ClassVar = {"configurable": {"thread_id": "board"}}

    def __init__(self, folder: str) -> None:
        saver = SqliteSaver(sqlite3.connect(Path(folder, "checkpoints.db"), check_same_thread=False))
        graph = StateGraph(MessagesState)
        graph.add_node("keep", lambda state: {})
        graph.add_edge(START, "keep")
        self.graph = graph.compile(checkpointer=saver)

    def write(self, text: str) -> None:
        self.graph.invoke({"messages": [("user", text)]}, self.thread, durability="sync")

    def read(self) -> Iterable[str]:
        return [message.text for message in self.graph.get_state(self.thread).values.get("messages", ())]
