"""mem0: a memory without inference, in its default local Qdrant with a fixed embedder
(https://docs.mem0.ai/open-source/configuration; `infer=False` stores the text as it is)."""

import os
from collections.abc import Iterable
from pathlib import Path

os.environ["MEM0_TELEMETRY"] = "False"

from langchain_core.embeddings import DeterministicFakeEmbedding
from mem0 import Memory


class Store:
    def __init__(self, folder: str) -> None:
        os.environ["MEM0_DIR"] = folder
        vectors = {"path": str(Path(folder, "qdrant")), "on_disk": True, "embedding_model_dims": 64}
        self.memory = Memory.from_config({
            "vector_store": {"provider": "qdrant", "config": vectors},
            "embedder": {"provider": "langchain", "config": {"model": DeterministicFakeEmbedding(size=64)}},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(Path(folder, "history.db")),
        })  # fmt: skip

    def write(self, text: str) -> None:
        self.memory.add(text, user_id="board", infer=False)

    def read(self) -> Iterable[str]:
        return [row["memory"] for row in self.memory.get_all(filters={"user_id": "board"}, top_k=1000)["results"]]
