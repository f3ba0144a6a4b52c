"""Users who can read a store, and their attempts to change what an agent is told."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO, issue_of, record, rewritten, text_of
from tests.support.gitea.plain_client import Reply, call

from holdfast.api import Conflict, Corrupt, Outcome, sha256
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea import marker, replay
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import inspect
from holdfast_keys.faults import Closed

Ask = Callable[..., Reply]


@pytest.fixture
def mallory(gitea) -> Ask:
    """Requests of a user who may read the repository."""
    gitea.world.repo(REPO).rights["mallory"] = "read"
    token = gitea.make_token("mallory", ("all",))
    return lambda method, path, body=None: call(gitea.url, method, f"/repos/{REPO}{path}", body, token=token)


@pytest.fixture
def filled(filled, machine) -> Iterator[GiteaBackend]:
    yield filled
    # Whatever the test did, every machine is told the same, and writing goes on.
    for view in (filled, machine()):
        assert text_of(view) == "one\n"
        assert (text_of(view, DAY) or "").count("holdfast:block") == 1
        assert len(list(view.facts())) == 1
        assert view.names() == ["MEMORY.md", DAY]
    filled.write("MEMORY.md", "two\n", sha256("one\n"))
    filled.append(DAY, make_block("two"), HEADER, "two")
    filled.add_fact(make_fact(2), 100)
    fresh = machine()
    assert text_of(fresh) == "two\n"
    assert (text_of(fresh, DAY) or "").count("holdfast:block") == 2
    assert len(list(fresh.facts())) == 2
    assert all(check.outcome is not Outcome.FAIL for check in inspect(fresh.log))


@pytest.mark.parametrize("name", ["doc:MEMORY.md", f"doc:{DAY}", "facts", "store"])
def test_issue__closed_locked_and_relabelled_by_another_user__changes_nothing(gitea, filled, name):
    number = issue_of(gitea, name)
    gitea.close_issue(REPO, number)
    gitea.lock(REPO, number)
    gitea.remove_labels(REPO)
    gitea.edit_issue(REPO, number, title="Some thoughts")


def test_comment__that_quotes_a_whole_record__the_owners_own_counts(gitea, filled, mallory):
    """Same id, same checksum; and the id with another text."""
    for number in list(gitea.titles(REPO)):
        for body in gitea.bodies(REPO, number):
            assert mallory("POST", f"/issues/{number}/comments", {"body": body}).status == 201
            evil = rewritten(body, "evil\n")
            assert mallory("POST", f"/issues/{number}/comments", {"body": evil}).status == 201


def test_comment__with_the_id_of_a_write_that_is_to_be_repeated__the_write_is_not_taken_for_done(
    gitea, filled, mallory
):
    """A writer looks for its own id before it repeats a request. Others can write any id."""
    number = issue_of(gitea, f"doc:{DAY}")
    record_id = replay.new_id()
    mallory("POST", f"/issues/{number}/comments", {"body": record("blk", "evil\n", id=record_id, block="ZXZpbA")})
    view = filled.log.load(f"holdfast:doc:{DAY}")
    with filled.log.writing():
        view, _ = filled.log.post(view, "blk", make_block("one"), "x", record_id=record_id, block="b25l")
    assert view.accepts(record_id)


@pytest.mark.parametrize("base", ["f" * 32, "", "head"])
def test_records__of_a_reader_with_any_base__change_nothing(gitea, filled, mallory, base):
    kinds = ("ver", "del", "snap", "next", "ops", "blk", "tomorrow")
    for number, kind in itertools.product(gitea.titles(REPO), kinds):
        fields = {"root": "1", "to": "1", "block": "ZXZpbA", "over": "f" * 32, "base": base}
        if base == "head":  # the newest record, and not a beginning of its own
            own = [body for body in gitea.bodies(REPO, number) if "evil" not in body]
            newest = marker.fields(next(reversed(own), "")) or {}
            fields |= {"base": newest.get("id", ""), "root": ""}
        mallory("POST", f"/issues/{number}/comments", {"body": record(kind, "evil\n", **fields)})


def test_log__with_a_thousand_records_of_a_reader__is_read_as_quickly_and_told_in_one_line(gitea, filled, machine):
    number = issue_of(gitea, "doc:MEMORY.md")
    fresh = machine()
    begun = time.process_time()
    assert text_of(fresh) == "one\n"
    before = time.process_time() - begun
    for _ in range(1000):
        gitea.make_comment(REPO, number, record("ver", "evil\n", base="f" * 32), poster="mallory")
    view = machine()
    gitea.requests.clear()
    begun = time.process_time()
    assert text_of(view) == "one\n"
    assert time.process_time() - begun < before + 1.0
    assert len(gitea.requests) <= 4  # issues, comments, and whose token it is
    told = [check for check in inspect(machine().log) if "mallory" in check.message]
    assert [("1000 records" in check.message, len(check.message) < 600) for check in told] == [(True, True)]


def test_writer__edits_a_record_and_its_checksum__doctor_names_the_comment(gitea, machine):
    """Users with write access are trusted with the texts, but their edit does not go unnoticed."""
    store = machine()
    store.write("MEMORY.md", "one\n")
    number = issue_of(gitea, "doc:MEMORY.md")
    comment, body = gitea.comments(REPO, number)[0]
    assert not [check for check in inspect(machine().log) if "checksum" in check.message]
    gitea.skew(60)
    gitea.edit_comment(REPO, comment, rewritten(body, "other\n"))
    [check] = [check for check in inspect(machine().log) if "checksum" in check.message]
    assert check.outcome is Outcome.WARN
    assert f"#issuecomment-{comment}" in check.message


def test_accept__by_a_reader_or_edited_by_a_writer_into_a_comment_of_the_owner__is_none(gitea, machine):
    store = machine(patience_s=1.0)
    store.append(DAY, make_block("one", "- step one"), HEADER, "one")
    number = issue_of(gitea, f"doc:{DAY}")
    comment, body = gitea.comments(REPO, number)[0]
    note = gitea.make_comment(REPO, number, "What a day.")
    gitea.edit_comment(REPO, comment, body.replace("- step", "- evil step"))
    gitea.skew(60)
    gitea.edit_comment(REPO, note, replay.ACCEPT)
    gitea.make_comment(REPO, number, replay.ACCEPT, poster="mallory")
    for view in (store, machine()):
        with pytest.raises(Corrupt, match="edited"):
            view.read(DAY)
    assert any("mallory" in check.message and "accept" in check.message for check in inspect(store.log))


def test_repository__another_one_takes_its_name__is_an_error_and_never_an_empty_memory(gitea, machine):
    """Who gives up a login, or transfers a repository, frees its address for others."""
    store = machine(patience_s=1.0)
    store.write("MEMORY.md", "one\n")
    with store.log.sharing():
        pass  # saves the index
    folder = Path(store.log._place.root)
    gitea.delete_repo(REPO)
    gitea.make_repo(REPO)
    gitea.make_issue(REPO, "Hello")
    store.log.index._asked = 0.0
    again = GiteaBackend(folder, server=gitea.url, repository=REPO, token=gitea.token, patience_s=1.0)
    for view in (store, again):
        with pytest.raises(Closed, match="Another repository") as caught:
            view.read("MEMORY.md")
        assert "gitea-index.json" in caught.value.next_step
        with pytest.raises((Closed, Conflict), match="Another repository"):
            view.write("MEMORY.md", "two\n")
    again.close()
