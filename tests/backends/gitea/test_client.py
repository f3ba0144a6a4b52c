"""The client: what it says when it is refused, what it repeats and what it does not, and that the token stays in."""

from __future__ import annotations

import ipaddress
import logging
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.faults import FAULTS, SLOW_S, Fault, FaultProxy

from holdfast.errors import ConfigError, HoldfastError, NotFound
from holdfast_gitea import marker
from holdfast_gitea.wire.client import Gitea, Repo
from holdfast_gitea.wire.faults import Absent, Closed, Passing

REPO = "agent/memory"
BODY = marker.frame("A note.", "text", id="r1", kind="blk")


@pytest.fixture
def gitea() -> Iterator[FakeServer]:
    with FakeServer() as running:
        running.make_repo(REPO)
        running.make_issue(REPO, "t")
        yield running


@pytest.fixture
def repo(gitea: FakeServer) -> Iterator[Repo]:
    with Gitea(gitea.url, gitea.token, patience_s=1.0) as client:
        yield client.repo(REPO)


@pytest.fixture
def proxy(gitea: FakeServer) -> Iterator[FaultProxy]:
    with FaultProxy(gitea.url) as running:
        yield running


@pytest.fixture
def behind(gitea: FakeServer, proxy: FaultProxy) -> Iterator[Repo]:
    """The repository through the proxy."""
    with Gitea(proxy.url, gitea.token, timeout_s=SLOW_S / 2, patience_s=5.0) as client:
        yield client.repo(REPO)


# --- refusals -------------------------------------------------------------------------------------------------


def locked(gitea: FakeServer) -> str:
    gitea.make_repo("other/public", private=False, rights={"agent": "read"})
    gitea.make_issue("other/public", "t", poster="other")
    gitea.lock("other/public", 1)
    return "other/public"


def archived(gitea: FakeServer) -> str:
    gitea.archive(REPO)
    return REPO


def renamed(gitea: FakeServer) -> str:
    gitea.rename(REPO, "new")
    return REPO


def deleted(gitea: FakeServer) -> str:
    gitea.delete_repo(REPO)
    return REPO


@pytest.mark.parametrize(
    ("spoil", "kind", "message", "step"),
    [
        (locked, Closed, "locked", "Unlock"),
        (archived, Closed, "archived", "Unarchive"),
        (renamed, Closed, "agent/new", 'repository = "agent/new"'),
        (deleted, Absent, "nothing there", "the repository's name"),
    ],
)
def test_create_comment__server_refuses__says_what_to_do_after_one_try(
    gitea: FakeServer, spoil: Callable[[FakeServer], str], kind: type[HoldfastError], message: str, step: str
) -> None:
    name = spoil(gitea)
    with Gitea(gitea.url, gitea.token) as client, pytest.raises(kind) as caught:
        client.repo(name).create_comment(1, "text")
    assert message in caught.value.message
    assert step in caught.value.next_step
    assert [seen.method for seen in gitea.requests].count("POST") == 1


def test_issue__missing__none_but_not_when_the_repository_is(gitea: FakeServer, repo: Repo) -> None:
    assert repo.issue(7) is None
    assert repo.comment(7) is None
    gitea.delete_repo(REPO)
    for ask in (lambda: repo.issue(1), lambda: repo.comment(1), lambda: repo.comments(1), repo.issues):
        with pytest.raises(Absent):
            ask()


@pytest.mark.parametrize("version", ["1.26", "1.25", "forgejo"])
def test_comments__missing_issue__not_found_at_once(version: str) -> None:
    """Gitea answers 500, Forgejo 404."""
    with FakeServer(version=version) as gitea, Gitea(gitea.url, gitea.token) as client:  # type: ignore[arg-type]
        gitea.make_repo(REPO)
        began = time.monotonic()
        for ask in (
            lambda: client.repo(REPO).comments(9),
            lambda: client.repo(REPO).create_comment(9, "text"),
            lambda: client.repo(REPO).publish(9, BODY, "r1"),
            lambda: client.repo(REPO).edit_issue(9, state="closed"),
        ):
            with pytest.raises(NotFound, match="#9"):
                ask()
        assert time.monotonic() - began < 2


# --- lists ----------------------------------------------------------------------------------------------------


def test_activity__window_of_many_pages__each_comment_once(gitea: FakeServer, repo: Repo) -> None:
    gitea.make_issue(REPO, "pull", pull=True)
    made = [gitea.make_comment(REPO, 1 + n % 2, f"c{n}") for n in range(120)]
    now = datetime.now(UTC)
    found = repo.activity(now - timedelta(minutes=1), now + timedelta(minutes=1))
    assert [one.id for one in found] == made
    assert {one.issue for one in found} == {1, 2}
    assert repo.activity(now + timedelta(hours=1), now + timedelta(hours=2)) == []


# --- what is repeated -----------------------------------------------------------------------------------------


@pytest.mark.req("R142")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_publish__any_fault__there_once_when_replayed(
    gitea: FakeServer, proxy: FaultProxy, behind: Repo, fault: Fault
) -> None:
    """0 lost, 0 duplicates: of comments with one id the first counts, and that is the one that was returned."""
    proxy.spoil("POST", "/comments$", fault)
    published = behind.publish(1, BODY, "r1")
    proxy.heal()
    again = behind.publish(1, BODY, "r1")
    there = [(number, body) for number, body in gitea.comments(REPO, 1) if "id=r1" in body]
    assert proxy.spoilt == [fault.name]
    assert there[0] == (published.id, BODY)
    assert again == published
    assert len(there) <= 2


@pytest.mark.parametrize("skew_s", [-86_400, 86_400])
def test_publish__answer_lost_and_clocks_a_day_apart__there_once(
    gitea: FakeServer, proxy: FaultProxy, behind: Repo, skew_s: float
) -> None:
    gitea.skew(skew_s)
    proxy.spoil("POST", "/comments$", FAULTS["answer lost"])
    behind.publish(1, BODY, "r1")
    assert gitea.bodies(REPO, 1) == [BODY]


def test_get__asked_to_wait_an_hour__says_so_at_once(proxy: FaultProxy, behind: Repo) -> None:
    proxy.spoil("GET", "/issues$", Fault(name="wait", reaches=False, answering="status", status=429,
                                         headers={"Retry-After": "3600"}))  # fmt: skip
    began = time.monotonic()
    with pytest.raises(Passing, match="3600 s") as caught:
        behind.issues()
    assert time.monotonic() - began < 1
    assert caught.value.retry_after_s == 3600


def test_get__answer_trickles__given_up(gitea: FakeServer) -> None:
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
def certificate(tmp_path: Path) -> Path:
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


def test_gitea__certificate_of_nobody__nothing_is_sent_until_it_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


# --- what it takes to connect ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "server", ["http://git.example.org", "git.example.org", "ftp://git.example.org", "", "https://me:pw@example.org",
               "https://example.org/?token=x", "http://127.0.0.1.example.org"],
)  # fmt: skip
def test_gitea__address_not_safe_or_none__config_error(server: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Gitea(server, "t")
    assert caught.value.next_step
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\nb", "ü"])
def test_gitea__token_that_is_none__config_error_without_it(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Gitea("https://x.org", token)
    assert repr(token)[1:-1].strip() == "" or repr(token)[1:-1] not in str(caught.value)


def test_gitea__library_missing__names_the_extra() -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from holdfast_gitea.wire.client import Gitea\n"
        "from holdfast.errors import PluginLoadFailed\n"
        "try: Gitea('https://x.org', 't')\n"
        "except PluginLoadFailed as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'holdfast-memory[gitea]'" in done.stdout


def test_client__everything_logged_and_printed__no_token(
    gitea: FakeServer, proxy: FaultProxy, behind: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    behind.publish(1, BODY, "r1")
    proxy.spoil("GET", "/issues$", FAULTS["answer lost"], times=99)
    with pytest.raises(Passing) as caught:
        behind.issues()
    said = [caplog.text, repr(behind), repr(caught.value), str(caught.value), repr(caught.value.__cause__)]
    assert "GET" in caplog.text
    assert gitea.token not in " ".join(said)
