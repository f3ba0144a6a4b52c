"""A server on loopback that records every request and gives one answer to all of them."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.support.local_server import Handler, LocalServer


class Request(NamedTuple):
    """A request as it arrived. ``target`` is a path, or a whole address when a proxy is asked."""

    method: str
    target: str
    headers: Mapping[str, str]


class Recorder(LocalServer):
    """Answers with ``status``, ``headers`` and ``body``. A context manager."""

    def __init__(self, status: int = 200, headers: Mapping[str, str] | None = None, body: bytes = b"{}") -> None:
        self.status, self.headers, self.body = status, dict(headers or {}), body
        self.requests: list[Request] = []

    def handler(self) -> type[Handler]:
        owner = self

        class Recording(Handler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.requests.append(Request(self.command, self.path, headers))
                self.give(owner.status, owner.headers, owner.body)

        return Recording
