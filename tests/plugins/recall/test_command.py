"""``holdfast search`` as a user sees it: the lines around a match, marked words, and nothing else on the way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.cli import main
from holdfast_recall.excerpts import excerpt


@pytest.fixture
def search(opened, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """``search(WORDS)`` after a talk of four turns and a memory document: the output."""
    memory = opened()
    for number, (role, text) in enumerate(
        [
            ("user", "Which database do we take?"),
            ("assistant", "SQLite, because it needs no server"),
            ("user", "Then the certificate: who renews it?"),
            ("assistant", "Ana renews it in March"),
        ]
    ):
        memory.session("talk").add(role, text, message_id=f"m{number}")
    (project / ".holdfast/MEMORY.md").write_text("# Memory\n\n- The osprey is the server\n- The kestrel is the proxy\n")
    memory.facts.create("The heron is the queue", "knowledge", 0.9)
    memory.facts.create("The stork is the cache", "knowledge", 0.9)
    memory.close()
    monkeypatch.chdir(project)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main(("search", *words)) == 0
        return capsys.readouterr().out

    return run


def test_search__turn_found__shown_with_the_line_before_and_after_it(search) -> None:
    lines = search("sqlite").splitlines()
    assert lines[0].startswith("session talk, turn m1 assistant 2026-11-21")
    assert lines[1:4] == [
        "  user: Which database do we take?",
        "> SQLite, because it needs no server",
        "  user: Then the certificate: who renews it?",
    ]


def test_search__line_of_a_document_found__shown_with_the_lines_around_it(search) -> None:
    found = search("kestrel", "--kind", "memory")
    assert "MEMORY.md:4" in found
    assert "  - The osprey is the server\n> - The kestrel is the proxy\n1 hit" in found


def test_search__fact_found__no_other_fact_around_it(search) -> None:
    assert "stork" not in search("heron", "--kind", "fact")


def test_search__typing_error__says_what_it_searched_instead(search) -> None:
    assert search("certificte").startswith("No exact match; showing results for certificate.\nsession talk")
    assert json.loads(search("certificte", "--json"))["corrected"] == "certificate"
    assert "No exact match" not in search("certificate")


def test_search__json__has_the_lines_around_the_match(search) -> None:
    (hit,) = json.loads(search("osprey", "--kind", "memory", "--json"))["hits"]
    assert (hit["before"], hit["after"]) == ("# Memory", "- The kestrel is the proxy")


def test_search__on_a_terminal__words_of_the_question_marked_and_nowhere_else(search, monkeypatch) -> None:
    assert "\x1b" not in search("renew certificates")
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = search("renew certificates")
    assert set(re.findall(r"\x1b\[1;36m(.*?)\x1b\[0m", found)) == {"certificate", "renews"}


@pytest.mark.parametrize("at", [0, 30, 59])
def test_excerpt__long_text__lines_around_it_join_up_with_the_match(at: int) -> None:
    text = " ".join(f"word{n:03}" for n in range(60)).replace(f"word{at:03}", "zanzibar")
    match, before, after = excerpt(text, "zanzibar", "the one before", "the one after")
    assert "zanzibar" in match
    whole = " ".join(part.replace("…", "").strip() for part in (before, match, after))
    assert whole.removeprefix("the one before ").removesuffix(" the one after") in text
    assert ("the one before" in before) == match.startswith(text[:20])
    assert ("the one after" in after) == match.endswith(text[-20:])
