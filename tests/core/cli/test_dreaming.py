"""``holdfast dream`` as people run it."""

import json

import pytest
from tests.support.stated import done

from holdfast import Holdfast

PAYLOAD = done(
    "Move the queue",
    facts=["The queue runs on Postgres 16"],
    decisions=["Retries stop after 5 attempts"],
    curated={"memory": ["The API lives in services/api"]},
)
ADDED = ["Retries stop after 5 attempts", "The queue runs on Postgres 16"]


@pytest.fixture
def noted(run, project):
    """A project with a flushed session: a note, and a memory of one item."""
    assert run("add", "user", "Move the queue", "--session", "s1").code == 0
    assert run("flush", "--session", "s1", stdin=json.dumps(PAYLOAD)).code == 0
    return run


def memory(project):
    return (project / ".holdfast" / "MEMORY.md").read_text()


@pytest.mark.req("R017", "R018")
def test_dream__notes_say_something__is_done_told_and_skipped_the_second_time(noted, project):
    result = noted("dream")
    assert (result.code, "dream done by offline: 1 kept, 2 added" in result.out) == (0, True)
    assert all(f"+ {item}" in result.out for item in ADDED)
    assert all(f"- {item}\n" in memory(project) for item in ADDED)
    again = noted("dream", "--json")
    assert (again.code, again.json["status"]) == (0, "skipped")
    assert noted("dream", "--force", "--lookback-days", "1", "--json").json["status"] == "done"


def test_doctor__dream_has_not_ended__is_running_while_it_holds_the_lock_and_was_killed_otherwise(noted, project):
    from holdfast_app.dream import dreamlog, write

    with Holdfast.open(project) as opened:
        services = opened.services
        begun = dreamlog.DreamResult(id="dream_1", at=services.now(), status=dreamlog.Status.BEGUN)
        dreamlog.record(services.state, begun)
        with write.lock(services):
            assert "a dream is running" in noted("doctor").out
        assert "was killed" in " ".join(noted("doctor").out.split())


def test_rule__closed_by_a_person__leaves_memory_and_no_dream_brings_it_back(run, project):
    run("add", "user", "Always run pytest -q before you commit.", "--session", "s1")
    run("end", "--session", "s1")
    run("dream")
    assert "- Always run pytest -q before you commit." in memory(project)
    (rule,) = [one["id"] for one in run("work", "--json").json["rules"]]
    assert run("work", "close", rule).code == 0
    assert "pytest" not in memory(project)
    run("dream", "--force")
    assert "pytest" not in memory(project)


@pytest.mark.req("R103", "R104")
@pytest.mark.parametrize("answer", ["accept", "reject"])
def test_dream__said_in_three_sessions__is_proposed_and_only_a_person_puts_it_into_memory(run, project, answer):
    asked = "The footer hides the button on small screens"
    for number in range(3):
        run("add", "user", f"{asked}. Run all tests, then commit. Add page {number}.", "--session", f"s{number}")
        run("end", "--session", f"s{number}")
        run("dream", "--force")
        assert not (project / ".holdfast" / "MEMORY.md").exists()
        assert ("holdfast dream review" in run("load").out) is (number == 2)
    assert "waits for the user" in " ".join(run("status").out.split())
    assert (review := run("dream", "review").out).count("+- ") == 1
    assert f"+- {asked}." in review
    assert run("dream", "review", answer).code == 0
    run("dream", "--force")
    assert "dream review" not in run("load").out
    assert (project / ".holdfast" / "MEMORY.md").exists() is (answer == "accept")
    if answer == "accept":
        assert f"- {asked}.\n" in memory(project)


def test_review__accepted__is_written_with_diary_and_can_be_undone(noted, project):
    (project / "holdfast.toml").write_text('[dream]\napply = "propose"\n')
    assert noted("dream", "--json").json["status"] == "proposed"
    before = memory(project)
    assert noted("dream", "review", "accept", "--json").json["status"] == "done"
    assert all(f"- {item}\n" in memory(project) for item in ADDED)
    assert list((project / ".holdfast" / "memory" / "dreams").iterdir())
    assert noted("dream", "review").code == 1
    assert noted("dream", "--json").json["status"] == "skipped"
    noted("dream", "--undo")
    assert memory(project) == before


def test_report__write__is_where_layers_says_and_holds_only_what_is_elsewhere(noted, project):
    written = noted("report", "--write", "--json").json["written"]
    [layer] = [one for one in noted("layers", "--json").json["layers"] if one["surface"] == "report"]
    assert written.rpartition("/")[0] == layer["name"].rpartition("/")[0]
    path = project / ".holdfast" / written
    assert path.read_text() == noted("report").out
    assert noted("report", "--write").code == 0
    assert noted("validate").code == 0
    assert noted("report", "--write", "--days", "7").code == 2
    assert noted("purge", "--session", "s1", "--yes").code == 0
    assert not path.exists()
