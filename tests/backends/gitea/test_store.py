"""The store on the fake server: what calls cost, a server that is down, issues that are full, and compaction."""

import itertools
from collections.abc import Callable

import attrs
import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO, issue_of, text_of
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.faults import FAULTS, FaultProxy

from holdfast.api import Corrupt, Outcome, Unavailable
from holdfast.storage import ABSENT, delete_fact, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea import marker, replay
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import inspect


def numbers(gitea: FakeServer, title: str) -> list[int]:
    return [number for number, found in gitea.titles(REPO).items() if found == title]


def test_calls__of_a_process_that_knows_the_store__cost_what_the_documentation_says(gitea, machine):
    """docs/forges.md has this table."""
    store = machine()
    revision = store.write("MEMORY.md", "one\n")
    store.append(DAY, make_block("one"), HEADER, "one")
    store.add_fact(make_fact(1), 10)
    store.names()

    def cost(call: Callable[[], object]) -> str:
        gitea.requests.clear()
        call()
        return " ".join(seen.method for seen in gitea.requests)

    assert cost(lambda: store.read("MEMORY.md")) == "GET"
    assert cost(lambda: store.write("MEMORY.md", "two\n", revision)) == "GET POST GET PATCH"
    assert cost(lambda: store.write("MEMORY.md", "two\n")) == "GET"
    assert cost(lambda: store.append(DAY, make_block("two"), HEADER, "two")) == "GET POST GET"
    assert cost(lambda: store.append(DAY, make_block("two"), HEADER, "two")) == "GET"
    assert cost(lambda: store.add_fact(make_fact(2), 10)) == "GET POST GET PATCH"
    assert cost(lambda: store.add_fact(make_fact(2), 10)) == "GET"
    assert cost(lambda: update_fact(store, "fact_00000001", confidence=0.2)) == "GET POST GET PATCH"
    assert cost(lambda: delete_fact(store, "fact_00000001")) == "GET GET POST GET PATCH"
    assert cost(lambda: list(store.facts())) == "GET"
    assert cost(store.names) == "GET"
    assert cost(lambda: store.read("new.md")) == "GET"
    assert cost(lambda: store.write("new.md", "new\n", ABSENT)) == "GET POST GET POST GET PATCH"
    assert cost(lambda: store.delete("new.md")) == "GET PATCH POST GET"
    later = machine(name="machine0")  # another process on the same machine asks once which issues are new
    assert cost(lambda: later.append(DAY, make_block("three"), HEADER, "three")) == "GET GET POST GET"


def test_store__read_by_people__facts_are_a_table_and_documents_are_rendered(store):
    said = "Ask @ana about #12 | <img src=x>"
    store.add_fact(attrs.evolve(make_fact(1), content=said), 10)
    store.write("MEMORY.md", f"+++\nversion = 1\n+++\n\n# Memory\n\n- {said}\n")
    store.append(DAY, f"{make_block('one')}- {said}\n", HEADER, "one")
    shown = {issue.title: issue.body for issue in store.log.repo.issues()[0]}
    numbers = {issue.title: issue.number for issue in store.log.repo.issues()[0]}
    note = store.log.repo.comments(numbers[f"holdfast:doc:{DAY}"]).values[0].body
    above, _, stored = note.partition("<details>")
    facts, memory = shown["holdfast:facts"], shown["holdfast:doc:MEMORY.md"]
    assert facts.startswith("| fact | category |")
    assert memory.startswith("# Memory\n")
    assert said in stored
    for text in (facts, memory, above):
        assert all(active not in text for active in ("@ana", "#12", "<img")), text
        assert "about #\u206012" in text
    assert text_of(store, DAY).endswith(f"- {said}\n")


@pytest.fixture
def small(monkeypatch) -> None:
    monkeypatch.setattr("holdfast_gitea.log_view.MOST_RECORDS", 4)


def test_day__a_new_one_begins__those_before_are_closed_and_read_as_ever(gitea, machine):
    store = machine()
    for day in ("2026-02-27", "2026-02-28", "2026-03-01"):
        store.append(f"memory/{day}.md", make_block("one"), HEADER, "one")
        store.append(f"memory/summaries/{day}.md", make_block("one"), HEADER, "one")
    store.append("memory/2026-02-27.md", make_block("two"), HEADER, "two")
    for view in (store, machine()):
        listed = {issue.title: issue.is_open for issue in view.log.repo.issues()[0]}
        assert [title for title, is_open in listed.items() if is_open] == [
            "holdfast:store", "holdfast:doc:memory/2026-03-01.md", "holdfast:doc:memory/summaries/2026-03-01.md",
        ]  # fmt: skip
        gitea.requests.clear()
        assert len(view.names()) == 6
        assert len(gitea.requests) == 1
        assert text_of(view, "memory/2026-02-27.md") == HEADER + make_block("one") + make_block("two")


@pytest.mark.parametrize("again", ["write", "append"])
@pytest.mark.parametrize("done", [1, 2])
def test_delete__killed_on_the_way_and_written_again__names_say_what_there_is(gitea, machine, done, again):
    """The body is marked first, then the deletion is written."""
    store = machine()
    store.append(DAY, make_block("one"), HEADER, "one")
    view = store.log.load(f"holdfast:doc:{DAY}")
    store.log.mark_deleted(view)
    if done == 2:
        store.log.post(view, "del", "", "It was deleted.")
    for view in (store, machine()):
        assert view.names() == ([DAY] if done == 1 else [])
        assert (view.read(DAY) is not None) == (done == 1)
    if again == "write":
        store.write(DAY, "new\n")
    else:
        store.append(DAY, make_block("two"), HEADER, "two")
    assert store.names() == machine().names() == [DAY]
    store.delete(DAY)
    assert store.names() == machine().names() == []
    assert "deleted" in gitea.body(REPO, numbers(gitea, f"holdfast:doc:{DAY}")[0])


@pytest.mark.usefixtures("small")
def test_snapshot__killed_between_its_parts__facts_come_from_the_older_issue(gitea, machine, monkeypatch):
    monkeypatch.setattr("holdfast_gitea.facts._PART", 300)
    store = machine()
    for number in range(5):
        store.add_fact(make_fact(number), 9)
    newest = numbers(gitea, "holdfast:facts")[-1]
    for comment, body in gitea.comments(REPO, newest)[1:]:  # as if they had never been written
        assert "kind=" in body
        gitea.delete_comment(REPO, comment)
    view = machine()
    assert [int(fact.id[5:], 16) for fact in view.facts()] == [0, 1, 2, 3]
    view.add_fact(make_fact(5), 9)
    assert len(list(machine().facts())) == 5


def fill(store: GiteaBackend) -> None:
    store.write("MEMORY.md", "- Zaubernuss\n")
    store.write("MEMORY.md", "- kept\n")
    store.append(DAY, make_block("one", "- Zaubernuss"), HEADER, "one")
    store.delete(DAY)
    store.append("memory/kept.md", make_block("one", "- stays"), HEADER, "one")
    store.add_fact(make_fact(1, "Zaubernuss"), 10)
    store.add_fact(make_fact(2, "stays"), 10)
    delete_fact(store, "fact_00000001")


def everything(gitea: FakeServer) -> str:
    texts = [gitea.body(REPO, n) + "".join(gitea.bodies(REPO, n)) for n in gitea.titles(REPO)]
    return "\n".join(texts).lower()


def test_compact__as_an_administrator__nothing_of_it_on_the_server_and_the_rest_reads(gitea, machine):
    """The issues are removed, and with them what the server keeps of their edits."""
    store, other = machine(), machine()
    fill(store)
    assert other.names() == ["MEMORY.md", "memory/kept.md"]
    before = set(gitea.titles(REPO))
    journal = numbers(gitea, "holdfast:doc:memory/kept.md")
    store.compact()
    gitea.requests.clear()
    store.compact()
    assert {seen.method for seen in gitea.requests} == {"GET"}
    assert "zaubernuss" not in everything(gitea)
    assert not set(numbers(gitea, "holdfast:doc:MEMORY.md")) & before
    assert numbers(gitea, "holdfast:doc:memory/kept.md") == journal
    for view in (store, other, machine()):
        assert text_of(view, "MEMORY.md") == "- kept\n"
        assert text_of(view, "memory/kept.md") == HEADER + make_block("one", "- stays")
        assert (view.read(DAY), view.names()) == (None, ["MEMORY.md", "memory/kept.md"])
        assert [fact.content for fact in view.facts()] == ["stays"]
    other.append(DAY, make_block("one"), HEADER, "one")
    assert text_of(store, DAY) == HEADER + make_block("one")


def test_compact__without_administrator_rights__emptied_and_says_which_issues_are_left(tmp_path):
    with FakeServer() as gitea:
        gitea.make_repo("owner/memory", rights={"agent": "write"})
        store = GiteaBackend(tmp_path, server=gitea.url, repository="owner/memory", token=gitea.token)
        fill(store)
        (tmp_path / "other").mkdir()
        other = GiteaBackend(tmp_path / "other", server=gitea.url, repository="owner/memory", token=gitea.token)
        assert other.names() == ["MEMORY.md", "memory/kept.md"]
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"#\d") as caught:
                store.compact()
        assert "administrator" in caught.value.next_step
        left = [n for n, title in gitea.titles("owner/memory").items() if "to be removed" in title]
        assert left
        for number in gitea.titles("owner/memory"):
            texts = [gitea.body("owner/memory", number), *gitea.bodies("owner/memory", number)]
            assert not any("zaubernuss" in text.lower() for text in texts)
        # The other machine still knows the old issues and has never read them.
        assert text_of(other, "MEMORY.md") == "- kept\n"
        assert (other.read(DAY), [fact.content for fact in other.facts()]) == (None, ["stays"])
        other.close()
        assert text_of(store, "MEMORY.md") == "- kept\n"
        for number in left:
            gitea.delete_issue("owner/memory", number)
        store.compact()
        store.close()


@pytest.mark.req("R096")
@pytest.mark.usefixtures("small")
def test_compact__journal_in_several_issues__no_block_is_lost(gitea, machine):
    """Also when the newest issue has none yet, since whoever made it was killed."""
    store = machine()
    ids = [f"b{number}" for number in range(8)]
    for block_id in ids:
        store.append(DAY, make_block(block_id), HEADER, block_id)
    store.log.step(store.log.load(f"holdfast:doc:{DAY}"))
    before = gitea.titles(REPO)
    store.compact()
    assert gitea.titles(REPO) == before
    assert text_of(machine(), DAY) == HEADER + "".join(map(make_block, ids))


@pytest.mark.parametrize("kept", [2, 6])
def test_compact__process_dies_in_the_middle__the_next_one_finishes_it(gitea, machine, kept):
    store = machine(patience_s=0.1)
    fill(store)
    with FaultProxy(gitea.url) as proxy:
        dying = machine(proxy.url, name="machine0", patience_s=0.0)
        for method in ("POST", "PATCH", "DELETE"):
            proxy.spoil(method, "/", FAULTS["request lost"], nth=kept, times=999)
        with pytest.raises(Unavailable):
            dying.compact()
    assert text_of(machine(), "MEMORY.md") == "- kept\n"
    assert [fact.content for fact in machine().facts()] == ["stays"]
    machine(name="machine0").compact()
    assert "zaubernuss" not in everything(gitea)
    for view in (store, machine()):
        assert text_of(view, "MEMORY.md") == "- kept\n"
        assert view.names() == ["MEMORY.md", "memory/kept.md"]
        assert [fact.content for fact in view.facts()] == ["stays"]


def test_document__in_two_issues_that_do_not_know_of_each_other__corrupt_until_a_user_decides(gitea, machine):
    """What an older version of holdfast left when somebody had changed the title in between."""
    store = machine(patience_s=1.0)
    store.write("MEMORY.md", "one\n")
    first = issue_of(gitea, "doc:MEMORY.md")
    second = gitea.make_issue(REPO, "holdfast:doc:MEMORY.md")
    ids = [replay.new_id() for _ in range(2)]
    for (base, record_id), text in zip(itertools.pairwise(["", *ids]), ("two\n", "three\n"), strict=True):
        gitea.make_comment(REPO, second, marker.frame("x", text, id=record_id, kind="ver", base=base))
    for view in (machine(), machine()):
        for touch in (lambda v=view: v.read("MEMORY.md"), lambda v=view: v.write("MEMORY.md", "four\n")):
            with pytest.raises(Corrupt, match="two issues") as caught:
                touch()
            assert f"#{first}" in caught.value.message
            assert f"#{second}" in caught.value.message
            # A deleted issue may still show: accepting would drop the only versions that there are.
            assert not {"accept", "delete one"} & {*caught.value.next_step.casefold().split()}
            assert "docs/forges.md" in caught.value.next_step
    gitea.make_comment(REPO, second, replay.ACCEPT)
    assert text_of(machine(), "MEMORY.md") == "one\n"


@pytest.mark.parametrize("known", [True, False])
def test_facts__their_issue_deleted__corrupt_never_zero_facts(gitea, machine, known):
    store = machine(patience_s=1.0)
    store.add_fact(make_fact(1), 100)
    gitea.delete_issue(REPO, issue_of(gitea, "facts"))
    view = store if known else machine(patience_s=1.0)
    touches: tuple[Callable[[], object], ...] = (lambda: list(view.facts()), lambda: view.add_fact(make_fact(2), 100))
    for touch in touches:
        with pytest.raises(Corrupt, match="facts") as caught:
            touch()
        assert f"#{issue_of(gitea, 'store')}" in caught.value.next_step
    assert any(check.outcome is Outcome.FAIL and "facts" in check.message for check in inspect(machine().log))
