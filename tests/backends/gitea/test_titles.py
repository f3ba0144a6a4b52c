"""An issue is known by the marker in its body, so a title changed by hand neither hides memory nor doubles it."""

import itertools
from collections.abc import Callable

import pytest
from tests.backends.gitea.store_kit import issue_of, text_of
from tests.support.gitea.fake_server import FakeServer

from holdfast.errors import Corrupt
from holdfast.models import Outcome
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea import marker, replay
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import inspect

REPO = "agent/memory"
DAY = "memory/2026-03-01.md"
HEADER = "# Daily Memory: 2026-03-01\n"


@pytest.mark.parametrize("title", ["Some thoughts", "holdfast:doc:OTHER.md", "Re: holdfast:doc:MEMORY.md"])
def test_document__its_title_changed_by_hand__is_read_and_written_by_every_machine(gitea, machine, title):
    store = machine()
    store.write("MEMORY.md", "one\n")
    store.append(DAY, make_block("one"), HEADER, "one")
    number = issue_of(gitea, "doc:MEMORY.md")
    gitea.edit_issue(REPO, number, title=title)
    gitea.edit_issue(REPO, issue_of(gitea, f"doc:{DAY}"), title="A day")
    fresh = machine()
    assert fresh.names() == ["MEMORY.md", DAY]
    assert text_of(fresh, "MEMORY.md") == "one\n"
    fresh.write("MEMORY.md", "two\n")
    fresh.append(DAY, make_block("two"), HEADER, "two")
    gitea.edit_issue(REPO, number, title="holdfast:doc:MEMORY.md")
    for view in (store, machine()):
        assert text_of(view, "MEMORY.md") == "two\n"
        assert (text_of(view, DAY) or "").count("holdfast:block") == 2
    assert len(gitea.titles(REPO)) == 3


def _two_issues(gitea: FakeServer, store: GiteaBackend) -> tuple[int, int]:
    """What an older version of holdfast left when somebody had changed the title in between."""
    store.write("MEMORY.md", "one\n")
    first = issue_of(gitea, "doc:MEMORY.md")
    second = gitea.make_issue(REPO, "holdfast:doc:MEMORY.md")
    ids = [replay.new_id() for _ in range(2)]
    for (base, record_id), text in zip(itertools.pairwise(["", *ids]), ("two\n", "three\n"), strict=True):
        gitea.make_comment(REPO, second, marker.frame("x", text, id=record_id, kind="ver", base=base))
    return first, second


def test_document__in_two_issues_that_do_not_know_of_each_other__corrupt_until_a_user_decides(gitea, machine):
    store = machine(patience_s=1.0)
    first, second = _two_issues(gitea, store)
    for view in (machine(), machine()):
        for touch in (lambda v=view: v.read("MEMORY.md"), lambda v=view: v.write("MEMORY.md", "four\n")):
            with pytest.raises(Corrupt, match="two issues") as caught:
                touch()
            assert f"#{first}" in caught.value.message
            assert f"#{second}" in caught.value.message
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
