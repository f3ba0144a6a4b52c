"""The clients themselves, where they are installed, with a scripted model on loopback and the hooks that holdfast
installs: with a broken store a compaction is refused before a summary is requested, and after the repair it passes."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.plugins.agents.hooking import on_page, shrink
from tests.support.local_server import Handler, LocalServer
from tests.support.processes import finished

from holdfast_agents.setup.clients import CLIENTS

PROMPT = "Fix the flaky login test. Remember: staging runs Postgres 15."
ANSWER = "Decision: the clock is injected, not mocked. Next: run the suite ten times."
TIMEOUT_S = 170
SHELLS = ("bash", "shell", "exec_command", "shell_command", "run_shell_command", "execute")
#: What the model states when it is asked.
STATED = {
    "objective: ...": "It's the login test that fails on CI",
    "decision: ... because ...": "drop the `sleep`, because CI is slow",
}


class Model(LocalServer):
    """Answers in the three forms of the clients, as streams. ``tokens`` is the usage it reports. ``commands`` are run
    in the shell first. It does what holdfast's question asks for."""

    def __init__(self) -> None:
        self.tokens = 1_000
        self.summaries = 0
        self.commands: list[str] = []
        self.questions: set[str] = set()
        self.asked: list[str] = []

    def handler(self) -> type[Handler]:
        return type("Bound", (_Handler,), {"model": self})

    def answer(self, path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The events of the answer, and a note of what was asked for."""
        text, command = ANSWER, ""
        self.asked.append(json.dumps(body))
        rows = body.get("messages") or body.get("contents") or body["input"]
        said = [row for row in rows if row.get("role") == "user"]
        questions = set(re.findall(r"holdfast: about .*?\n(.*?\nEND)\n", _strings(body), re.DOTALL)) - self.questions
        last = json.dumps(said[-1]).lower()
        asked = "summary" in last or "state_snapshot" in last
        if asked and "without a model" not in last and not questions:  # after it a hook's context may come
            self.summaries += 1
            text = "<summary>\n## Goal\nFix the login test\n</summary>"  # without the tags Claude Code asks again
        elif questions and body.get("tools"):
            self.questions |= questions
            command = questions.pop()
            for line, value in STATED.items():
                command = command.replace(line, f"{line.partition(':')[0]}: {value}")
        elif self.commands and body.get("tools"):  # not the request for a title
            command = self.commands.pop()
        forms = {"/responses": _responses, "/messages": _messages, ":generateContent": _google, "alt=sse": _google}
        form = next((form for part, form in forms.items() if part in path), _chat)
        return form(text, self.tokens, _call(body, command) if command else None)


def _strings(value: object) -> str:
    """Every string in ``value``, a line each."""
    if isinstance(value, Mapping):
        return "".join(map(_strings, value.values()))
    return "".join(map(_strings, value)) if isinstance(value, list) else f"{value}\n"


def _call(body: Mapping[str, Any], command: str) -> tuple[str, str]:
    """The client's tool for the shell, and its arguments as JSON."""
    for tool in (one for some in body["tools"] for one in some.get("functionDeclarations", [some])):
        about = tool.get("function", tool)
        schema = next(
            (about[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if about.get(key)), {}
        )
        name = next((name for name in ("command", "cmd") if name in schema.get("properties", ())), "")
        if name and about["name"].lower() in SHELLS:
            listed = schema["properties"][name].get("type") == "array"
            return about["name"], json.dumps({name: ["sh", "-c", command] if listed else command, "description": "x"})
    raise AssertionError(json.dumps(body["tools"])[:1000])


class _Handler(Handler):
    model: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "count_tokens" in self.path:
            self._send("application/json", json.dumps({"input_tokens": 100}))
            return
        events = self.model.answer(self.path, body)
        if ":generateContent" in self.path:
            self._send("application/json", json.dumps(events[0]))
            return
        names = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
        stream = "".join(f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(names, events, strict=True))
        self._send("text/event-stream", stream + ("data: [DONE]\n\n" if "/chat/" in self.path else ""))

    def do_GET(self) -> None:
        self._send("application/json", "{}")

    do_HEAD = do_GET

    def _send(self, kind: str, text: str) -> None:
        self.give(200, {"Content-Type": kind}, text.encode())


def _messages(text: str, tokens: int, call: tuple[str, str] | None) -> list[dict[str, Any]]:
    usage = {"input_tokens": tokens, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "usage": usage}
    block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{time.monotonic_ns()}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": call[1]}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


def _responses(text: str, tokens: int, call: tuple[str, str] | None) -> list[dict[str, Any]]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    if call:
        known = f"call_{time.monotonic_ns()}"
        item = {"type": "function_call", "id": known, "call_id": known, "name": call[0], "arguments": call[1]}
    usage = {"input_tokens": tokens, "output_tokens": 40, "total_tokens": tokens + 40}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "output": [item], "usage": usage}},
    ]


def _chat(text: str, tokens: int, call: tuple[str, str] | None) -> list[dict[str, Any]]:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 40, "total_tokens": tokens + 40}
    delta: dict[str, Any] = {"role": "assistant", "content": text}
    if call:
        function = {"name": call[0], "arguments": call[1]}
        one = {"index": 0, "id": f"call_{time.monotonic_ns()}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [one]}
    said = {"index": 0, "delta": delta, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
    return [{**chunk, "choices": [said]}, {**chunk, "choices": [end], "usage": usage}]


def _google(text: str, tokens: int, call: tuple[str, str] | None) -> list[dict[str, Any]]:
    part = {"functionCall": {"name": call[0], "args": json.loads(call[1])}} if call else {"text": text}
    one = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return [{"candidates": [one], "usageMetadata": {"promptTokenCount": tokens, "totalTokenCount": tokens}}]


class Real(ABC):
    """A client in a project, with a home folder of its own."""

    program: ClassVar[str]
    name: ClassVar[str]
    #: Tokens with which the context is rather full, but not yet compacted.
    full: ClassVar[int] = 75_000

    def __init__(self, project: Path, home: Path, model: Model) -> None:
        self.project, self.home, self.model = project, home, model
        others = ("CLAUDE", "ANTHROPIC", "CODEX", "OPENCODE", "OPENAI", "HOLDFAST_", "XDG_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        self.environment = {**kept, "PATH": path, "HOME": str(home)}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return finished(words, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def holdfast(self, *words: str) -> str:
        return self.run(str(Path(sys.executable).with_name("holdfast")), *words).stdout

    @abstractmethod
    def start(self) -> None:
        """Get ready, after the hooks are installed."""

    def stop(self) -> None:  # noqa: B027 - only a server has to be stopped
        """Leave no process."""

    @abstractmethod
    def say(self, text: str) -> str:
        """One turn of the conversation. Returns what the client prints."""

    @abstractmethod
    def compact(self) -> None:
        """Have the client compact it."""


class ClaudeCode(Real):
    program, name, full = "claude", "claude-code", 150_000
    _session: tuple[str, ...] = ()

    def start(self) -> None:
        self.environment |= {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        trusted = {"projects": {str(self.project): {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(trusted))

    def say(self, text: str) -> str:
        done = json.loads(self.run("claude", "-p", *self._session, text, "--output-format", "json").stdout)
        self._session = ("--resume", done["session_id"])
        return str(done["result"])

    def compact(self) -> None:
        self.say("/compact")

    def talk(self, *lines: tuple[str, int], plugin: Path | None = None) -> str:
        """The last result of one process for all lines, each with the tokens that its answer reports."""
        flags = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        flags += ["--plugin-dir", str(plugin)] if plugin else []
        words = ["claude", "-p", *flags, "--permission-mode", "bypassPermissions"]
        result = ""
        with subprocess.Popen(
            words, cwd=self.project, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            watchdog = threading.Timer(TIMEOUT_S, process.kill)
            watchdog.start()
            for text, self.model.tokens in lines:
                said = {"type": "user", "message": {"role": "user", "content": text}}
                process.stdin.write(json.dumps(said) + "\n")
                process.stdin.flush()
                for row in map(json.loads, process.stdout):
                    if row["type"] == "result":
                        result, self._session = str(row.get("result")), ("--resume", row["session_id"])
                        break
            process.stdin.close()
            process.wait(30)
            watchdog.cancel()
        return result

    def talk_and_compact(self, trigger: str, plugin: Path | None = None) -> str:
        """A conversation that is compacted once, or would be. Returns the answer to the compaction."""
        self.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        self.holdfast("config", "session.ask_at", "0")
        if trigger == "mid-turn":
            self.model.commands = ["echo one"]
        full = 1_000 if trigger == "manual" else 98_000
        last = "/compact" if trigger == "manual" else "Where were we?"
        return self.talk((PROMPT, full), (last, 1_000), plugin=plugin)


class Codex(Real):
    """Compacts before a prompt when the last turn's usage was above 90 % of the window."""

    program, name = "codex", "codex"
    _session: tuple[str, ...] = ()

    def start(self) -> None:
        home = self.home / ".codex"
        self.environment |= {"CODEX_HOME": str(home), "FAKE_KEY": "none"}
        home.mkdir(exist_ok=True)
        provider = f'name = "fake"\nbase_url = "{self.model.url}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n'
        (home / "config.toml").write_text(
            'model = "fake"\nmodel_provider = "fake"\nmodel_context_window = 100000\n'
            f'[model_providers.fake]\n{provider}[projects."{self.project}"]\ntrust_level = "trusted"\n'
        )

    def say(self, text: str) -> str:
        command = ("codex", "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--json")
        done = self.run(*command, *self._session, text)
        started = next(row for row in map(json.loads, done.stdout.splitlines()) if row["type"] == "thread.started")
        self._session = ("resume", started["thread_id"])
        return done.stdout

    def compact(self) -> None:
        self.model.tokens = 95_000
        self.say("Go on with the test.")
        self.say("Next step, please.")


class Opencode(Real):
    program, name = "opencode", "opencode"
    _server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}
        models = {"fake": {"name": "fake", "limit": {"context": 100_000, "output": 4_000}}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": models}
        file = self.project / f"{self.name}.json"
        settings = json.loads(file.read_text())
        own = {"autoupdate": False, "share": "disabled", "permission": "allow", "model": "fake/fake"}
        file.write_text(json.dumps({**settings, **own, "provider": {"fake": provider}}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        command = [self.program, "serve", "--port", str(port)]
        with (self.home / "serve.log").open("wb") as log:
            self._server = subprocess.Popen(command, cwd=self.project, env=self.environment, stdout=log, stderr=log)
        ends = time.monotonic() + TIMEOUT_S
        while True:
            try:
                # A request that comes while opencode still looks for packages may never be answered.
                self._session = self._post("/session", {}, timeout_s=15)["id"]
                return
            except OSError:
                assert time.monotonic() < ends, (self.home / "serve.log").read_text()
                time.sleep(0.5)

    def stop(self) -> None:
        if self._server is not None:
            self._server.kill()  # it may not end on SIGTERM
            self._server.wait(30)

    def _post(self, path: str, body: Mapping[str, Any], timeout_s: float = TIMEOUT_S) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=timeout_s) as answer:
            return json.load(answer)

    def say(self, text: str) -> str:
        model = {"providerID": "fake", "modelID": "fake"}
        said = {"model": model, "parts": [{"type": "text", "text": text}]}
        return json.dumps(self._post(f"/session/{self._session}/message", said))

    def compact(self) -> None:
        with contextlib.suppress(urllib.error.HTTPError):  # its answer when a plugin refuses
            self._post(f"/session/{self._session}/summarize", {"providerID": "fake", "modelID": "fake"})


class Kilo(Opencode):
    program = name = "kilo"


class Pi(Real):
    """Compacts before a prompt when the last turn's usage leaves no room."""

    program, name = "pi", "pi"

    def start(self) -> None:
        own = self.home / ".pi" / "agent"
        own.mkdir(parents=True)
        model = {"id": "fake", "contextWindow": 100_000, "maxTokens": 4_000}
        provider = {"baseUrl": f"{self.model.url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
        (own / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        (own / "settings.json").write_text(json.dumps({"compaction": {"keepRecentTokens": 10}}))

    def say(self, text: str) -> str:
        done = self.run("pi", "-p", "-c", "--approve", "--offline", "--provider", "fake", "--model", "fake", text)
        return done.stdout + done.stderr

    def compact(self) -> None:
        self.model.tokens = 95_000
        self.say("Go on with the test.")
        self.model.tokens = 1_000
        self.say("Next step, please.")


KINDS = pytest.mark.parametrize("kind", [ClaudeCode, Codex, Opencode, Kilo, Pi], ids=lambda kind: kind.name)


def spoil(project: Path) -> Callable[[], None]:
    """Put a file in place of the notes folder. Returns the repair."""
    notes, away = project / ".holdfast/memory", project / ".holdfast/away"
    notes.mkdir(parents=True, exist_ok=True)
    notes.rename(away)
    notes.write_text("a file in place of the notes folder\n")

    def mend() -> None:
        notes.unlink()
        away.rename(notes)

    return mend


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture
def real(project: Path, tmp_path: Path, model: Model) -> Iterator[Callable[[type[Real]], Real]]:
    """``real(kind)``: the started client with holdfast's hooks, or a skipped test."""
    with contextlib.ExitStack() as running:

        def start(kind: type[Real]) -> Real:
            if shutil.which(kind.program) is None:
                pytest.skip(f"needs the real client on the PATH, as `{kind.program}`")
            home = tmp_path / "home"
            home.mkdir()
            subprocess.run(["git", "init", "-q"], cwd=project, check=True)
            client = kind(project, home, model)
            client.holdfast("install", kind.name)
            running.callback(client.stop)
            client.start()
            return client

        yield start


@pytest.mark.req("R169", "R171")
@KINDS
def test_question__after_a_tools_result__the_agent_states_its_payload_and_the_next_brief_has_it(
    kind, project, real, model
):
    client = real(kind)
    model.tokens = client.full
    model.commands = ["echo one", "echo two"]
    client.say(PROMPT)
    assert len(model.questions) == 1
    client.compact()
    assert model.summaries == 1
    client.say("Where were we?")
    for stated in STATED.values():
        assert stated in model.asked[-1]
    notes = "".join(path.read_text() for path in (project / ".holdfast" / "memory").glob("*.md"))
    assert "may be compacted soon" not in notes


def broken_then_repaired(client: Real, project: Path, model: Model) -> dict[str, str]:
    """What a compaction after PROMPT does while the store is broken, and afterwards."""
    mend = spoil(project)
    client.compact()
    found = {"store broken": "compacts" if model.summaries else "blocked"}
    assert "UNSAFE" in client.holdfast("status")
    mend()
    client.compact()
    assert "UNSAFE" not in client.holdfast("status")
    assert "run the suite ten times" in client.holdfast("show", "continuity/active.md")
    return {**found, "repaired": "compacts" if model.summaries == 1 else "blocked"}


@pytest.mark.req("R184", "R166", "R171")
@KINDS
def test_compaction__store_broken_then_repaired__is_refused_before_a_summary_and_then_passes(
    kind, project, real, model
):
    client = real(kind)
    client.say(PROMPT)
    row = f"{CLIENTS[kind.name].shown} {CLIENTS[kind.name].seen}"
    for state, outcome in broken_then_repaired(client, project, model).items():
        on_page(row, state, outcome)
    client.say("Where were we?")
    assert "Where to resume" in model.asked[-1]


def no_hook(project: Path) -> None:
    file = project / ".claude/settings.json"
    settings = json.loads(file.read_text())
    del settings["hooks"]["PreCompact"]
    file.write_text(json.dumps(settings))


def other_module(code: str) -> Callable[[Path], None]:
    def replace(project: Path) -> None:
        file = project / ".claude/skills/holdfast-gate/hooks/compact.js"
        file.write_text(f"export function register(on) {{ on('session.compact', {code}) }}")

    return replace


#: What is wrong, and which layer then answers, by the words that the user reads.
LAYERS = {
    "none": (lambda _: None, "Not compacted"),
    "no hook": (no_hook, "Not compacted"),
    "module throws": (other_module("async () => { throw new Error('x') }"), "blocked by PreCompact hook"),
    "module hangs": (other_module("() => new Promise(() => {})"), "blocked by PreCompact hook"),
    "no program": (lambda project: (project.parent / "bin/holdfast-memory").unlink(), "Not compacted"),
}


TRIGGERS = pytest.mark.parametrize("trigger", ["manual", "auto", "mid-turn"])


@pytest.mark.req("R083", "R166", "R184")
@TRIGGERS
@pytest.mark.parametrize("fault", LAYERS)
def test_compaction__a_layer_of_the_gate_is_missing__the_other_holds(fault, trigger, project, real, model):
    client = real(ClaudeCode)
    linked = project.parent / "bin"  # the only folder on the PATH with the program
    linked.mkdir()
    own = Path(sys.executable).parent
    (linked / "holdfast-memory").symlink_to(own / "holdfast-memory")
    paths = [path for path in client.environment["PATH"].split(os.pathsep) if Path(path) != own]
    client.environment["PATH"] = os.pathsep.join([str(linked), *paths])
    spoil(project)
    change, layer = LAYERS[fault]
    change(project)
    told = client.talk_and_compact(trigger)
    assert layer in told or trigger != "manual"
    assert model.summaries == 0
    assert PROMPT in model.asked[-1]
    assert json.loads(client.holdfast("status", "--json"))["notices"] == []


@pytest.mark.req("R083", "R166", "R184")
@pytest.mark.parametrize("is_intact", [True, False], ids=["intact", "broken"])
@TRIGGERS
def test_compaction__a_plugins_module_answers_it__is_saved_at_once_and_marked(
    trigger, is_intact, project, tmp_path, real, model
):
    """PreCompact is not asked, so the gate cannot keep the context. The module's text is nobody's words."""
    client = real(ClaudeCode)
    plugin = shrink(tmp_path / "shrink", "({messages: [{role: 'user', text: 'MODULE', toolUses: []}]})")
    mend = (lambda: None) if is_intact else spoil(project)
    client.talk_and_compact(trigger, plugin)

    assert model.summaries == 0
    told = json.loads(client.holdfast("status", "--json"))
    assert "compacted past the gate" in told["notices"][-1]
    assert told["sessions"][0]["past_gate_at"]
    assert (told["unsafe"] == []) is is_intact
    if not is_intact:
        mend()
        client.holdfast("flush", "--session", told["unsafe"][0])
    assert "the clock is injected" in "".join(path.read_text() for path in project.glob(".holdfast/memory/*.md"))
    journals = (project / ".holdfast" / "state" / "sessions").glob("*.jsonl")
    assert "MODULE" not in "".join(path.read_text() for path in journals)


@pytest.mark.req("R083", "R184")
@pytest.mark.parametrize("trigger", ["manual", "auto", "mid-turn", "pi"])
def test_compaction__by_holdfast__asks_no_model_and_gives_the_rows_back(trigger, real, model):
    """The next request has the brief in place of a summary."""
    client = real(Pi if trigger == "pi" else ClaudeCode)
    client.holdfast("config", "agents.compact", "holdfast")
    if isinstance(client, ClaudeCode):
        client.talk_and_compact(trigger)
    else:
        client.say(PROMPT)
        client.compact()
    told = json.loads(client.holdfast("status", "--json"))
    assert (model.summaries, told["notices"]) == (0, [])
    found = client.holdfast("sessions", "show", told["sessions"][0]["id"], "--dropped", "--json")
    assert {"user", "assistant"} <= {row["role"] for row in json.loads(found)["messages"]}
    client.say("Where were we?")
    assert "run the suite ten times" in model.asked[-1]
    assert model.asked[-1].count("has compacted this conversation without a model") == 1


# Clients with hooks in Claude Code's form. deepagents-code refuses a compaction while the store is broken. The others
# compact, which is told.

_LIMITS = ("--model-params", '{"use_responses_api": false}', "--profile-override", '{"max_input_tokens": 40000}')
_TRUSTING = ("--trust-project-hooks", "--no-mcp", "--no-tracing", "--shell-allow-list", "all", "-M", "openai:gpt-5.5")
_OPENAI = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "URL/v1", "OPENAI_MODEL": "fake"}
#: Client -> its words before a prompt, those that continue, its environment, and a compaction as prompt, tokens and
#: commands.
FACTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str], tuple[str, int, list[str]]]] = {
    "deepagents": (
        (*_TRUSTING, *_LIMITS, "-n"), (), _OPENAI, ("Count", 1_000, ["seq 1 9000"] * 6),
    ),
    "qwen": (
        ("--auth-type", "openai", "--approval-mode", "yolo", "-p"), ("--continue",), _OPENAI, ("/compress", 1_000, []),
    ),
    "gemini": (
        ("--yolo", "-m", "gemini-2.5-pro", "-p"), ("-r", "latest"),
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "URL", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        ("Count", 900_000, ["echo one", "echo two"]),
    ),
    "copilot": (
        ("--allow-all", "-p"), ("--continue",),
        {"COPILOT_PROVIDER_BASE_URL": "URL/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "fake",
         "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true"},
        ("/compact", 1_000, []),
    ),
    "kimi": (("-p",), ("-c",), {}, ("Count", 95_000, ["echo one", "echo two"])),
}  # fmt: skip
_KIMI = """default_model = "fake"
[providers.fake]
type = "openai"
base_url = "URL/v1"
api_key = "none"
[models.fake]
provider = "fake"
model = "fake"
max_context_size = 100000
"""


class Shaped(Real):
    more: tuple[str, ...] = ()

    def start(self) -> None:
        own = FACTS[self.name][2]
        self.environment |= {name: value.replace("URL", self.model.url) for name, value in own.items()}
        (self.home / ".gemini").mkdir()
        auth: dict[str, Any] = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (self.home / ".gemini/settings.json").write_text(json.dumps(auth))
        if self.name == "kimi":
            file = self.home / ".kimi-code/config.toml"
            file.write_text(_KIMI.replace("URL", self.model.url) + file.read_text())

    def say(self, text: str) -> str:
        words, again, *_ = FACTS[self.name]
        done = self.run(self.program, *self.more, *words, text)
        self.more = again
        return done.stdout + done.stderr

    def compact(self) -> None:
        text, self.model.tokens, commands = FACTS[self.name][3]
        self.model.commands = list(commands)
        self.say(text)
        self.model.tokens = 1_000


@pytest.mark.req("R184", "R166")
@pytest.mark.parametrize("name", FACTS)
def test_shaped__store_broken_then_repaired__is_refused_or_told_and_then_saved_and_restored(name, project, real, model):
    kind = type(name, (Shaped,), {"name": name, "program": CLIENTS[name].program})
    client = real(kind)
    model.commands = ["echo one"]
    client.say(PROMPT)
    mend = spoil(project)
    client.compact()
    row = f"{CLIENTS[name].shown} {CLIENTS[name].seen}"
    on_page(row, "store broken", "compacts, told" if model.summaries else "blocked")
    assert "UNSAFE" in client.holdfast("status")
    mend()
    client.say("Go on.")
    before = model.summaries
    client.compact()
    notes = "".join(path.read_text() for path in (project / ".holdfast/memory").glob("*.md"))
    assert "the clock is injected" in notes
    assert model.summaries > before
    client.say("Where were we?")
    assert "Where to resume" in model.asked[-1]
    assert "UNSAFE" not in client.holdfast("status")
