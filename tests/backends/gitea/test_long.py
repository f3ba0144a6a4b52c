"""Texts of any length by users who only read the repository keep nobody from reading, and doctor names them."""

import pytest
from tests.backends.gitea.store_kit import DAY, REPO, issue_of, text_of

from holdfast.api import Corrupt, Outcome
from holdfast.testing.base import make_fact
from holdfast_gitea.checks import inspect

LONG = "x" * (5 << 20)
LONGEST = "x" * (17 << 20)


def test_comments__longer_than_any_answer_by_a_reader__everything_is_read_and_written_and_doctor_names_them(
    gitea, filled, machine
):
    for length in (LONG, LONGEST):
        gitea.make_comment(REPO, issue_of(gitea, "doc:MEMORY.md"), length, poster="mallory")
    for _ in range(4):
        gitea.make_comment(REPO, issue_of(gitea, "facts"), LONG, poster="mallory")
    assert text_of(filled) == "one\n"
    new = machine()
    new.write("MEMORY.md", "two\n")
    new.add_fact(make_fact(2), 100)
    assert (text_of(filled), len(list(filled.facts()))) == ("two\n", 2)
    told = [check for check in inspect(new.log) if "mallory" in check.message]
    assert [check.outcome for check in told] == [Outcome.WARN] * 2
    assert ["2 comments" in check.message and "too long" in check.message for check in told] == [True, False]
    assert "4 comments" in told[1].message


def test_issues__longer_than_an_answer_by_a_reader__the_list_is_read_and_doctor_names_them(gitea, filled, machine):
    made = [gitea.make_issue(REPO, f"holdfast:doc:{place}.md", LONG, poster="mallory") for place in range(4)]
    view = machine()
    assert (text_of(view), view.names()) == ("one\n", ["MEMORY.md", DAY])
    view.write("USER.md", "new\n")
    assert text_of(machine(), "USER.md") == "new\n"
    told = [check.message for check in inspect(machine().log) if "mallory" in check.message]
    assert all(any(f"#{number} " in message for message in told) for number in made)


def test_record__made_too_long_by_a_user_with_write_access__corrupt_never_older_memory(gitea, filled, machine):
    filled.write("MEMORY.md", "two\n")
    number = issue_of(gitea, "doc:MEMORY.md")
    gitea.edit_comment(REPO, gitea.comments(REPO, number)[-1][0], LONGEST)
    for store in (filled, machine()):
        with pytest.raises(Corrupt, match="longer than anything"):
            store.read("MEMORY.md")
    assert len(list(filled.facts())) == 1
