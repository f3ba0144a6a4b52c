"""The table: it agrees with its source, and every rule is sound."""

import re
import tomllib
from pathlib import Path

import pytest

from holdfast_redaction.rules import lint, table

SOURCE = Path(table.SOURCE).read_text("utf-8")
RULES = tomllib.loads(SOURCE)["rules"]


def test_table__rules__are_named_once_and_say_where_the_format_is_published():
    ids = [rule["id"] for rule in RULES]
    assert len(ids) == len(set(ids))
    for rule in RULES:
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule["id"])
        assert rule["source"].startswith("https://"), rule["id"]
        assert rule["description"]
        assert rule["keywords"] or rule["min_word"] >= 40, f"{rule['id']} would be tried on everything"
        assert re.compile(rule["regex"]).groups >= rule.get("group", 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r["id"])
def test_rule__its_expression__is_linear_by_its_form(rule):
    assert not lint.complaints(rule["regex"])
