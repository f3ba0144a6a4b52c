"""What counts as lost in a summary."""

from __future__ import annotations

import pytest

from holdfast.flush.handoff import Work
from holdfast_agents import audit


def work(**given: object) -> Work:
    return Work(session="s", flush="f", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "summary", "lost"),
    [
        ({"objective": "Move billing to PostgreSQL 17"}, "Goal: move Billing to PostgreSQL 17.", ()),
        ({"objective": "Move billing to PostgreSQL 17"}, "Goal: billing is moved to PostgreSQL 16.", ("objective",)),
        ({"next_action": "Run the tests in tests/test_login.py"}, "run tests in tests/test_login.py next", ()),
        ({"next_action": "Run the tests in tests/test_login.py"}, "run the tests", ("next_action",)),
        ({"artifacts": ("owner/repo#12", "docs/a.md")}, "see owner/repo#12", ("artifacts",)),
        ({"blockers": ("none",), "next_action": "None."}, "", ()),
        ({"blockers": ("CI is red",)}, "", ("blockers",)),
        ({"follow_ups": ("Дописать отчёт",)}, "Осталось дописать отчёт", ()),
        ({"follow_ups": ("报告要写完",)}, "没有了", ("follow_ups",)),
        ({}, "", ()),
    ],
)
def test_lost__handoff_and_summary__names_the_fields(
    given: dict[str, object], summary: str, lost: tuple[str, ...]
) -> None:
    assert audit.lost(work(**given), summary) == lost
