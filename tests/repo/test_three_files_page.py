"""docs/three-files.md says what the code does."""

import re

import pytest

from holdfast.validation import MAX_DOCUMENT_CHARS
from holdfast_app.workflow import observations
from holdfast_app.workflow.sections import MAX_CHARS, MAX_ITEMS
from holdfast_app.workflow.three import ANCHORS, CONDITIONS


@pytest.fixture
def page(root) -> str:
    return (root / "docs" / "three-files.md").read_text(encoding="utf-8")


def rows(page: str, first: str) -> dict[str, str]:
    """First cell -> the rest of the row, of the table whose first heading is ``first``."""
    table = page.split(f"| {first} |", 1)[1].split("\n\n", 1)[0]
    return dict(re.findall(r"^\| ([^-|]+?) \| (.+) \|$", table, re.MULTILINE))


@pytest.mark.req("R234")
def test_page__anchors__are_those_of_the_code(page):
    told = {name.strip("`"): re.findall(r"`(.+?)`", text) for name, text in rows(page, "file").items()}
    assert told == {f"{surface}.md": list(anchors) for surface, anchors in ANCHORS.items()}


@pytest.mark.req("R234", "R246")
def test_page__conditions__are_those_of_the_code(page):
    told = {name.strip("`"): re.findall(r"`--(.+?)`", text) for name, text in rows(page, "workflow").items()}
    assert told == {name: list(table) for name, table in CONDITIONS.items()}


@pytest.mark.req("R221", "R222", "R223", "R224", "R238")
def test_page__triggers_and_limits__are_those_of_the_code(page):
    assert set(rows(page, "trigger")) == {"repeated", "critical", "integration"}
    assert (observations.REPEATED, observations.WORKFLOWS_AFFECTED, observations.WINDOW_S) == (3, 2, 60.0)
    assert (
        f"At most {observations.WRITES} writes happen in a minute, {observations.CRITICAL_WRITES} with critical" in page
    )
    assert f"at most {MAX_CHARS} characters" in page
    assert f"at most {MAX_ITEMS}" in page
    assert f"{MAX_DOCUMENT_CHARS:,} characters" in page


@pytest.mark.req("R231")
def test_project__coding_patterns__are_the_linters_settings(root, page):
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    assert "[tool.ruff.lint]" in text
    assert "strict = true" in text
    assert "00_meta/patterns.md" in page


@pytest.mark.req("R232")
def test_project__run_time_dependencies__are_the_reviewed_ones(root):
    import tomllib

    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    names = {re.split(r"[<>=;\[ ]", d, maxsplit=1)[0] for d in table["project"]["dependencies"]}
    assert names == {"attrs", "cattrs", "keyring", "markdown-it-py", "pluggy", "tomli-w", "tomlkit", "tzdata"}
