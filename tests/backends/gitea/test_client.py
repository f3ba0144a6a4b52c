"""The client: what it says when it is refused, what it repeats and what it does not, and that the token stays in."""

import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.processes import finished
from tests.support.recorder import Recorder

from holdfast.api import HoldfastError, PluginContext
from holdfast_app.search.embedders import Embeddings
from holdfast_gitea.wire.client import Gitea
from holdfast_keys.faults import Closed

REPO = "agent/memory"


OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("ask", ["forge", "model"])
@pytest.mark.parametrize(
    ("begins", "piece"),
    [
        pytest.param(OK + b"X: ", b"a", id="header"),
        pytest.param(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", id="interim answers"),
        pytest.param(OK + b"Content-Length: 100000\r\n\r\n", b" ", id="body"),
        pytest.param(CHUNKED, b"1\r\n \r\n", id="chunks"),
        pytest.param(CHUNKED + b"0\r\n", b"X", id="trailer"),
    ],
)
def test_request__answer_trickles__given_up(begins, piece, ask):
    """Each piece comes in time, the whole never."""

    def trickle() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(begins)
            while True:
                connection.sendall(piece)
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=trickle, daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        model = Embeddings(context=PluginContext("e", {"model": "m", "base_url": address, "timeout_s": 0.4}, "", ""))
        forge = Gitea(address, "t", timeout_s=0.4, patience_s=0.4)
        with pytest.raises(HoldfastError, match="took too long"):
            forge.server_version() if ask == "forge" else model.embed(["x"])


@pytest.mark.parametrize(
    ("module", "ask"),
    [
        ("holdfast_gitea.wire.client", 'Gitea("https://x.test", "t", timeout_s=2, patience_s=2).server_version()'),
        (
            "holdfast_postgres.database",
            'Database("postgresql://x.test/x", "a", password=None, timeout_s=2, connections=1).version()',
        ),
    ],
)
def test_request__names_are_not_looked_up__given_up(module, ask, tmp_path):
    """In a network of its own, with a name server that never answers."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    script = f"import socket\nfrom {module} import *\nserver = socket.socket(type=socket.SOCK_DGRAM)\n"
    script += f"server.bind(('127.0.0.1', 53))\ntry: {ask}\nexcept Exception as error: print(error)\n"
    words = f"mount --bind {tmp_path}/resolv.conf /etc/resolv.conf && {sys.executable} -c {shlex.quote(script)}"
    began = time.monotonic()
    done = finished(["unshare", "-r", "-m", "-n", "sh", "-c", f"ip link set lo up && {words}"])
    if done.returncode:
        pytest.skip("this machine gives no name space for networks")
    assert "does not answer" in done.stdout
    assert time.monotonic() - began < 8


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
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Recorder(body=b'{"version": "1.26.3"}') as server:
        server._httpd.socket = context.wrap_socket(server._httpd.socket, server_side=True)
        gitea = Gitea(server.url.replace("http:", "https:"), "t")
        with pytest.raises(Closed, match="not trusted") as caught:
            gitea.server_version()
        assert "SSL_CERT_FILE" in caught.value.next_step
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert gitea.server_version() == "1.26.3"
        assert server.requests[0].headers["authorization"] == "token t"
        gitea.close()
