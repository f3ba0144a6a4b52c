"""``holdfast mcp`` as a client meets it."""

import json
import subprocess
import sys

import pytest

from holdfast import Holdfast
from holdfast.fs import durable
from holdfast_agents.records import heartbeat

pytest.importorskip("mcp_types", reason="holdfast-memory[mcp] is not installed")


from tests.plugins.mcp.conftest import WHOLE, text

NOTICE = "Notice: no hook from this client was seen"


def notes_of(project):
    """The daily notes."""
    return "\n".join(p.read_text() for p in (project / ".holdfast" / "memory").glob("*.md"))


@pytest.mark.req("R171", "R127")
def test_flush__then_load_by_another_process__tells_where_to_go_on(talk, project):
    async def flush(client):
        return await client.call_tool("flush", {**WHOLE, "reason": "compaction"})

    done = talk(flush)
    assert not done.is_error
    assert "written and read back" in text(done)
    assert "- daily: memory/" in text(done)
    assert "- handoff: continuity/active.md" in text(done)

    async def load(client):
        return await client.call_tool("load", {})

    brief = text(talk(load))
    assert brief.startswith("<recalled-memory>")
    assert "Next action: Run the tests" in brief
    assert "Run the tests" in notes_of(project)


def test_reply__without_a_hook__says_so_and_with_one_of_this_client_does_not(talk, project):
    async def both(client):
        ok, wrong = await client.call_tool("status", {}), await client.call_tool("forget", {"fact_id": "x"})
        return text(ok), text(wrong)

    first, second = talk(both, name="claude-code")
    assert NOTICE in first
    assert "`holdfast install claude-code`" in first
    assert NOTICE not in second, "once a session"

    heartbeat.beat(str(project / ".holdfast" / "state"), "claude-code", "SessionStart", "s-1")
    for reply in talk(both, name="claude-code"):
        assert NOTICE not in reply
    assert "claude-code's hooks last ran at" in talk(both, name="claude-code")[0]
    assert NOTICE in talk(both, name="codex-mcp-client")[0], "another client's hooks guard nothing here"
    assert "no hooks for this client" in talk(both, name="Some Editor")[0]


@pytest.mark.req("R166", "R167")
def test_flush__into_a_store_that_fails__is_refused_and_succeeds_after_the_repair(talk, project):
    notes = project / ".holdfast" / "memory"
    notes.parent.mkdir()
    notes.write_text("in the way")

    async def scenario(client):
        refused = await client.call_tool("flush", WHOLE)
        status = await client.call_tool("status", {})
        notes.unlink()
        return [refused, status, await client.call_tool("flush", WHOLE), await client.call_tool("status", {})]

    refused, unsafe, done, safe = talk(scenario)
    assert refused.is_error
    assert "FlushRefused: '.holdfast/memory' is not a folder" in text(refused)
    assert "\nnext: " in text(refused)
    assert "UNSAFE sessions: 1" in text(unsafe)
    assert not done.is_error
    assert "No session is UNSAFE" in text(safe)
    assert notes_of(project).count("**Objective:** Fix the login test") == 1


@pytest.mark.req("R087")
def test_server__whose_client_leaves_in_the_middle_of_a_flush__finishes_it(wire, project):
    with Holdfast.open(project) as memory:
        memory.facts.create("Makes the folders")
        memory.session("s-1").add("user", "Fix the login test")
    server = wire()
    server.begin()
    with durable.lock(str(project / ".holdfast" / "state" / "store.lock")):
        server.send(_request("tools/call", {"name": "flush", "arguments": {**WHOLE, "session": "s-1"}}))
        while not (project / ".holdfast" / "state" / "unsafe" / "s-1.json").exists():
            assert server.process.poll() is None
        server.process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(0.5)
    assert server.process.wait(30) == 0
    assert "Fix the login test" in notes_of(project)
    with Holdfast.open(project) as memory:
        assert memory.unsafe() == []


def _request(method, params, number=7):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def test_wire__what_no_client_should_send__is_answered_and_ends_nothing(wire):
    server = wire()
    assert server.ask("server/nonsense")["error"]["code"] == -32601, "before the handshake, as clients probe"
    assert server.begin("2099-01-01")["result"]["protocolVersion"] >= "2025-11-25", "an unknown version is no error"
    assert server.ask("no/such/method")["error"]["code"] == -32601
    for line in (b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"[" * 50_000, b'{"jsonrpc":"2.0"}', b'{"id":3}'):
        server.send(line)
    wrong = [
        ("tools/call", {}),
        ("tools/call", {"name": "no such tool"}),
        ("tools/call", {"name": "load", "arguments": []}),
        ("tools/call", {"name": ["load"], "arguments": {}}),
        ("resources/read", {"uri": 7}),
        ("resources/read", {"uri": "holdfast://documents/%00"}),
        ("resources/list", {"cursor": "zzz"}),
    ]
    answers = [server.ask(method, params, number=20 + n) for n, (method, params) in enumerate(wrong)]
    assert ["error" in a for a in answers] == [True] * 6 + [False]
    assert "Known tools: load, flush" in answers[1]["error"]["message"]
    code, log = server.end()
    assert code == 0
    assert "holdfast_mcp" not in log, "nothing of it came as far as a fault of ours"


def test_command__without_the_sdk__says_how_to_get_it(project):
    code = (
        "import sys; sys.modules['mcp_types'] = None; sys.modules['mcp'] = None\n"
        "from holdfast_cli import main; sys.exit(main(['--root', sys.argv[1], 'mcp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(project)], input=b"", capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert b"pip install 'holdfast-memory[mcp]'`." in done.stderr
    assert done.stdout == b""


@pytest.mark.req("R191", "R232")
def test_three_files__at_work__know_nothing_of_mcp(project):
    """R191: a whole workflow over the three-file memory loads neither the SDK nor this plugin."""
    code = (
        "import sys; from holdfast_cli import main\n"
        "root = ['--root', sys.argv[1]]\n"
        "codes = [main([*root, *words]) for words in (['init', '--layout', 'opencode'], ['validate'],\n"
        "    ['workflow', 'start', 'build'], ['workflow', 'end', 'build', '--tests-passed',\n"
        "    '--decision', 'Use a lock', '--no-change', 'patterns', '--no-change', 'progress'])]\n"
        "from holdfast_app.workflow import Anchors, observations, three, update, workflow\n"
        "print(codes, [m for m in sys.modules if m.partition('.')[0] in ('mcp', 'mcp_types', 'holdfast_mcp')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(project)], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0] []", done.stdout + done.stderr
