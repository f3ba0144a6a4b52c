"""What goes wrong between a client and a server: a proxy on loopback that spoils the n-th request of a kind.

with FaultProxy(gitea.url) as proxy:
    proxy.spoil("POST", r"/comments$", FAULTS["answer lost"])
    ...                                   # the client talks to proxy.url
    assert proxy.spoilt == ["answer lost"]
"""

import contextlib
import http.client
import re
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from attrs import define, field, frozen
from tests.support.local_server import Handler, LocalServer

#: What a sign-in page or a hosting company's error page looks like.
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>"

Answering = Literal["status", "truth", "cut", "garbled", "page", "nothing", "reset"]


@frozen(kw_only=True)
class Fault:
    """``reaches``: the server gets the request. ``late``: it gets it only after that many further requests.
    ``answering``: what the client gets, after ``delay_s``; ``status`` with ``headers`` for an answer made up."""

    name: str
    reaches: bool
    answering: Answering
    status: int = 0
    headers: Mapping[str, str] = field(factory=dict)
    late: int | None = None
    delay_s: float = 0.0


def _table(*faults: Fault) -> dict[str, Fault]:
    return {fault.name: fault for fault in faults}


#: Every fault, by name. ``slow`` ones answer after ``SLOW_S``: give the client a shorter time-out.
SLOW_S = 1.5
FAULTS = _table(
    Fault(name="answer lost", reaches=True, answering="nothing"),
    Fault(name="answer cut", reaches=True, answering="cut"),
    Fault(name="answer garbled", reaches=True, answering="garbled"),
    Fault(name="answer slow", reaches=True, answering="truth", delay_s=SLOW_S),
    Fault(name="page instead of the answer", reaches=True, answering="page", status=200),
    Fault(name="500 after the write", reaches=True, answering="status", status=500),
    Fault(name="502 after the write", reaches=True, answering="status", status=502),
    Fault(name="reset after the write", reaches=True, answering="reset"),
    Fault(name="request lost", reaches=False, answering="nothing"),
    Fault(name="500 before the write", reaches=False, answering="status", status=500),
    Fault(name="502 before the write", reaches=False, answering="status", status=502),
    Fault(name="503 with Retry-After", reaches=False, answering="status", status=503, headers={"Retry-After": "0"}),
    Fault(name="429 with Retry-After", reaches=False, answering="status", status=429, headers={"Retry-After": "0"}),
    Fault(name="reset before the write", reaches=False, answering="reset"),
    Fault(name="page instead of the server", reaches=False, answering="page", status=200),
    Fault(name="504, never written", reaches=False, answering="status", status=504),
    Fault(name="504, written at once", reaches=True, answering="status", status=504),
    Fault(name="504, written before the next request", reaches=False, answering="status", status=504, late=0),
    Fault(name="504, written one request later", reaches=False, answering="status", status=504, late=1),
    Fault(name="504, written two requests later", reaches=False, answering="status", status=504, late=2),
    Fault(name="504, written three requests later", reaches=False, answering="status", status=504, late=3),
)
#: The faults that differ for what a store makes of them: whether and when the request reaches the server.
_LATE = tuple(name for name, fault in FAULTS.items() if fault.late is not None)
KINDS = ("answer lost", "answer slow", "request lost", *_LATE)


@define
class _Rule:
    method: str
    pattern: re.Pattern[str]
    fault: Fault
    nth: int
    times: int
    seen: int = 0

    def hits(self, method: str, path: str) -> bool:
        if method != self.method or not self.pattern.search(path):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


@frozen(kw_only=True)
class _Asked:
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@frozen(kw_only=True)
class Answered:
    """What the server answered."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@define
class FaultProxy(LocalServer):
    """Stands before ``target`` (an address without a path). A context manager."""

    target: str
    spoilt: list[str] = field(factory=list)
    _rules: list[_Rule] = field(factory=list)
    _held: list[tuple[int, _Asked]] = field(factory=list)
    _lock: threading.RLock = field(factory=threading.RLock)

    def spoil(self, method: str, path: str, fault: Fault, *, nth: int = 1, times: int = 1) -> None:
        """Spoil the ``nth`` request from now on whose path (without query) matches, and ``times`` - 1 after it."""
        with self._lock:
            self._rules.append(_Rule(method, re.compile(path), fault, nth, times))

    def heal(self) -> None:
        """Spoil nothing any more; what is held back goes to the server now."""
        with self._lock:
            self._rules.clear()
            for _, asked in self._held:
                self._forward(asked)
            self._held.clear()

    def handler(self) -> type[Handler]:
        return type("Bound", (_Handler,), {"proxy": self})

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.heal()

    def fault_for(self, asked: _Asked) -> Fault | None:
        path = urlsplit(asked.target).path
        with self._lock:
            # Every rule counts, whichever is the one that fires.
            hit = [rule.fault for rule in self._rules if rule.hits(asked.method, path)]
            self.spoilt += [fault.name for fault in hit[:1]]
            return hit[0] if hit else None

    def serve(self, asked: _Asked) -> tuple[Fault | None, Answered | None]:
        """Pass the request on, or hold it back, as the fault has it."""
        fault = self.fault_for(asked)
        self._deliver()
        if fault is None or fault.reaches:
            return fault, self._forward(asked)
        if fault.late is not None:
            with self._lock:
                self._held.append((fault.late, asked))
        return fault, None

    def _deliver(self) -> None:
        """Write what was held back long enough: this comes before the request that is being served."""
        with self._lock:
            due = [asked for left, asked in self._held if left == 0]
            self._held[:] = [(left - 1, asked) for left, asked in self._held if left > 0]
            for asked in due:
                self._forward(asked)

    def _forward(self, asked: _Asked) -> Answered:
        split = urlsplit(self.target)
        assert split.hostname
        connection = http.client.HTTPConnection(split.hostname, split.port, timeout=30)
        try:
            connection.request(asked.method, asked.target, body=asked.body or None, headers=dict(asked.headers))
            answer = connection.getresponse()
            return Answered(status=answer.status, headers=tuple(answer.getheaders()), body=answer.read())
        finally:
            connection.close()


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    proxy: FaultProxy

    def _serve(self) -> None:
        asked = _Asked(
            method=self.command,
            target=self.path,
            headers={name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")},
            body=self.rfile.read(int(self.headers.get("Content-Length") or 0)),
        )
        fault, answered = self.proxy.serve(asked)
        if fault is None:
            assert answered
            self._send(answered.status, answered.headers, answered.body)
        else:
            time.sleep(fault.delay_s)
            self._spoil(fault, answered)

    def _spoil(self, fault: Fault, answered: Answered | None) -> None:
        match fault.answering:
            case "truth":
                assert answered
                self._send(answered.status, answered.headers, answered.body)
            case "cut" | "garbled":
                assert answered
                half = answered.body[: len(answered.body) // 2]
                garbage = bytes(255 - byte for byte in answered.body)
                body = half if fault.answering == "cut" else garbage
                self._send(answered.status, answered.headers, body, length=len(answered.body))
                self.close_connection = True
            case "page":
                self._send(fault.status, (("Content-Type", "text/html; charset=utf-8"),), PAGE)
            case "status":
                self._send(fault.status, (*fault.headers.items(), ("Content-Type", "text/html")), PAGE)
            case "nothing":
                self.close_connection = True
            case "reset":
                # Without lingering, closing sends RST instead of FIN.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True

    def _send(self, status: int, headers: Any, body: bytes, *, length: int | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()
