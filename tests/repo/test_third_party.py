"""The plugin door as an outsider uses it: acme is built, installed beside holdfast and used on the command line.

The broken distributions are made here: one that cannot be imported, one with a misspelt hook.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.repo.conftest import Environment
from tests.support import distributions
from tests.support.stated import done
from tests.support.trusting import trusted

from holdfast.plugin import discovery

PAYLOAD = done("Fix the login")
BROKEN = {
    "broken": "raise RuntimeError('out of order: password=hunter2-Xk49qLw')\n",
    "misspelt": "from holdfast.hooks import hookimpl\n@hookimpl\ndef on_flsh(payload, receipt):\n    return None\n",
}


@pytest.fixture(scope="module")
def installed(wheel: Path, acme_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """holdfast, acme and the two broken ones, in an environment with nothing else but holdfast's dependencies."""
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.lend("attrs", "markdown-it-py", "mdurl", "pluggy", "tomli-w", "tomlkit")
    made.install(wheel, acme_wheel)
    for name, source in BROKEN.items():
        entries = f"[holdfast.plugins]\n{name} = {name}_plugin\n"
        distributions.install(made.site, name, entries, **{f"{name}_plugin": source})
    return made


def configure(project: Path, *plugins: str) -> None:
    tables = {"acme": 'codenames = ["Bluebird"]\n'}
    text = "".join(f"[plugins.{name}]\n{tables.get(name, '')}" for name in plugins)
    trusted(project, text)


def flush(made: Environment, project: Path, **changes: object) -> subprocess.CompletedProcess[str]:
    payload = json.dumps({**PAYLOAD, **changes})
    return made.run("holdfast", "flush", "--session", "s", cwd=project, text=payload)


def listing(made: Environment, project: Path) -> str:
    """What ``holdfast plugins`` prints."""
    done = made.run("holdfast", "plugins", cwd=project)
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def line_of(listed: str, plugin: str) -> str:
    """The plugin's one line."""
    lines = [line for line in listed.splitlines() if line.split()[:2] == [plugin, "plugin"]]
    assert len(lines) == 1, listed
    return lines[0]


SCRIPT = """
from holdfast import Holdfast
with Holdfast.open() as memory:
    print(*sorted(s.name for s in memory.plugin_statuses() if s.status == 'loaded'))
"""


def test_wheel__installed__has_every_default_plugin_and_enables_no_others(
    installed: Environment, project: Path
) -> None:
    (project / "holdfast.toml").touch()
    done = installed.run("python", "-I", "-c", SCRIPT, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == sorted(["file", *discovery.defaults()])


@pytest.mark.req("R083", "R087")
def test_acme__enabled__its_on_flush_publishes_and_the_receipt_says_where(
    installed: Environment, project: Path
) -> None:
    configure(project, "acme")
    done = flush(installed, project)
    assert done.returncode == 0, done.stderr
    (published,) = (project / "published").iterdir()
    assert published.read_text(encoding="utf-8") == "Fix the login\nNext: none\n"
    assert f"published/{published.name}" in done.stdout
    line = line_of(listing(installed, project), "acme")
    assert "loaded" in line
    assert "1.2.0" in line


@pytest.mark.req("R166")
def test_acme__enabled__its_on_validate_refuses_and_nothing_is_stored(installed: Environment, project: Path) -> None:
    configure(project, "acme")
    done = flush(installed, project, objective="Launch Bluebird")
    assert (done.returncode, "acme-codename" in done.stderr) == (1, True)
    assert "Write 'the project' instead of its codename." in done.stderr
    stored = [
        p for p in project.rglob("*") if p.is_file() and "Bluebird" in p.read_text(encoding="utf-8", errors="replace")
    ]
    assert stored == [project / "holdfast.toml"]


@pytest.mark.req("R166")
def test_plugin__not_usable__one_clear_line_gates_closed_and_the_rest_works(
    installed: Environment, project: Path
) -> None:
    configure(project)
    assert flush(installed, project).returncode == 0
    for plugin, status, reason in (
        ("broken", "failed", "RuntimeError: out of order"),
        ("misspelt", "failed", "on_flsh"),
        ("absent", "missing", "not installed"),
    ):
        configure(project, plugin)
        done = flush(installed, project, objective="Fix the logout")
        assert done.returncode in (1, 3)
        assert plugin in done.stderr
        assert "Traceback" not in done.stderr
        listed = listing(installed, project)
        assert status in line_of(listed, plugin)
        assert reason in " ".join(listed.split())
        assert "hunter2" not in listed + done.stderr
        loaded = installed.run("holdfast", "load", cwd=project)
        assert ("Fix the login" in loaded.stdout) is (loaded.returncode == 0) is (plugin != "broken")
    shown = installed.run("holdfast", "show", cwd=project)
    assert shown.returncode == 0, shown.stderr
    assert "memory/" in shown.stdout


def test_acme__its_command__is_listed_and_runs_like_any_other(installed: Environment, project: Path) -> None:
    configure(project, "acme")
    help_text = installed.run("holdfast", "--help", cwd=project).stdout
    assert "From other distributions" in help_text
    assert re.search(r"codenames +From holdfast-acme 1\.2\.0", help_text)
    done = installed.run("holdfast", "codenames", "--upper", cwd=project)
    assert (done.returncode, done.stdout) == (0, "BLUEBIRD\n"), done.stderr
    assert "holdfast codenames --upper" in installed.run("holdfast", "codenames", "--help", cwd=project).stdout
    assert "codenames" in installed.run("holdfast", "completion", "words", "code", cwd=project).stdout


def test_acme__its_own_tests__pass(root: Path) -> None:
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    folder = root / "tests" / "third_party" / "acme"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout
