"""Safety of the page: who gets in, which requests are answered, and what a response allows a browser to do."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.plugins.web.conftest import Client, served
from tests.support.forget import snapshot

pytest.importorskip("jinja2")

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
VIEWS = (
    "", "timeline", "sessions", "notes", "memory", "facts", "departures", "dreams", "work", "outbox", "search", "start",
)  # fmt: skip


def test_link__with_its_token__sets_a_strict_cookie_and_leaves_the_address(opened):
    with served(opened()) as client:
        answer = client.raw("GET", f"{client.prefix}?{client.token}")
        assert answer.status == 303
        assert answer.headers["Location"] == client.prefix
        cookie = answer.headers["Set-Cookie"]
        assert "; HttpOnly" in cookie
        assert "; SameSite=Strict" in cookie
        assert f"; Path={client.prefix};" in cookie
        assert client.token.removeprefix("token=") not in cookie
        client.cookie = cookie.partition(";")[0]
        assert client.get().status == 200


def test_page__without_the_token__shows_nothing_of_the_project(opened):
    memory = opened()
    with served(memory) as client:
        for query in ("", "?token=wrong", "?token=%C3%A9"):
            answer = client.get(query)
            assert answer.status == 403
            assert Path(memory.services.root).name not in answer.text
            assert client.prefix not in answer.text
        for path in ("/", "/sessions", "/%2e%2e/"):
            refused = client.raw("GET", path)
            assert (refused.status, client.prefix in refused.text) == (403, False)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", ""])
def test_host_header__of_another_name__is_refused(serve, host):
    client = serve()
    assert client.raw("GET", client.prefix, Host=host).status == 421
    assert client.raw("GET", f"{client.prefix}?{client.token}", Host=host).status == 421
    assert client.raw("GET", client.prefix, Host=f"LOCALHOST:{client.port}").status == 200


def test_response__of_every_kind__has_the_headers_that_protect_it(serve):
    client = serve()
    kinds = [client.get(), client.get("nothing"), client.raw("POST", "/"), client.raw("GET", "/static/page.css")]
    client.cookie = ""
    for answer in (*kinds, client.get()):
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Server"] is None


#: Paths that name no page.
NOWHERE = (
    "documents/..%2f..%2fetc%2fpasswd", "documents/../holdfast.toml", "documents/state/facts.log.jsonl",
    "documents/memory/%00.md", "documents/" + "a/" * 900 + "x", "documents/holdfast.toml", "documents/facts.jsonl",
    "sessions/..%2f..%2funsafe%2fx", "sessions/nobody", "facts/fact_00000000", "dreams/dream_0", "nothing",
    "%66acts%2f",
)  # fmt: skip


def test_path__that_names_no_page__is_an_error_page(serve, project):
    (project / "holdfast.toml").write_text("# hidden settings\n")
    client = serve()
    for path in NOWHERE:
        answer = client.get(path)
        assert answer.status in (400, 404), path
        assert "hidden settings" not in answer.text
        assert "Traceback" not in answer.text


def test_reading__every_view__changes_no_file_of_the_project(serve, opened, project):
    memory = opened()
    with memory.session("s1") as session:
        session.add("user", "Fix the login test")
    client = serve(memory)
    before = snapshot(project)
    for view in (*VIEWS, "sessions/s1", "search?q=login", "documents/memory/2026-11-21.md"):
        assert client.get(view).status == 200, view
    after = snapshot(project)
    assert {name: data for name, data in after.items() if "/derived/" not in name} == before  # but the index of search


def test_damage__of_a_document_or_the_facts__is_an_error_page(serve, opened, project):
    memory = opened()
    with memory.session("s1") as session:
        session.add("user", "Fix the login test")
    memory.facts.create("The login test is slow")
    memory.close()
    folder = project / ".holdfast"
    (folder / "continuity" / "active.md").write_text("not a handoff\n")
    (folder / "memory" / "2026-11-21.md").write_bytes(b"\xff\xfe broken")
    (folder / "facts.jsonl").write_bytes(b"\x00\x01 not json\n" * 3)
    client = serve()
    answers = {view: client.get(view) for view in (*VIEWS, "documents/memory/2026-11-21.md")}
    assert {a.status for a in answers.values()} <= {200, 503}
    assert "UNSAFE" in answers[""].text
    assert "cannot be read as a handoff" in answers[""].text
    assert (answers["work"].status, answers["facts"].status) == (503, 503)
    assert all("Traceback" not in a.text for a in answers.values())


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_command__until_ctrl_c__prints_the_link_once_and_serves(project):
    command = [sys.executable, "-m", "holdfast", "--root", str(project), "web", "--no-open"]
    # A shell that runs the tests in the background ignores SIGINT, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        lines = [process.stdout.readline() for _ in range(3)]
        link = lines[2].strip()
        assert link.startswith("http://127.0.0.1:")
        assert Client(link).enter().get().status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "token=" not in out
    assert "Stopped." in out
