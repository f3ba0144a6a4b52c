"""docs/command-line.md says what the commands do."""

import re
from pathlib import Path

import pytest

from .test_commands import CALLS

PAGE = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")


def rows(heading):
    """First cell -> second cell of the first table under a heading."""
    part = PAGE.split(heading, 1)[1].split("\n## ", 1)[0]
    return {m[1]: m[2] for m in re.finditer(r"^\| (`.+?) \| (.+) \|$", part, re.MULTILINE)}


@pytest.mark.parametrize("command", CALLS)
def test_page__json_keys__are_the_ones_that_are_printed(talked, command):
    told = next(text for names, text in rows("## JSON").items() if f"`{command}`" in names)
    outer = re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", told))
    table = talked(*CALLS[command], "--json").json
    assert ["ok", *outer] == list(table)
    for key, inner in re.findall(r"`(\w+)` \((.*?)\)", told):
        if table[key]:
            names = re.findall(r"`(\w+)`", inner)
            assert [n for n in names if n != "text" or n in table[key][0]] == list(table[key][0])


@pytest.mark.parametrize(
    ("name", "words", "stdin"),
    [
        ("facts show", ["facts", "show", "ID"], ""),
        ("facts export", ["facts", "export"], ""),
        ("facts edit", ["facts", "edit", "ID", "--content", "b"], ""),
        ("facts import", ["facts", "import", "-"], '{"content": "c", "category": "goal", "confidence": 1}\nx\n'),
        ("facts forget", ["facts", "forget", "ID"], ""),
        ("facts log", ["facts", "log"], ""),
    ],
)
def test_page__json_keys_of_the_actions_on_facts__are_the_ones_that_are_printed(run, name, words, stdin):
    told = next(text for names, text in rows("## JSON").items() if f"`{name}`" in names)
    known = run("remember", "a", "--json").json["fact"]["id"]
    run("facts", "edit", known, "--confidence", "0.5")  # so that the log has something to tell
    table = run(*(known if word == "ID" else word for word in words), "--json", stdin=stdin).json
    outer = re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", told))
    assert ["ok", *outer] == [key for key in table if key != "error"]
    for key, inner in re.findall(r"`(\w+)` \((.*?)\)", told):
        if names := re.findall(r"`(\w+)`", inner):
            assert names == list(table[key][0])
