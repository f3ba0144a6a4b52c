"""What the documentation says is executed or compared with the code."""

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from tests.repo.conftest import Environment
from tests.repo.documents import HERE, Block, blocks, execute
from tests.support.processes import finished, programs

from holdfast import hooks
from holdfast_app.curated.limits import Limits

ROOT = Path(__file__).parents[2]
HOOKS = {name: hook for name, hook in vars(hooks).items() if hasattr(hook, "holdfast_spec")}


def test_readme__first_block__is_the_two_lines_of_set_up(root):
    first = blocks((root / "README.md").read_text(encoding="utf-8"))[0]
    commands = [line.partition("#")[0].rstrip() for line in first.text.splitlines()]
    assert first.language == "bash"
    assert commands == [
        "python -m pip install .  && holdfast demo",
        "python -m pip install -e '.[dev]' && python -m pytest",
    ]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_ci_run__set_up__is_read_from_the_readme(root):
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert os.access(root / ".ci" / "run", os.X_OK)
    assert "pip install -e" not in script, "the set-up stands in the README only"
    reading = next(line for line in script.splitlines() if line.startswith("mapfile"))
    done = finished(
        ["bash", "-c", f'root=$1; {reading}; printf "%s\\n" "${{setup[@]}}"', "bash", str(root)], check=True
    )
    assert done.stdout == blocks((root / "README.md").read_text(encoding="utf-8"))[0].text


# pages that run

#: Commands that a test cannot run, and why; `:` stands in their place.
ELSEWHERE = {
    "python -m pip install": "needs the package index; tests/repo/test_packaging.py installs the wheel",
    "pip install ": "needs the package index; tests/repo/test_packaging.py installs the wheel",
    "uv pip compile ": "needs the package index",
    "claude -p ": "needs Claude Code; tests/repo/test_stranger.py runs it",
    "claude mcp add ": "needs Claude Code; docs/clients.md lists the runs",
    "codex mcp add ": "needs Codex; docs/clients.md lists the runs",
    "holdfast gitea invite": "needs a server; tests/backends/gitea/test_invitations.py runs it",
    "python -m pytest": "is this suite",
    ".ci/run": "runs this suite",
    "mkdocs build": "is a stage of .ci/run",
    "holdfast plugin check": "needs the generated plugin installed; the tutorial's test runs it",
    "python -m tests.repo.requirements": "writes into the checkout",
}
#: `holdfast auth set` gets its key piped in, and the keyring is a file.
KEYRING = (
    f"PYTHONPATH={shlex.quote(str(ROOT))} PYTHON_KEYRING_BACKEND=tests.support.file_keyring.FileKeyring "
    f"TEST_KEYRING_FILE=../keyring.json"
)
PREFIX = {words: f": {words}" for words in ELSEWHERE} | {
    "holdfast auth set": "echo key-123 | holdfast auth set",
    "holdfast auth ": f"{KEYRING} holdfast auth ",
}
#: What a page takes for granted.
PREPARED = {
    "docs/dream.md": "holdfast add user 'Decided: keep the old schema until Friday.' && "
    "holdfast flush --decision 'Keep the old schema until Friday' --next-step 'migrate' --curated none"
}
RUNNING = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")


def pages(root: Path) -> list[Path]:
    """The pages for users and contributors. The tutorial and the hooks page have tests of their own."""
    found = [root / name for name in RUNNING] + sorted((root / "docs").rglob("*.md"))
    return [page for page in found if page.name not in ("tutorial-plugin.md", "hooks.md")]


def with_toml(root: Path) -> list[Path]:
    """All pages with a TOML block that is not a file of a tutorial."""
    found = [*pages(root), root / "docs" / "hooks.md", root / "tests" / "third_party" / "acme" / "README.md"]
    languages = {page: [b.language for b in blocks(page.read_text(encoding="utf-8")) if not b.title] for page in found}
    return [page for page in found if "toml" in languages[page]]


@pytest.mark.parametrize("page", [str(p.relative_to(ROOT)) for p in pages(ROOT)])
def test_page__its_blocks__run_from_top_to_bottom_in_a_new_project(root, project, page):
    (project / ".git").mkdir()
    shutil.copy(root / "tests/data/transcripts/claude-code.manual.jsonl", project / "session.jsonl")
    found = blocks((root / page).read_text(encoding="utf-8"))
    before = [Block("bash", "", PREPARED[page], 0)] if page in PREPARED else []
    execute([*before, *found], project, HERE, prefix=PREFIX)


def test_flush_help__its_examples__run(project, root, tmp_path):
    (project / "holdfast.toml").touch()
    shutil.copy(root / "tests/data/transcripts/claude-code.manual.jsonl", project / "session.jsonl")
    env = {**os.environ, "PATH": f"{programs(tmp_path / 'programs')}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}

    def run(command: str) -> str:
        done = finished(["bash", "-euc", command], cwd=project, env=env, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    shown = run("holdfast flush --help").partition("examples:\n")[2].partition("\n\n")[0]
    examples = re.sub(r"\\\n\s+", "", shown).splitlines()
    (project / "payload.json").write_text('{"objective": "Fix login", "curated": "none"}')
    assert len(examples) == 5
    for example in examples:
        run("holdfast add --session fix-login user 'Fix the login'")
        run(example)


def test_readme__its_guard__saves_and_drops_as_it_is_copied(root, project):
    (guard,) = [b.text for b in blocks((root / "README.md").read_text(encoding="utf-8")) if "@memory.guard" in b.text]
    (project / "holdfast.toml").touch()
    called = f"""{guard}
rows = [{{"role": "user", "content": f"Step {{n}}"}} for n in range(6)]
assert compact(rows) == rows[-4:]
print([m.text for m in memory.session("fix-login").messages], memory.session("fix-login").last_receipt.flush_id)
memory.close()
"""
    done = subprocess.run([sys.executable, "-c", called], cwd=project, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith("['Step 2', 'Step 3', 'Step 4', 'Step 5'] flush_")


def test_tutorial__from_top_to_bottom__runs(root, wheel, project, tmp_path):
    made = Environment(tmp_path / "environment")
    libraries = ("attrs", "markdown-it-py", "mdurl", "pluggy", "tomli-w", "tomlkit")
    made.lend(*libraries, "pip", "hatchling", "pytest", "hypothesis")
    made.install(wheel)
    found = blocks((root / "docs" / "tutorial-plugin.md").read_text(encoding="utf-8"))
    # What is needed is there: no network, and nothing is fetched to build with.
    offline = {"pip install": "pip install -q --no-index --no-deps --no-build-isolation --disable-pip-version-check"}
    execute(found, project, str(made.bin), prefix=offline)


@pytest.mark.parametrize("page", [str(p.relative_to(ROOT)) for p in with_toml(ROOT)])
def test_page__its_toml__is_a_valid_configuration(root, project, page):
    from holdfast_app.project_settings import resolved

    for block in blocks((root / page).read_text(encoding="utf-8")):
        if block.language == "toml" and not block.title:
            (project / "holdfast.toml").write_text(block.text, encoding="utf-8")
            assert resolved.load(str(project))


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_hooks_page__hook__has_its_exact_signature_and_docstring(root, name):
    source = re.sub(r"  # type: ignore.*", "", inspect.getsource(HOOKS[name]))
    assert f"## {name}\n\n```python\n{source.rstrip()}\n```" in (root / "docs" / "hooks.md").read_text(encoding="utf-8")


def test_hooks_page__hooks__are_those_of_the_code_in_their_order(root):
    page = (root / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == list(HOOKS)


def test_hook__every_one__is_implemented_by_a_test(root):
    texts = "".join(p.read_text(encoding="utf-8") for p in (root / "tests").rglob("*.py"))
    assert [name for name in HOOKS if f"def {name}(" not in texts] == []


def test_configuration_page__table__is_made_from_the_settings(root):
    from tests.support import settings_page

    page = (root / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert settings_page.table() in page, "python -m tests.support.settings_page writes it"


def test_configuration_page__limits_of_curated_memory__are_those_of_the_code(root):
    page = (root / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `plugins\.curated\.(\w+)` \| `(.+?)` \|", page, re.MULTILINE)
    assert {key: tomllib.loads(f"x = {text}")["x"] for key, text in rows} == Limits._field_defaults


def test_flush_contract_page__payload_fields__are_those_of_the_code(root):
    from holdfast.models import Payload

    page = (root / "docs" / "flush-contract.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert told == {f.name for f in attrs.fields(Payload)} - {"derived", "sources"}


def assert_shown(root: Path, promises: Mapping[str, str]) -> None:
    """Each promise names a test, and each of the named ones exists."""
    named = {promise: re.findall(r"`(\S+\.py)::(\w+)`", cell) for promise, cell in promises.items()}
    assert [promise for promise, tests in named.items() if not tests] == []
    missing = [
        f"{file}::{name}"
        for tests in named.values()
        for file, name in tests
        if not re.search(rf"(?:def|class) {name}\(", (root / "tests" / file).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_promises_page__each_listed_test__exists_and_each_promise_has_one(root):
    page = (root / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([A-J]\d+) \| .*\| (.+) \|$", page, re.MULTILINE))
    asked = {"A": (1, 6), "B": (7, 10), "C": (11, 12), "D": (13, 19), "E": (20, 24), "F": (25, 27)}
    wanted = {**asked, "H": (28, 33), "I": (34, 38), "J": (39, 45)}
    assert set(rows) == {f"{part}{n}" for part, (first, last) in wanted.items() for n in range(first, last + 1)}
    assert_shown(root, {key: cell for key, cell in rows.items() if ".ci/run" not in cell})


@pytest.mark.parametrize(("page", "least"), [("forges.md", 25), ("teams.md", 19)])
def test_page_of_a_store__each_promise__names_tests_that_exist(root, page, least):
    table = (root / "docs" / page).read_text(encoding="utf-8").split("## Promises and their tests", 1)[1]
    rows = re.findall(r"^\| (.+?) \| (`.+`) \|$", table, re.MULTILINE)
    assert len(rows) >= least
    assert_shown(root, dict(rows))
