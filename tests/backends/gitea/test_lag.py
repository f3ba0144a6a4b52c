"""A server that shows an older state for a while, as one does whose database is read from a lagging copy."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.backends.gitea.store_kit import REPO, text_of
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.fake_server.state import Comment, Issue

from holdfast.errors import Conflict, Corrupt
from holdfast.storage import ABSENT, snapshot
from holdfast.testing.base import make_block
from holdfast_gitea.backend import GiteaBackend

Machine = Callable[..., GiteaBackend]


def issues(gitea: FakeServer) -> dict[int, Issue]:
    found: dict[int, Issue] = gitea.world.repo(REPO).issues
    return found


def number_of(gitea: FakeServer, title: str) -> int:
    return max(number for number, one in issues(gitea).items() if one.title == title)


def after(store: GiteaBackend, name: str, times: int, then: Callable[[], object]) -> None:
    """Call ``then`` after so many of this client's calls of that name."""
    call = getattr(store.log.repo, name)
    count = 0

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        try:
            return call(*args, **options)
        finally:
            if count == times:
                then()

    setattr(store.log.repo, name, counted)


@pytest.mark.parametrize("how", ["for a moment", "for longer"])
def test_read__the_next_issue_of_a_log_does_not_show_yet__is_not_called_gone(gitea, machine, monkeypatch, how):
    monkeypatch.setattr("holdfast_gitea.log_view.MOST_RECORDS", 3)
    store = machine()
    for number in range(4):
        store.append("memory/2026-03-01.md", make_block(f"b{number}", f"said {number}"), "# Day\n\n", f"b{number}")
    last = number_of(gitea, "holdfast:doc:memory/2026-03-01.md")
    late = issues(gitea).pop(last)
    reader = machine()
    if how == "for a moment":
        after(reader, "comments", 1, lambda: issues(gitea).update({last: late}))
        document = reader.read("memory/2026-03-01.md")
        assert "said 3" in document.text
    else:
        with pytest.raises(Corrupt, match="continues") as caught:
            reader.read("memory/2026-03-01.md")
        assert "elete" not in caught.value.next_step.replace("Edits and deletions", "")
        assert "minute" in caught.value.next_step


def test_write__a_document_of_another_machine_shows_late__is_found_all_the_same(gitea, machine):
    """Questions look back to the last change that they saw, writers by two minutes."""
    store = machine()
    machine().write("other.md", "first\n")
    late = {number_of(gitea, "holdfast:doc:other.md"): issues(gitea).pop(number_of(gitea, "holdfast:doc:other.md"))}
    store.write("MEMORY.md", "text\n")
    gitea.world.skew_s += 60
    with snapshot():
        assert store.read("other.md") is None
    issues(gitea).update(late)
    with pytest.raises(Conflict):
        store.write("other.md", "second\n", expected=ABSENT)


def stalled(gitea: FakeServer, store: GiteaBackend, meanwhile: Callable[[], object]) -> None:
    """The next comment of ``store`` gets its id, and becomes visible only after ``meanwhile``."""
    made = store.log.repo.create_comment

    def create(number: int, body: str) -> Any:
        store.log.repo.create_comment = made  # type: ignore[method-assign]
        comment = made(number, body)
        rows: list[Comment] = gitea.world.repo(REPO).issues[number].rows
        [hidden] = [row for row in rows if row.id == comment.id]
        rows.remove(hidden)
        meanwhile()
        rows.append(hidden)
        return comment

    store.log.repo.create_comment = create  # type: ignore[method-assign]


def _two(gitea: FakeServer, machine: Machine) -> tuple[GiteaBackend, GiteaBackend, str]:
    first, second = machine(), machine()
    revision = first.write("MEMORY.md", "start\n")
    second.read("MEMORY.md")
    return first, second, revision


def test_write__another_version_becomes_visible_first__one_is_told_yes_and_it_stays(gitea, machine):
    first, second, revision = _two(gitea, machine)
    stalled(gitea, first, lambda: second.write("MEMORY.md", "second\n", revision))
    with pytest.raises(Conflict):
        first.write("MEMORY.md", "first\n", revision)
    for view in (first, second, machine()):
        assert text_of(view) == "second\n"


def test_write__the_slower_machine_dies_before_it_knows__the_acknowledged_version_stays(gitea, machine):
    first, second, revision = _two(gitea, machine)
    stalled(gitea, first, lambda: second.write("MEMORY.md", "second\n", revision))

    def die(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    first.log.repo.edit_issue = die  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        first.write("MEMORY.md", "first\n", revision)
    third = machine()
    assert text_of(third) == "second\n"
    third.write("MEMORY.md", "third\n")
    for view in (second, machine()):
        assert text_of(view) == "third\n"
