"""Comments that become visible out of order, as on PostgreSQL: the guarded body decides who was first."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.backends.gitea.store_kit import text_of
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.fake_server.state import Comment

from holdfast.errors import Conflict
from holdfast_gitea.backend import GiteaBackend

REPO = "agent/memory"
Machine = Callable[..., GiteaBackend]


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


def test_read__a_lagging_list__is_read_again_before_it_is_called_corrupt(gitea, machine):
    store = machine()
    store.write("MEMORY.md", "one\n")
    store.write("MEMORY.md", "two\n")
    number = next(n for n, title in gitea.titles(REPO).items() if title == "holdfast:doc:MEMORY.md")
    rows = gitea.world.repo(REPO).issues[number].rows
    newest = rows.pop()
    listed = store.log.repo.comments

    def lagging(*args: Any, **more: Any) -> Any:
        found = listed(*args, **more)
        if newest not in rows:
            rows.append(newest)
        return found

    store.log.repo.comments = lagging  # type: ignore[method-assign]
    assert text_of(store) == "two\n"
