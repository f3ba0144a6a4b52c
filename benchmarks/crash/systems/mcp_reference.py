"""The MCP reference server for memory: one entity with one observation
(https://github.com/modelcontextprotocol/servers, src/memory)."""

import json
from collections.abc import Iterable
from pathlib import Path

from systems.stdio import Server

SERVER = Path(__file__).parents[1] / "envs/node/node_modules/@modelcontextprotocol/server-memory/dist/index.js"


class Store:
    def __init__(self, folder: str) -> None:
        self.server = Server(["node", str(SERVER)], MEMORY_FILE_PATH=str(Path(folder, "memory.jsonl")))

    def write(self, text: str) -> None:
        self.server.call("create_entities", entities=[{"name": text[:9], "entityType": "note", "observations": [text]}])

    def read(self) -> Iterable[str]:
        graph = json.loads(self.server.call("read_graph"))
        return [text for entity in graph["entities"] for text in entity["observations"]]
