"""Heartbeats and briefings: whatever their form, the worst entry and the newest are told."""

import pytest

from holdfast_app.report.automation import entries, summary

OK, FAILED = '{"at": "2026-11-21T01:00:00Z", "status": "ok"}', '{"at": "2026-11-21T09:00:00Z", "status": "FAILED"}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.jsonl", f"{OK}\n\n{FAILED}"),
        ("d.json", f'{{"host": "a", "checks": [{OK}, {FAILED}]}}'),
        ("d.md", "# Heartbeat\n\n- 01:00 ok\n- 09:00 FAILED: disk full\n"),
        ("d.md", "| time | status |\n|---|---|\n| 01:00 | ok |\n| 09:00 | failed |\n"),
        ("d.txt", "01:00 all well, no errors\n9:00 timeout\n"),
        ("d.json", '[{"ts": 1763700000, "ok": true}, {"ts": 1763730000, "ok": false}]'),
        ("d.jsonl", '{"ts": 1, "exit_code": 0}\n{"ts": 2, "exit_code": 1}\n'),
    ],
)
def test_entries__good_first_and_bad_later__the_last_is_the_bad_one(name, text):
    found = entries(name, text)
    assert found[-1].is_bad
    assert summary(found) == [found[-1].text]


def test_summary__bad_and_then_good__tells_both():
    text = "- 01:00 ok\n- 03:00 FAILED: no network\n- 04:00 slow\n- 09:00 ok\n"
    assert summary(entries("d.md", text)) == ["03:00 FAILED: no network (the worst of 4)", "09:00 ok (the last of 4)"]


@pytest.mark.parametrize(
    "text",
    [
        "All well, 0 errors",
        "errors: 0, warnings: none",
        "ran without errors",
        "no failed jobs",
        "Disk at 40 %",
        '{"failed": 0}',
    ],
)
def test_entries__good_ones_in_any_words__are_good(text):
    name = "d.json" if text.startswith("{") else "d.md"
    assert [entry.is_bad for entry in entries(name, text)] == [False]
