"""What an earlier version made is still good: for each tagged version a store, hooks and settings of its wheel are used
by this one's. Before the first tag there is none."""

import io
import json
import subprocess
import tarfile
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.repo.conftest import ROOT, build


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, timeout=60, check=False).stdout


def versions() -> list[str]:
    return git("tag", "--list", "v*", "--sort=-v:refname").decode().split()


@pytest.mark.parametrize("version", versions())
def test_upgrade__store_hooks_and_settings_of_an_earlier_version__are_used(
    version, wheel, make_environment, project, tmp_path
):
    with tarfile.open(fileobj=io.BytesIO(git("archive", version))) as archive:
        archive.extractall(tmp_path / "source")  # of our own commit; 3.11.2 knows no filter
    made = make_environment(tmp_path / "environment")
    table = tomllib.loads((tmp_path / "source" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {Requirement(text).name for text in table["dependencies"]} - {"keyring", "tzdata"}  # needed for no store
    installed = {canonicalize_name(found.name) for found in metadata.distributions()}
    if missing := needed - installed:
        pytest.skip(f"{version} needs {', '.join(sorted(missing))}, which this version does not")
    made.lend(*needed, "mdurl")

    def holdfast(*words: str, code: int = 0) -> str:
        done = made.run("python", "-I", "-m", "holdfast", *words, cwd=project)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout

    made.install(build(tmp_path / "source", tmp_path / "old"))
    holdfast("init")
    holdfast("config", "retention.daily", "365")
    holdfast("install", "claude-code")
    holdfast("remember", "Staging runs Postgres 15")
    holdfast("add", "user", "Fix the flaky login test", "--session", "old")
    holdfast("flush", "--session", "old", "--next-step", "run the suite", "--curated", "none")
    holdfast("add", "user", "And the logout, please", "--session", "old")
    before = {path: path.read_bytes() for path in (project / ".holdfast").rglob("2*.md")}

    made.install(wheel)  # over the old one, as `pip install --upgrade` does
    assert {path: path.read_bytes() for path in before} == before
    brief = holdfast("load")
    assert "run the suite" in brief
    assert "Postgres 15" in holdfast("prompt")
    assert "flaky login" in holdfast("search", "login test")
    assert json.loads(holdfast("config", "--json"))
    assert "365" in holdfast("config", "retention.daily")
    holdfast("flush", "--session", "old", "--next-step", "ship it", "--curated", "none")
    assert "ship it" in holdfast("load")
    event = {"hook_event_name": "SessionStart", "session_id": "new", "cwd": str(project), "source": "startup"}
    started = made.run("python", "-I", "-m", "holdfast", "hook", "claude-code", cwd=project, text=json.dumps(event))
    assert (started.returncode, "ship it" in started.stdout) == (0, True), started.stderr
    doctor = made.run("python", "-I", "-m", "holdfast", "doctor", "--json", cwd=project)
    assert doctor.returncode == 0, doctor.stdout
