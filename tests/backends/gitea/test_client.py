"""The client: what it says when it is refused, what it repeats and what it does not, and that the token stays in."""

import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from tests.support.local_server import Handler, Server

from holdfast_gitea.wire.client import Gitea
from holdfast_keys.faults import Closed, Passing

REPO = "agent/memory"


def test_get__answer_trickles__given_up():
    """Each piece comes in time, the whole never."""
    listening = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def trickle() -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not stopped.wait(0.05):
            try:
                connection.sendall(b" ")
            except OSError:
                break
        connection.close()

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with Gitea(address, "t", timeout_s=0.4, patience_s=0.4) as client, pytest.raises(Passing, match="too long"):
            client.repo(REPO).issues()
    finally:
        stopped.set()
        thread.join()
        listening.close()


@pytest.fixture
def certificate(tmp_path) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    words = "req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=127.0.0.1"
    places = "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem"
    subprocess.run(["openssl", *words.split(), *places.split()], cwd=tmp_path, check=True, capture_output=True)
    path = tmp_path / "certificate.pem"
    path.write_bytes(path.read_bytes() + (tmp_path / "key.pem").read_bytes())
    return path


def test_gitea__certificate_of_nobody__nothing_is_sent_until_it_is_trusted(certificate, monkeypatch):
    asked: list[str] = []

    class Tells(Handler):
        def do_GET(self) -> None:
            asked.append(self.headers["Authorization"])
            self.give(200, {}, b'{"version": "1.26.3"}')

    server = Server(("127.0.0.1", 0), Tells)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        address = f"https://127.0.0.1:{server.server_port}"
        with Gitea(address, "t") as client, pytest.raises(Closed, match="not trusted") as caught:
            client.server_version()
        assert "SSL_CERT_FILE" in caught.value.next_step
        assert asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with Gitea(address, "t") as client:
            assert client.server_version() == "1.26.3"
        assert asked == ["token t"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
