"""The HTTP server: loopback only, GET and HEAD only, one request per connection, stops when idle."""

import logging
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from holdfast.api import Holdfast, Unavailable
from holdfast_web.site import Response, Site

logger = logging.getLogger(__name__)

_HOST: Final = "127.0.0.1"
#: Seconds that a connection may take to send its request, or to take the answer.
_PATIENCE_S: Final = 15.0


class Server(ThreadingHTTPServer):
    """Serves a project's pages until it is shut down, or until no request came for ``idle_s`` seconds."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name == "posix"  # elsewhere it would let another process take the port
    request_queue_size = 64

    def __init__(self, memory: Holdfast, port: int, *, idle_s: float) -> None:
        """Bind to loopback; ``port`` 0 picks a free one. Raises: Unavailable."""
        self._idle_s = idle_s
        self._last = time.monotonic()
        try:
            super().__init__((_HOST, port), _Handler)
        except OSError as error:
            step = "Leave out --port to use a free port."
            raise Unavailable(f"Port {port} cannot be used: {error.strerror}.", next_step=step) from error
        self.site = Site(memory, port=self.server_port)

    def server_bind(self) -> None:
        """Bind without the base class's reverse name lookup, which can stall."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = _HOST, int(self.server_address[1])

    def run(self) -> None:
        self._last = time.monotonic()
        self.serve_forever(poll_interval=0.1)

    def service_actions(self) -> None:
        """Called between requests by the serving thread, which must not wait for itself."""
        if time.monotonic() - self._last > self._idle_s:
            threading.Thread(target=self.shutdown, daemon=True).start()
            self._last = float("inf")

    def process_request(self, request: Any, client_address: Any) -> None:
        self._last = max(self._last, time.monotonic())
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is not an error of the server."""
        logger.debug("a connection ended with an error")


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _PATIENCE_S
    server_version = "holdfast"
    sys_version = ""

    def do_GET(self) -> None:
        host, cookie = self.headers.get_all("Host") or [], self.headers.get_all("Cookie") or []
        headers = {"host": host[0] if len(host) == 1 else "", "cookie": "; ".join(cookie)}
        self._send(self.server.site.answer(self.path, **headers))

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Errors that the base class finds, such as a malformed or too long request, and every other method."""
        self._send(self.server.site.refusal(405 if code == 501 else code))

    def _send(self, response: Response) -> None:
        self.send_response_only(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if getattr(self, "command", "") != "HEAD":
            self.wfile.write(response.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Requests are not logged: their addresses hold the token and the search words."""
