"""Progress bars: on a terminal only, never in data, gone at the end. Shown through a real pseudo-terminal."""

import json
import subprocess
import sys

import pytest
from tests.core.cli.conftest import on_a_terminal

from holdfast import Holdfast

#: Runs commands one after another without the initial delay, because the work of a test is short.
EAGER = """
import json, sys
from holdfast_cli import command, main
command._PATIENCE_S = 0
for words in json.loads(sys.argv[1]):
    assert main(words) == 0
    print("END", flush=True)
    print("END", end="", file=sys.stderr, flush=True)
"""


@pytest.fixture
def filled(project):
    with Holdfast.open(project) as memory:
        memory.facts.create("Jane Doe prefers tabs", "preference", 0.9)
        session = memory.session("s1")
        session.add("user", "Ask Jane Doe about the 40 failing tests of the parser")
        session.add("assistant", "Decision: the parser reads UTF-8 only, because Jane Doe said so.")
        session.flush()
    return project


#: Commands, and what their bar says.
SHOWN = {
    ("purge", "--subject", "Jane Doe", "--dry-run"): "Checking journals",
    ("scrub", "--yes"): "Editing documents",
    ("retention", "run"): "Checking private files",
    ("dream", "--force"): "Waiting for offline",
    ("search", "parser"): "Updating the search index",
    ("purge", "--subject", "Jane Doe", "--yes"): "Searching every file",
    ("migrate", "--to", "sqlite"): " of ",
}
QUIET = [["dream", "--force", "--json"], ["purge", "--subject", "Jane Doe", "--dry-run", "--json"]]


def test_long_command__stderr_is_a_terminal__bar_there_and_gone_at_the_end_unless_json_is_asked_for(filled):
    command = [sys.executable, "-c", EAGER, json.dumps([*SHOWN, *QUIET])]
    err, out = on_a_terminal(command, filled, {}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    shown = list(zip(out.split("END\n"), err.split("END"), strict=True))[:-1]
    for activity, (out, err) in zip(SHOWN.values(), shown, strict=False):
        assert activity in err
        assert err.rpartition("\r\x1b[K")[2].strip() == ""
        assert out
        assert "\x1b[K" not in out
    assert [err for _, err in shown[len(SHOWN) :]] == ["", ""]
