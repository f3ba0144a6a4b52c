"""Facts that a machine keeps, so that a later process asks the server only for what is new (docs/gitea.md)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.conftest import REPO
from tests.support.gitea.fake_server import FakeServer

from holdfast.errors import Corrupt, HoldfastError
from holdfast.models import Fact
from holdfast.testing.base import make_fact
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import inspect

Opened = Callable[[str], GiteaBackend]
LIMIT = 5000


@pytest.fixture
def opened(gitea: FakeServer, tmp_path: Path) -> Iterator[Opened]:
    """A new process on the machine of that name."""
    made: list[GiteaBackend] = []

    def make(name: str) -> GiteaBackend:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        made.append(GiteaBackend(folder, server=gitea.url, repository=REPO, token=gitea.token, patience_s=5.0))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep even the smallest log, and every change of it."""
    monkeypatch.setattr("holdfast_gitea.wire.kept._WORTH", 1)
    monkeypatch.setattr("holdfast_gitea.wire.kept._NEW", 1)


def file_of(tmp_path: Path, name: str) -> Path:
    return tmp_path / name / ".holdfast" / "state" / "derived" / "gitea-facts.jsonl"


def many(store: GiteaBackend, numbers: range) -> None:
    """Facts in comments of ten."""
    for start in numbers[::10]:
        with store.batch():
            for number in range(start, min(start + 10, numbers.stop)):
                store.add_fact(make_fact(number, f"the user said {number} " + "word " * 50), LIMIT)


def contents(store: GiteaBackend) -> list[Fact]:
    return list(store.facts())


@pytest.mark.usefixtures("eager")
def test_read__of_a_document__keeps_none_of_it_on_the_machine(opened: Opened, tmp_path: Path) -> None:
    first = opened("one")
    many(first, range(30))
    first.write("MEMORY.md", "zebra\n")
    for process in (first, opened("one"), opened("one")):
        document = process.read("MEMORY.md")
        assert document is not None
        assert len(contents(process)) == 30
        assert "user said" in file_of(tmp_path, "one").read_text(encoding="utf-8")
        assert process.read("MEMORY.md") == document
        assert "zebra" not in file_of(tmp_path, "one").read_text(encoding="utf-8")


def later(gitea: FakeServer) -> None:
    """Let what was written be older than the time that each list goes back."""
    gitea.skew((gitea.world.skew_s or 0) + 600)


def facts_issue(gitea: FakeServer) -> int:
    return max(n for n, one in gitea.world.repo(REPO).issues.items() if one.title == "holdfast:facts")


def comments(gitea: FakeServer) -> list[int]:
    return [one for one, _ in gitea.comments(REPO, facts_issue(gitea))]


def test_facts__read_again_by_another_process__bring_only_what_is_new(gitea: FakeServer, opened: Opened) -> None:
    sizes = {}
    for count in (200, 400):
        many(opened("writer"), range(count - 200, count))
        later(gitea)
        opened("reader").count_facts()  # reads everything, once
        gitea.requests.clear()
        assert len(contents(opened("reader"))) == count
        assert [one.method for one in gitea.requests] == ["GET"] * 3
        sizes[count] = sum(one.size for one in gitea.requests)
        later(gitea)
    assert max(sizes.values()) < 8000
    opened("writer").add_fact(make_fact(999), LIMIT)
    gitea.requests.clear()
    assert opened("reader").count_facts() == 401
    assert sum(one.size for one in gitea.requests) < 12_000


def test_facts__few_of_them__are_read_in_one_request_and_not_kept(
    gitea: FakeServer, opened: Opened, tmp_path: Path
) -> None:
    store = opened("one")
    many(store, range(10))
    gitea.requests.clear()
    assert store.count_facts() == 10
    assert len(gitea.requests) == 1
    assert not file_of(tmp_path, "one").exists()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("then", ["nothing", "an addition", "two additions"])
@pytest.mark.parametrize("which", [1, -1])
def test_facts__an_earlier_comment_is_deleted__are_never_read_without_it_in_silence(
    gitea: FakeServer, opened: Opened, which: int, then: str
) -> None:
    """The second makes the count what it was."""
    store = opened("one")
    for number in range(6):
        store.add_fact(make_fact(number), LIMIT)
    opened("one").count_facts()
    other = opened("two")
    other.count_facts()
    later(gitea)
    if then != "nothing":
        other.add_fact(make_fact(10), LIMIT)
    gitea.delete_comment(REPO, comments(gitea)[which])
    if then == "two additions":
        gitea.make_comment(REPO, facts_issue(gitea), "Why was that deleted?")
    with pytest.raises(Corrupt, match="gone from the server"):
        opened("one" if which == 1 or then == "nothing" else "two").count_facts()


def test_facts__kept_right_after_they_were_written__are_not_sent_again_for_ever(
    gitea: FakeServer, opened: Opened
) -> None:
    """Every list goes back two minutes before the one before."""
    many(opened("writer"), range(200))
    opened("reader").count_facts()
    later(gitea)
    opened("reader").count_facts()
    gitea.requests.clear()
    opened("reader").count_facts()
    assert sum(one.size for one in gitea.requests) < 8000


@pytest.mark.usefixtures("eager")
def test_facts__an_earlier_comment_is_edited__that_is_noticed(gitea: FakeServer, opened: Opened) -> None:
    store = opened("one")
    for number in range(6):
        store.add_fact(make_fact(number, f"fact {number}"), LIMIT)
    opened("one").count_facts()
    later(gitea)
    comment = comments(gitea)[1]
    body = dict(gitea.comments(REPO, facts_issue(gitea)))[comment]
    gitea.edit_comment(REPO, comment, body.replace("fact 1", "fact 9"))
    with pytest.raises(Corrupt, match="edited manually"):
        opened("one").count_facts()


@pytest.mark.usefixtures("eager")
def test_doctor__an_edit_that_the_server_dated_back__is_found(gitea: FakeServer, opened: Opened) -> None:
    store = opened("one")
    for number in range(6):
        store.add_fact(make_fact(number, f"fact {number}"), LIMIT)
    later(gitea)
    opened("one").count_facts()
    issue = gitea.world.repo(REPO).issues[facts_issue(gitea)]
    issue.comments()[1].body = issue.comments()[1].body.replace("fact 1", "fact 9")
    later(gitea)
    assert opened("one").count_facts() == 6
    assert any("edited manually" in check.message for check in inspect(opened("one").log))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("how", ["cut", "empty", "another text", "of a newer form", "of another issue"])
def test_kept_facts__the_file_is_damaged__is_read_anew(opened: Opened, tmp_path: Path, how: str) -> None:
    store = opened("one")
    for number in range(4):
        store.add_fact(make_fact(number, f"fact {number}"), LIMIT)
    opened("one").count_facts()
    path = file_of(tmp_path, "one")
    data = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "empty": b"",
            "another text": data.replace(b"fact 1", b"fact 9"),
            "of a newer form": data.replace(b'"format": 1', b'"format": 2'),
            "of another issue": data.replace(b'"issue": ', b'"issue": 9'),
        }[how]
    )
    assert [fact.content for fact in contents(opened("one"))] == [f"fact {number}" for number in range(4)]
    assert path.read_bytes() != b""


@pytest.mark.usefixtures("eager")
def test_kept_facts__another_machine_compacts__the_file_is_of_the_new_issue(
    gitea: FakeServer, opened: Opened, tmp_path: Path
) -> None:
    store = opened("one")
    for number in range(4):
        store.add_fact(make_fact(number, f"fact {number}"), LIMIT)
    assert opened("one").count_facts() == 4
    assert b"fact 1" in file_of(tmp_path, "one").read_bytes()
    other = opened("two")
    other.delete_fact(make_fact(1).id)
    gitea.world.user("agent").admin = True
    other.compact()
    assert not file_of(tmp_path, "two").exists()
    assert opened("one").count_facts() == 3
    assert b"fact 1" not in file_of(tmp_path, "one").read_bytes()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", range(3))
def test_kept_facts__any_order_of_changes_by_three_machines__read_as_without_the_file(
    gitea: FakeServer, opened: Opened, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("holdfast_gitea.log_view.MOST_RECORDS", 5)
    monkeypatch.setattr("holdfast_gitea.wire.kept._NEW", seed * 1000)
    draw = random.Random(seed)
    for step in range(25):
        store = opened(draw.choice("abc"))
        number = draw.randrange(12)
        change = draw.choice(["add", "add", "add", "delete", "update", "speak", "wait", "compact"])
        try:
            if change == "add":
                store.add_fact(make_fact(number, f"said {step}"), 8)
            elif change == "delete":
                store.delete_fact(make_fact(number).id)
            elif change == "update":
                store.update_fact(make_fact(number).id, content=f"changed {step}")
            elif change == "speak":
                gitea.make_comment(REPO, facts_issue(gitea), "A remark.")
            elif change == "wait":
                later(gitea)
            else:
                store.compact()
        except (HoldfastError, ValueError):
            pass  # a fact that is there, or is not
        read = contents(opened(draw.choice("abc")))
        assert read == contents(opened(f"new{step}")), f"after step {step}: {change}"


def test_index__of_a_machine_that_only_reads__is_kept(gitea: FakeServer, opened: Opened, tmp_path: Path) -> None:
    many(opened("writer"), range(10))
    opened("reader").count_facts()
    assert (tmp_path / "reader" / ".holdfast" / "state" / "gitea-index.json").exists()
    later(gitea)
    gitea.requests.clear()
    opened("reader").count_facts()
    assert "since=" in gitea.requests[0].query
