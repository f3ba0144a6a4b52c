"""Whatever is read may have been damaged or written by an enemy: never a traceback, a hang, a write elsewhere.

A few examples a target run with the other tests, and rounds of more for two minutes in CI (``python -m tests.fuzz``).
``pytest tests/fuzz --hypothesis-profile thorough`` runs two thousand each.
"""

import contextlib
import io
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.mutations import deep, mutated
from tests.fuzz.project import Project, alarm

from holdfast.api import Holdfast, HoldfastError
from holdfast.fs import records
from holdfast.journal import journal
from holdfast_agents import hook
from holdfast_agents.watchdog import Watchdog

#: A failure is shown although its example is long.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

DATA = Path(__file__).parents[1] / "data"
_MOST = 15 if "FUZZ_UNTIL" in os.environ else 4
FEW = settings(
    max_examples=_MOST if settings.get_current_profile_name() != "thorough" else 2_000,
    suppress_health_check=[HealthCheck.data_too_large],
)


STEM = journal.file_stem("fuzz")
#: The file, relative to the project, and the commands that read it.
TARGETS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "settings": ("holdfast.toml", (("config",), ("status",), ("load",), ("flush", "--session", "fuzz"), ("trust",))),
    "journal": (
        f".holdfast/state/sessions/{STEM}.jsonl",
        (("status",), ("sessions",), ("flush", "--session", "fuzz"), ("doctor",)),
    ),
    "marker": (
        f".holdfast/state/unsafe/{STEM}.json",
        (("status",), ("flush", "--session", "fuzz"), ("doctor",), ("load",)),
    ),
    "facts": (
        ".holdfast/facts.jsonl",
        (("facts", "list"), ("remember", "new", "--category", "goal"), ("prompt",), ("doctor",)),
    ),
    "facts log": (".holdfast/state/facts.log.jsonl", (("facts", "log"), ("doctor",))),
    "handoff": (
        ".holdfast/continuity/active.md",
        (("load",), ("flush", "--session", "fuzz"), ("validate",), ("report",), ("doctor",)),
    ),
    "memory": (".holdfast/MEMORY.md", (("load",), ("validate",), ("dream", "--dry-run", "--force"), ("prompt",))),
    "note": (".holdfast/memory/*.md", (("load",), ("flush", "--session", "fuzz"), ("validate",), ("report",))),
    "profile": (".holdfast/profile.md", (("prompt",), ("load",))),
    "outbox": (".holdfast/state/outbox.jsonl", (("outbox",), ("status",), ("doctor",))),
    "queue": (".holdfast/state/extract.jsonl", (("extract", "--queued"), ("status",), ("doctor",))),
    "heartbeat": (".holdfast/state/heartbeats/claude-code.json", (("status",), ("doctor",))),
    "memo": (".holdfast/state/agents/x.json", (("status",), ("doctor",))),
    "stored": (".holdfast/state/stored", (("status",), ("load",), ("doctor",))),
    "facts mark": (
        ".holdfast/state/facts.mark",
        (("facts", "list"), ("remember", "new", "--category", "goal"), ("doctor",)),
    ),
    "reserve": (
        ".holdfast/state/unsafe.reserve",
        (("status",), ("flush", "--session", "fuzz"), ("load",), ("doctor",)),
    ),
    "search index": (
        ".holdfast/state/derived/search.sqlite",
        (("search", "login"), ("add", "user", "one more", "--session", "fuzz"), ("search", "more")),
    ),
    "mark": (".holdfast/state/owner", (("status",), ("add", "user", "one more", "--session", "fuzz"), ("doctor",))),
    "spool": (".holdfast/state/spool.jsonl", (("spool",), ("status",))),
    "settings of Claude Code": (".claude/settings.json", (("doctor",), ("install", "claude-code"))),
    "settings of Codex": (".codex/hooks.json", (("install", "codex"),)),
    "settings of opencode": ("opencode.json", (("install", "opencode"),)),
}
_HOOK = '{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "holdfast hook %s"}]}]}}'
SEEDS = {
    "marker": (b'{"session": "fuzz", "at": "2026-11-21T00:00:00Z", "reason": "manual", "pending": {"payload": {}}}',),
    "settings": (
        b'[identity]\nperson = "ada"\n[facts]\nmax_facts = 2\n[plugins.redaction]\n[layout]\npreset = "default"\n',
    ),
    "facts log": (b'\n{"at": "2026-11-21T00:00:00Z", "event": "evicted", "id": "fact_1", "why": "full", "by": "x"}\n',),
    "memory": (b"# Memory\n\n- The port is 8443.\n\n## Decisions\n\n- Use a lock.\n",),
    "profile": (b"# Profile\n\n## Work\n\nWrites Go.\n",),
    "outbox": (records.encode({"id": "0" * 16, "plugin": "x", "flush": "f", "target": "a/b#1", "body": "b"}),),
    "queue": (records.encode({"id": "0" * 16, "plugins": ["x"], "turns": [], "attempts": 1}),),
    "heartbeat": (b'{"client": "claude-code", "event": "Stop", "session": "s", "at": "2026-11-21T00:00:00+00:00"}',),
    "memo": (b'{"client": "claude-code", "session": "s", "transcript": "t", "offset": 3, "guards": []}',),
    "spool": (
        records.encode(
            {
                "id": "f1",
                "session": "fuzz",
                "at": "2026-11-21T00:00:00Z",
                "server": "https://git.example.org",
                "receipt": {},
            }
        ),
    ),
    "settings of Claude Code": ((_HOOK % "claude-code").encode(),),
    "settings of Codex": ((_HOOK % "codex").encode(),),
    "settings of opencode": (
        b'{"$schema": "https://opencode.ai/config.json", // a comment\n "compaction": {"auto": false}}',
    ),
}


def fuzz(made: Project, path: Path, data: st.SearchStrategy[bytes], *commands: tuple[str, ...]) -> None:
    """Write each example to ``path``, then run the commands."""

    @FEW
    @given(data=data)
    def each(data: bytes) -> None:
        with made.example():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            for words in commands:
                made.run(*words)

    each()


def damaged(*seeds: bytes) -> st.SearchStrategy[bytes]:
    return st.one_of(mutated(*seeds), mutated(*seeds), deep())


@pytest.mark.parametrize("target", TARGETS)
def test_a_file_of_ours__damaged_in_any_way__is_answered_by_every_command_that_reads_it(target, made):
    name, commands = TARGETS[target]
    path = made.path(name)
    seeds = [*SEEDS.get(target, ()), *([path.read_bytes()] if path.is_file() else [])]
    fuzz(made, path, damaged(*seeds), *commands)


def _samples(client: str, kind: str) -> list[bytes]:
    return [path.read_bytes()[:60_000] for path in sorted((DATA / "clients").glob(f"{client}*.{kind}.jsonl"))]


@pytest.mark.parametrize("client", [one for one in hook.CLIENTS if _samples(one, "transcript")])
def test_a_transcript__damaged_in_any_way__is_flushed_or_refused(client, made):
    path = made.root.parent / "transcript.jsonl"
    path.touch()
    data = st.one_of(mutated(*_samples(client, "transcript")), deep())
    fuzz(made, path, data, ("flush", "--session", "new", "--transcript", str(path)))


def test_an_archive__damaged_in_any_way__is_imported_or_refused(made):
    archive = made.root.parent / "archive"
    assert made.run("export", str(archive))[0] == 0
    fuzz(made, archive, mutated(archive.read_bytes()), ("import", str(archive), "--replace"))


def test_a_workflow__damaged_in_any_way__is_answered_by_every_command_that_reads_it(other):
    other.run("config", "layout.preset", "opencode")  # takes live state along
    other.run("init")
    other.run("workflow", "start", "build")
    path = other.path(".opencode/state/workflows/build.json")
    other.before = other.files()
    commands = ["workflow status", "workflow start build", "workflow end build", "doctor"]
    fuzz(other, path, damaged(path.read_bytes()), *(tuple(words.split()) for words in commands))


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40))
_JSON = st.recursive(
    _SCALARS, lambda of: st.one_of(st.lists(of, max_size=4), st.dictionaries(st.text(max_size=12), of, max_size=4))
)


@pytest.mark.parametrize(
    "tool", ["flush", "load", "work", "remember", "search_facts", "search", "open", "forget", "status"]
)
def test_an_mcp_call__with_any_arguments__answers_or_names_what_is_wrong(tool, made):
    from holdfast_mcp import tools

    caller = tools.Caller(client="Some Editor", started=datetime.now(UTC))
    names = list(tools.TOOLS[tool].schema["properties"]) or ["none"]

    @FEW
    @given(arguments=st.dictionaries(st.sampled_from([*names, "other"]), _JSON, max_size=5))
    def fuzz(arguments: dict[str, Any]) -> None:
        with made.example(), alarm(), contextlib.suppress(HoldfastError):
            assert isinstance(tools.call(str(made.root), tool, arguments, caller), str)

    fuzz()


class _Quiet(Watchdog):
    """A watchdog without a timer of its own: the test has one."""

    def __init__(self) -> None: ...

    def limit(self, limit_s: float) -> None: ...


@pytest.mark.parametrize("client", hook.CLIENTS)
def test_an_event__damaged_in_any_way__is_answered_in_the_dialect_of_its_client(client, made, monkeypatch):
    monkeypatch.chdir(made.root)
    lines = [line for sample in _samples(client, "hooks") for line in sample.splitlines()] or [b"{}"]

    @FEW
    @given(data=damaged(*lines), named=st.sampled_from(("", "PreCompact", "Stop")))
    def fuzz(data: bytes, named: str) -> None:
        with made.example():
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
            with alarm():
                call = hook._Call(client, named, str(made.root))
                answer = call.answered(_Quiet(), 20.0)
            assert answer.code in (0, 2)
            assert "unforeseen" not in answer.stderr + answer.stdout, answer
            if answer.stdout and client not in ("opencode", "kilo", "pi"):  # whose plugins take plain text
                json.loads(answer.stdout)

    fuzz()


def test_an_address_of_the_page__of_any_kind__is_answered_without_a_fault(made):
    from holdfast_web.site import DETAILS, LISTS, Site

    with Holdfast.open(made.root) as memory:
        site = Site(memory, port=8000)
        cookie = site.access.set_cookie().partition(";")[0]
        views = [*LISTS, *(f"{name}/" for name in DETAILS)]
        names = ("q", "kind", "page", "day", "from", "to", "session", "line", "sort", "n")
        value = st.one_of(
            st.text(max_size=30), st.sampled_from(["-1", "0", "9" * 400, "2026-11-21", "%00", "../../x", "fuzz"])
        )

        @FEW
        @given(
            view=st.sampled_from(views),
            rest=st.one_of(st.just(""), value),
            query=st.lists(st.tuples(st.sampled_from(names), value), max_size=4),
        )
        def fuzz(view: str, rest: str, query: list[tuple[str, str]]) -> None:
            asked = "&".join(f"{name}={said}" for name, said in query)
            with alarm():
                found = site.answer(f"{site.access.prefix}{view}{rest}?{asked}", host="127.0.0.1:8000", cookie=cookie)
            assert found.status != 500, (view, rest, query)

        fuzz()
