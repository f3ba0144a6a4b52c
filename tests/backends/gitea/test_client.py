"""The client: what it says when it is refused, what it repeats and what it does not, and that the token stays in."""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.gitea.fake_server import FakeServer

from holdfast_gitea.wire.client import Gitea
from holdfast_gitea.wire.faults import Closed, Passing

REPO = "agent/memory"


@pytest.fixture
def gitea() -> Iterator[FakeServer]:
    with FakeServer() as running:
        running.make_repo(REPO)
        running.make_issue(REPO, "t")
        yield running


def test_get__answer_trickles__given_up(gitea):
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
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = tmp_path / "certificate.pem"
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(pem) + secret)
    return path


def test_gitea__certificate_of_nobody__nothing_is_sent_until_it_is_trusted(certificate, monkeypatch):
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"version": "1.26.3"}')

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that does not trust it hangs up."""

    server = Quiet(("127.0.0.1", 0), Handler)
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
