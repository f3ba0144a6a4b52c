"""Transcripts with unknown tools, missing times, other languages or a newer client's rows lose nothing but what is
unknown: the last real request and the last answer are still there.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.flush.contract import complete
from holdfast.models import Payload, turns_of
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.offline import ending, on_extract
from holdfast_app.transcripts import read

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "quality"))
from clients import CLIENTS

Row = dict[str, Any]
FEW = settings(max_examples=60)

#: The last request and the last answer, each with words that only it has.
ENDS = [
    ("Move the nightly export of invoices to the job queue.", "`export/queue.py` now enqueues 14 invoices a minute."),
    ("Stelle bitte die Übersetzungen auf ICU um.", "`i18n/de.json` nutzt jetzt ICU-Plurale für 14 Schlüssel."),
    ("請把設定頁改成分頁並保留網址。", "`ui/設定頁.vue` 已經改成三個分頁，網址保持不變 42。"),
    ("Перенеси ночной экспорт в очередь задач.", "`export/очередь.py` теперь ставит 14 счетов в минуту."),
    ("اجعل صفحة الإعدادات علامات تبويب.", "`ui/settings.vue` الآن فيها 3 علامات تبويب كاملة."),
]


def steps(request: str, answer: str) -> list[tuple[Any, ...]]:
    return [
        ("user", "Look at the settings page first."),
        ("call", "Read", {"file_path": "/project/a.py"}, "x = 1"),
        ("say", "The settings page reads three values from `a.py`."),
        ("user", request),
        ("call", "Bash", {"command": "pytest -q"}, "12 passed"),
        ("say", answer),
    ]


def _everywhere(value: Any, change: Callable[[Row], None]) -> None:
    if isinstance(value, dict):
        change(value)
    for one in list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        _everywhere(one, change)


def _forget_times(one: Row) -> None:
    for name in ("timestamp", "time", "created"):
        one.pop(name, None)


def _without_times(rows: list[Row]) -> list[Row]:
    for row in rows:
        _everywhere(row, _forget_times)
    return rows


def _other_tools(rows: list[Row]) -> list[Row]:
    def rename(one: Row) -> None:
        for name in ("name", "tool"):
            if one.get(name) in ("Read", "Bash"):
                one[name] = "quantum_" + one[name]

    for row in rows:
        _everywhere(row, rename)
    return rows


def _add_field(one: Row) -> None:
    if "type" in one or "role" in one:
        one["tomorrow"] = {"of": [1, None, "x"]}


def _newer_fields(rows: list[Row]) -> list[Row]:
    for row in rows:
        _everywhere(row, _add_field)
    return rows


def _newer_version(rows: list[Row]) -> list[Row]:
    for row in rows:
        _everywhere(row, lambda one: one.update({n: "99.0.0-next" for n in ("version", "cli_version") if n in one}))
    return rows


def _unknown_rows(rows: list[Row]) -> list[Row]:
    odd: list[Any] = [{"type": "holo", "payload": {"beam": 3}}, {"type": ["list"], "x": None}, 7, None, "text", [], {}]
    return [item for row in rows for item in (row, odd[len(json.dumps(row)) % len(odd)])]


def _strange_times(rows: list[Row]) -> list[Row]:
    odd: list[Any] = ["yesterday", -1, 1e300, None, {"a": 1}, "9999-99-99T99:99:99Z"]
    for number, row in enumerate(rows):
        if isinstance(row, dict) and "timestamp" in row:
            row["timestamp"] = odd[number % len(odd)]
    return rows


CHANGES = [_without_times, _other_tools, _newer_fields, _newer_version, _unknown_rows, _strange_times]


@pytest.mark.parametrize("client", ["claude-code", "codex", "opencode"])
def test_transcript__changed_as_clients_and_people_change_them__keeps_the_last_request_and_the_last_answer(
    client, tmp_path
):
    path = tmp_path / "transcript.jsonl"

    @FEW
    @given(end=st.sampled_from(ENDS), changes=st.lists(st.sampled_from(CHANGES), max_size=4, unique=True))
    def holds(end: tuple[str, str], changes: list[Callable[[list[Row]], list[Row]]]) -> None:
        rows = list(CLIENTS[client](steps(*end)))
        for change in changes:
            rows = change(rows)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        messages = read(path).messages
        extraction = on_extract(turns_of(messages), Payload())
        payload = complete(None, messages, [extraction.draft], own_words)
        request, answer = end
        assert request.rstrip(".。") in (payload.objective or "")
        assert answer.split("` ")[0] in extraction.summary
        assert ending.of(messages).open is False

    holds()
