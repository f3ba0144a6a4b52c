"""docs/command-line.md says what the commands do."""

import re
import shutil
from pathlib import Path

import pytest

from .test_commands import CALLS

PAGE = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")


def check_keys(name, table):
    """The JSON object of a command has the keys that the page tells."""
    part = PAGE.split("## JSON", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", part, re.MULTILINE)
    told = next(text for names, text in rows if f"`{name}`" in names)
    outer = re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", told))
    assert ["ok", *outer] == [key for key in table if key != "error"]
    for key, inner in re.findall(r"`(\w+)` \((.*?)\)", told):
        names = [n for n in re.findall(r"`(\w+)`", inner) if n != "text" or (table[key] and n in table[key][0])]
        if table[key] and names:
            assert names == list(table[key][0])


@pytest.mark.parametrize("command", CALLS)
def test_output__of_every_command_that_prints_data__is_as_the_page_says_or_plain_lines_that_fit(
    talked, project, command
):
    if command == "override":  # of a flush that was refused
        shutil.rmtree(project / ".holdfast/memory", ignore_errors=True)
        (project / ".holdfast/memory").write_text("in the way")
        assert talked("flush", "--session", "s1").code == 1
    result = talked(*CALLS[command], "--json")
    assert (result.code, result.err, result.json["ok"]) == (0, "", True)
    check_keys(command, result.json)
    result = talked(*CALLS[command])
    assert result.code == 0
    assert "\x1b" not in result.out
    if command not in ("load", "report"):  # these print documents as they are
        assert all(len(line) <= 100 for line in result.out.splitlines() if str(project) not in line)


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
    known = run("remember", "a", "--json").json["fact"]["id"]
    run("facts", "edit", known, "--confidence", "0.5")  # so that the log has something to tell
    check_keys(name, run(*(known if word == "ID" else word for word in words), "--json", stdin=stdin).json)
