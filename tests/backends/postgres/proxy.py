"""A TCP proxy on the loopback that counts round trips and cuts connections."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable

#: Seconds in which the rest of a request arrives.
_REST_S = 0.01
#: The client's message Flush, which has no answer, and how an answer ends: ReadyForQuery.
_FLUSH = b"H\0\0\0\4"
_READY = tuple(b"Z\0\0\0\5" + state for state in (b"I", b"T", b"E"))


class Proxy:
    """Passes everything on. ``trips`` counts changes of direction from the client to the server. With
    ``mute`` the server's answers are swallowed. :meth:`cut_at` closes both ends between two protocol messages, once;
    ``cut`` counts how often."""

    def __init__(self, port: int) -> None:
        self.port_of_server = port
        self.cut = self.trips = self.connections = 0
        self.mute = False
        self._side, self._messages, self._rest = False, -1, 0
        self._asking = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def close(self) -> None:
        for one in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for one in (self._listener, *self._ends):
            one.close()

    def cut_at(self, message: int, *, answers: bool) -> None:
        """Close both ends before the message with this number, from 0, of the next call or its answer."""
        self._side, self._messages, self._rest = answers, message, 0

    def _before_cut(self, data: bytes) -> int:
        """The number of bytes to pass on; all of them when the cut is not in ``data``."""
        at = self._rest
        while at < len(data):
            if self._messages == 0:
                return at
            self._messages -= 1
            at += 1 + int.from_bytes(data[at + 1 : at + 5], "big")
        self._rest = at - len(data)
        return len(data)

    def _start(self, target: Callable[..., None], *args: object) -> None:
        self._threads.append(threading.Thread(target=target, args=args, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port_of_server))
            except OSError:
                return
            self.connections += 1
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ends.append(end)
            self._start(self._pump, client, server, False)
            self._start(self._pump, server, client, True)

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if answers:
                    # On a busy machine the server answers the first part of a request before the rest of it is read.
                    self._asking = not data.endswith(_READY) and bool(select.select([target], [], [], _REST_S)[0])
                elif data != _FLUSH:  # on a busy machine it comes after the answer
                    self.trips += not self._asking
                    self._asking = True
                if answers and self.mute:
                    continue
                if answers == self._side and self._messages >= 0:
                    passed = data[: self._before_cut(data)]
                    if len(passed) < len(data):
                        self._messages = -1
                        target.sendall(passed)
                        self.cut += 1
                        break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
