"""A server on loopback, as a context manager."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up, as one with a deadline does, is no error here."""


class Handler(BaseHTTPRequestHandler):
    """The base of those that answer; prints nothing."""

    def give(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class LocalServer:
    """The base of servers; ``handler`` gives the class that answers."""

    _httpd: Any = None
    _port = 0

    def handler(self) -> type[BaseHTTPRequestHandler]:
        raise NotImplementedError

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        """Answer; after :meth:`down` at the same address."""
        self._httpd = Server(("127.0.0.1", self._port), self.handler())
        self._port = self._httpd.server_address[1]
        threading.Thread(target=self._httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def down(self) -> None:
        self._httpd.shutdown()
        self._httpd.server_close()

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
