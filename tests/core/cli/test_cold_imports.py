"""What a command imports. Importing is most of the time that a command takes, so each imports only what it uses.

CONTRIBUTING.md has the rule, benchmarks/README.md the figures.
"""

import json
import sys

import pytest
from tests.support.processes import finished

SCRIPT = """
import contextlib, io, json, sys
from holdfast_cli import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(json.loads(sys.argv[1])) == 0
print(json.dumps(sorted(sys.modules)))
"""
#: Packages that take milliseconds to import and serve no command that only reads or stores local files.
NEVER = set(
    """
    anthropic asyncio bz2 concurrent email getpass glob hashlib html httpcore2 httpx httpx2 keyring logging lzma
    multiprocessing openai random requests shutil ssl
    subprocess tempfile tomli_w unittest xml zipfile
    """.split()  # noqa: SIM905
)
#: Models that only a flush needs.
OF_A_FLUSH = {"holdfast.models.payload"}
#: Command -> packages and modules that it does without as well.
COMMANDS = {
    ("status",): {"sqlite3", "tomllib"},
    ("load",): {"sqlite3"},
    ("remember", "The parser reads the journal"): {"sqlite3", "tomllib", "holdfast.session"},
    ("search", "parser"): {"tomllib", "holdfast.session"},
}


@pytest.fixture
def used(run, project):
    """A project with a flushed session, a fact, an index and the settings file of `holdfast init`."""
    (project / "holdfast.toml").write_text("# Settings\n\n# They are all as usual.\n")
    for words in ("add user Fix", "flush", "remember Python", "search x"):
        assert run(*words.split()).code == 0
    return project


@pytest.mark.req("R185")
def test_command__in_a_project_with_the_usual_settings__imports_nothing_that_it_does_not_use(used):
    imported = {"glob"} if sys.version_info >= (3, 13) else set()  # by pathlib of these versions
    for words, aside in COMMANDS.items():
        done = finished([sys.executable, "-c", SCRIPT, json.dumps(words)], cwd=used, check=True)
        modules = set(json.loads(done.stdout))
        found = modules | {name.partition(".")[0] for name in modules}
        assert sorted(found & (NEVER | OF_A_FLUSH | aside) - imported) == [], words
