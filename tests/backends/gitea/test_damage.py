"""What people do to a store in their browsers: it is missed, reported, and stays as it is until somebody decides."""

import json
from collections.abc import Callable

import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO, issue_of, text_of

from holdfast.api import ABSENT, Corrupt, Holdfast, Outcome, StorageConfig, Unsupported
from holdfast.testing.base import make_block, make_fact
from holdfast_app.config import Config
from holdfast_gitea import marker, replay
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import checks


@pytest.fixture
def machine(machine) -> Callable[..., GiteaBackend]:
    """One that gives up soon: what is wrong here does not pass."""
    return lambda **more: machine(patience_s=1.0, **more)


def three_blocks(store: GiteaBackend) -> None:
    for block_id in ("one", "two", "three"):
        store.append(DAY, make_block(block_id, f"- step {block_id}"), HEADER, block_id)


@pytest.mark.parametrize("place", [0, 2])
def test_block__edited__corrupt_until_accepted_then_read_as_it_is(gitea, store, machine, place):
    three_blocks(store)
    number = issue_of(gitea, f"doc:{DAY}")
    comment, body = gitea.comments(REPO, number)[place]
    gitea.edit_comment(REPO, comment, body.replace("- step", "- the step"))
    before = gitea.bodies(REPO, number)
    for view in (store, machine()):
        for touch in (lambda v=view: v.read(DAY), lambda v=view: v.append(DAY, make_block("four"), HEADER, "four")):
            with pytest.raises(Corrupt, match="edited manually") as caught:
                touch()
            assert f"issuecomment-{comment}" in caught.value.message
            assert replay.ACCEPT in caught.value.next_step
    assert gitea.bodies(REPO, number) == before
    gitea.make_comment(REPO, number, "Holdfast: accept\n")
    store.append(DAY, make_block("four"), HEADER, "four")
    for view in (store, machine()):
        text = text_of(view, DAY)
        assert text.count("- the step") == 1
        assert [line[-9:-4] for line in text.split("\n") if "block id" in line] == ["d=one", "d=two", "three", "=four"]


@pytest.mark.parametrize("how", ["deleted", "marker removed"])
def test_block__gone_from_the_middle__corrupt_for_every_machine_until_accepted(gitea, store, machine, how):
    three_blocks(store)
    number = issue_of(gitea, f"doc:{DAY}")
    comment, body = gitea.comments(REPO, number)[1]
    if how == "deleted":
        gitea.delete_comment(REPO, comment)
    else:
        gitea.edit_comment(REPO, comment, body.rsplit("\n", 1)[0])
    for view in (store, machine()):
        with pytest.raises(Corrupt, match="gone from the server") as caught:
            view.read(DAY)
        assert "accept" not in caught.value.next_step  # a server that lags may show it later
        assert "Try again" in caught.value.next_step
    gitea.make_comment(REPO, number, replay.ACCEPT)
    assert text_of(machine(), DAY).count("- step") == 2


def test_version__newest_one_deleted__never_an_older_one_in_its_place(gitea, store, machine):
    """The copy in the body tells a machine that has never seen it."""
    store.write("MEMORY.md", "one\n")
    revision = store.write("MEMORY.md", "two\n")
    number = issue_of(gitea, "doc:MEMORY.md")
    gitea.delete_comment(REPO, gitea.comments(REPO, number)[-1][0])
    for view in (store, machine()):
        for touch in (
            lambda v=view: v.read("MEMORY.md"),
            lambda v=view: v.write("MEMORY.md", "three\n"),
            lambda v=view: v.write("MEMORY.md", "three\n", revision),
            lambda v=view: v.delete("MEMORY.md"),
        ):
            with pytest.raises(Corrupt):
                touch()
    gitea.make_comment(REPO, number, replay.ACCEPT)
    assert text_of(machine(), "MEMORY.md") == "one\n"


@pytest.mark.parametrize("said", [{"schema": 2, "requires": []}, {"schema": 1, "requires": ["locks"]}])
def test_store__of_a_newer_form__unsupported(gitea, machine, said):
    body = marker.frame("A store.", json.dumps(said), language="json", kind="store")
    gitea.make_issue(REPO, "holdfast:store", body)
    store = machine()
    for touch in (lambda: store.read("MEMORY.md"), store.names, lambda: store.write("MEMORY.md", "x", ABSENT)):
        with pytest.raises(Unsupported):
            touch()
    assert len(gitea.titles(REPO)) == 1


def test_doctor__store_that_people_edited__says_what_and_where(gitea, tmp_path, monkeypatch):
    monkeypatch.setenv("GITEA_TOKEN", gitea.token)
    config = Config(storage=StorageConfig(backend="gitea", options={"server": gitea.url, "repository": REPO}))
    with Holdfast.open(tmp_path, config=config) as memory:
        store = memory.store.backend
        assert isinstance(store, GiteaBackend)
        store.write("MEMORY.md", "one\n")
        assert [(check.outcome, check.message.split(" in ")[0].split(" from ")[0]) for check in checks(memory)] == [
            (Outcome.OK, "records count"),
            (Outcome.OK, "no manual edits"),
        ]
        store.write("MEMORY.md", "two\n")
        three_blocks(store)
        for name in ("doc:MEMORY.md", f"doc:{DAY}"):
            comment, body = gitea.comments(REPO, issue_of(gitea, name))[0]
            gitea.edit_comment(REPO, comment, body.replace("one", "eins"))
        store.add_fact(make_fact(1), 5)
        gitea.delete_comment(REPO, gitea.comments(REPO, issue_of(gitea, "facts"))[0][0])
        found = [check for check in checks(memory) if check.outcome is not Outcome.OK]
    assert sorted(check.outcome for check in found) == [Outcome.FAIL, Outcome.WARN, Outcome.WARN]
    assert all(check.next_step for check in found)
    assert all("#issuecomment-" in check.message for check in found if check.outcome is Outcome.WARN)
