"""More that is read: kept flushes, clients' settings, archives, and the addresses of the page in the browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.mutations import deep, mutated
from tests.fuzz.project import Project, alarm
from tests.fuzz.test_fuzz import FEW

from holdfast import Holdfast
from holdfast.fs import records

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@pytest.fixture
def made(project) -> Project:
    return Project(project, Path(os.environ["HOME"]))


#: The file, a seed, and the commands that read it.
FILES: dict[str, tuple[str, bytes, tuple[tuple[str, ...], ...]]] = {
    "spool": (
        ".holdfast/state/spool.jsonl",
        records.encode(
            {
                "id": "f1",
                "session": "fuzz",
                "at": "2026-11-21T00:00:00Z",
                "server": "https://git.example.org",
                "receipt": {},
            }
        ),
        (("spool",), ("status",)),
    ),
    "identity": (
        "holdfast.toml",
        b'zone = "UTC"\n[identity]\nrecord = true\nperson = "ada"\nmachine = "desk"\n',
        (("config",), ("load",), ("flush", "--session", "fuzz")),
    ),
    "settings of Claude Code": (
        ".claude/settings.json",
        b'{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "holdfast hook claude-code"}]}]}}',
        (("doctor",), ("install", "claude-code")),
    ),
    "settings of Codex": (
        ".codex/hooks.json",
        b'{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "holdfast hook codex"}]}]}}',
        (("install", "codex"),),
    ),
    "settings of opencode": (
        "opencode.json",
        b'{"$schema": "https://opencode.ai/config.json", // a comment\n "compaction": {"auto": false}}',
        (("install", "opencode"),),
    ),
}


@pytest.mark.parametrize("target", FILES)
def test_a_file__damaged_in_any_way__is_answered_by_every_command_that_reads_it(target, made):
    name, seed, commands = FILES[target]
    path = made.root / name

    @FEW
    @given(data=st.one_of(mutated(seed), mutated(seed), deep()))
    def fuzz(data: bytes) -> None:
        with made.example():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            for words in commands:
                made.run(*words)

    fuzz()


def test_an_archive__damaged_in_any_way__is_imported_or_refused(made):
    archive = made.root.parent / "archive"
    assert made.run("export", str(archive))[0] == 0
    seed = archive.read_bytes()

    @FEW
    @given(data=mutated(seed))
    def fuzz(data: bytes) -> None:
        with made.example():
            archive.write_bytes(data)
            made.run("import", str(archive), "--replace")

    fuzz()


def test_an_address_of_the_page__of_any_kind__is_answered_without_a_fault(made):
    from holdfast_web import pages
    from holdfast_web.site import Site

    with Holdfast.open(made.root) as memory:
        site = Site(memory, port=8000)
        cookie = site.access.set_cookie().partition(";")[0]
        views = [*pages.LISTS, *(f"{name}/" for name in pages.DETAILS)]
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
