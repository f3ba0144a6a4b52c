"""``holdfast timeline``, ``why``, ``diff`` and ``explain``, on a made-up project after a week and on broken ones."""

import json
import re
from typing import Any

import pytest
from tests.core.cli.conftest import called, run
from tests.plugins.agents.hooking import Client
from tests.plugins.conftest import at_home
from tests.support.stated import goes_on
from tests.support.trusting import foreign

from holdfast import Holdfast
from holdfast_app.config import Config

__all__ = ["run"]

EVER = ("--days", "3660")


@pytest.fixture
def look(two_weeks, monkeypatch, capsys):
    """``look("why", "redis", "--json")`` in the project after two weeks, for its user and without a terminal."""
    at_home(monkeypatch, two_weeks[0].parent)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(two_weeks[0])

    return lambda *words: called(capsys, *words)


def test_timeline__of_a_lived_in_project__counts_what_was_saved_and_names_the_blocked_day(look):
    days = look("timeline", *EVER, "--json").json["days"]
    total = {name: sum(day[name] for day in days) for name in ("flushes", "blocked", "sessions", "dreams", "added")}
    assert total["blocked"] == 1
    assert all(number > 3 for name, number in total.items() if name != "blocked"), total
    blocked = next(day["day"] for day in days if day["blocked"])
    text = look("timeline", *EVER).out
    assert f"{blocked}: flush refused 1 time at the daily note, nothing was dropped" in text
    assert re.search(rf"in all +{total['sessions']} +{total['flushes']} +1 ", text)
    assert re.search(rf"{blocked} +1 +1 +1 ", text)


def test_why__of_a_memory_line__leads_to_the_note_the_session_and_the_turn(look, two_weeks):
    home = two_weeks[0] / ".holdfast"
    lines = (home / "MEMORY.md").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "outbox table instead of Redis" in line)
    found = look("why", f"MEMORY.md:{number}", "--json").json["found"]
    assert [one["place"] for one in found] == [f"MEMORY.md:{number}"]
    source = found[0]["sources"][0]
    assert source["session"].startswith("webhook-retries")
    note, _, line = source["place"].partition(":")
    assert "outbox table instead of Redis" in (home / note).read_text().splitlines()[int(line) - 1]
    turn = source["turns"][0]
    assert "outbox table instead of Redis" in turn["text"]
    assert look("sessions", "show", turn["session"], "--around", turn["id"]).code == 0
    assert look("why", source["place"], "--json").json["found"][0]["sources"][0]["turns"][0]["id"] == turn["id"]


def test_explain__is_the_text_that_the_hook_gives_to_a_new_session(run, project):
    with Holdfast.open(project, config=Config(zone="UTC")) as memory:
        for number in range(24):
            session = memory.session(f"s{number:02d}")
            session.add("user", f"Task {number}: " + "repair the importer and its tests, please. " * 12)
            session.add("assistant", f"The importer {number} now reads both formats.")
            session.flush()
    explained = run("explain", "--json").json
    client = Client(project, native="11111111-2222-4333-8444-555555555555")
    context = client.hook("SessionStart", source="startup").context
    text = explained["text"].replace("00000000-0000-0000-0000-000000000000", client.native)
    assert text == context
    assert len(text) > 8_000  # long enough that something was cut
    lines = [line["text"] for part in explained["parts"] for line in part["lines"]]
    assert "\n".join(lines) == explained["text"]
    assert sum(part["cut"] for part in explained["parts"])


STATED = goes_on(
    "Add OAuth login",
    "Write the callback handler",
    facts=["The OAuth port is 9090"],
    decisions=["Use PKCE"],
    curated={"memory": ["Releases go out on Fridays"], "user": ["Prefers tabs"]},
)


def test_explain__lines_that_a_note_repeats__have_the_numbers_of_the_shown_ones(run, project):
    for session in ("one", "two"):
        run("flush", "--session", session, "--payload", "-", stdin=json.dumps(STATED | {"objective": session}))
    stored = {}
    for part in run("explain", "--json").json["parts"]:
        last = 0
        for line in part["lines"]:
            name, _, number = line["source"].partition(":")
            if number:
                text = stored.setdefault(name, (project / ".holdfast" / name).read_text().splitlines())
                assert text[int(number) - 1].replace("**", "").strip() == line["text"].replace("**", "").strip()
                assert int(number) > last
                last = int(number)
    assert {"continuity/active.md", "MEMORY.md", "USER.md"} < set(stored)


@pytest.mark.parametrize("place", ["MEMORY.md:3", "USER.md:3"])
@pytest.mark.parametrize("dreams", [False, True])
def test_why__of_a_line_stated_a_moment_ago__names_its_note_and_no_made_up_date(run, project, place, dreams):
    run("add", "--session", "s", "user", "Releases go out on Fridays, and I prefer tabs")
    run("flush", "--session", "s", "--payload", "-", stdin=json.dumps(STATED))
    if dreams:
        assert run("dream").code == 0
    shown = run("why", place)
    assert "session s" in shown.out
    assert "days ago" not in shown.out
    assert "No note" not in shown.out
    run("remember", "The port is 8080")
    assert "on 0 days" not in run("why", "8080").out
    (found,) = run("why", place, "--json").json["found"]
    note, _, line = found["sources"][0]["place"].partition(":")
    assert found["text"] in (project / ".holdfast" / note).read_text().splitlines()[int(line) - 1]
    assert found["first"] is None


def test_clone__with_memory_of_another_machine__is_withheld(run, project):
    foreign(project)
    told: dict[str, Any] = run("explain", "--json").json
    assert "MEMORY.md" in told["withheld"]
    for command in ("why MEMORY.md:1", "why fact_12345678", "why curl"):
        done = run(*command.split())
        assert done.code == 1, command
        assert "evil.example" not in done.out + done.err
        assert "withheld" in done.err, command
        assert "holdfast trust" in done.err
    assert "evil.example" not in run("explain").out
