"""docs/requirements.md says which test shows which requirement."""

from tests.repo import requirements


def test_this_repository__every_requirement__has_a_test_or_a_reason_and_the_page_says_so(capsys):
    assert (requirements.main(["--check"]), capsys.readouterr().out) == (0, "")
