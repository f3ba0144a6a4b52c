"""``holdfast plugin new``: each kind is built, installed and run, and no other file is touched."""

import json
import os
import subprocess
import sys

import pytest

from holdfast_authoring.scaffold import KINDS
from holdfast_cli import main


def run(*words, cwd, path=None):
    """A command in the environment of the tests, with ``path`` before everything else that is installed."""
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1"}
    if path:
        environ["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=cwd,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
        stdin=subprocess.DEVNULL,
    )


#: Builds each folder that is named behind the first, in one process.
BUILD = """
import os, sys
from hatchling.build import build_wheel
for folder in sys.argv[2:]:
    os.chdir(folder)
    build_wheel(sys.argv[1])
"""


def test_new__each_kind__is_built_installed_checked_and_passes_its_own_tests(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        assert main(["plugin", "new", f"qz-{kind}", "--kind", kind]) == 0
    folders = [str(tmp_path / f"holdfast-qz-{kind}") for kind in KINDS]
    site, dist = tmp_path / "site", tmp_path / "dist"
    dist.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, str(dist), *folders], check=True, timeout=180)
    pip = ("pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", str(site))
    installed = run(*pip, *map(str, dist.glob("*.whl")), cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    monkeypatch.syspath_prepend(str(site))
    capsys.readouterr()

    for kind in KINDS:
        code = main(["plugin", "check", f"holdfast-qz-{kind}", "--json"])
        rows = json.loads(capsys.readouterr().out)["checks"]
        assert (code, bool(rows)) == (0, True), rows
        tested = run("pytest", "-p", "no:cacheprovider", cwd=tmp_path / f"holdfast-qz-{kind}", path=site)
        assert tested.returncode == 0, tested.stdout
    linted = run("ruff", "check", "-q", "--no-cache", "--select", "E4,E7,E9,F,I", *folders, cwd=tmp_path)
    assert linted.returncode == 0, linted.stdout
    formatted = run("ruff", "format", "--check", "--no-cache", *folders, cwd=tmp_path)
    assert formatted.returncode == 0, formatted.stdout


def test_new__all_kinds__pass_mypy_strict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checked = tmp_path / "checked"
    checked.mkdir()
    for kind in KINDS:
        assert main(["plugin", "new", f"qz-{kind}", "--kind", kind]) == 0
        made = tmp_path / f"holdfast-qz-{kind}"
        (made / "src" / f"holdfast_qz_{kind}").rename(checked / f"holdfast_qz_{kind}")
        (made / "tests" / "test_plugin.py").rename(checked / f"test_{kind}.py")
    done = run("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), ".", cwd=checked)
    assert done.returncode == 0, done.stdout + done.stderr


def test_new__feature__adds_a_method_a_command_and_a_check(tmp_path):
    assert run("holdfast", "plugin", "new", "jargon", "--kind", "feature", cwd=tmp_path).returncode == 0
    site = tmp_path / "site"
    pip = ("pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(site))
    assert run(*pip, str(tmp_path / "holdfast-jargon"), cwd=tmp_path).returncode == 0
    project = tmp_path / "project"
    project.mkdir()
    (project / "holdfast.toml").write_text('[plugins.jargon]\nwords = ["soon"]\n', encoding="utf-8")
    assert run("holdfast", "trust", "--yes", cwd=project, path=site).returncode == 0
    assert "From holdfast-jargon" in run("holdfast", "--help", cwd=project, path=site).stdout
    assert "No listed word" in run("holdfast", "jargon", cwd=project, path=site).stdout
    assert "0 listed words in MEMORY.md" in run("holdfast", "doctor", cwd=project, path=site).stdout
    script = "import holdfast; print(holdfast.Holdfast.open().jargon())"
    environ = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", script], cwd=project, env=environ, capture_output=True, text=True)
    assert done.stdout == "{}\n", done.stderr


@pytest.mark.parametrize(
    "name", ["", "..", "class", "../x", "a/b", "a\\b", "A", "a b", "-a", "a--b", "é", "1a", "x" * 41, "a\n"]
)
def test_new__hostile_name__is_a_usage_error_and_writes_nothing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert main(["plugin", "new", "--kind", "validator", "--", name]) == 2
    assert list(tmp_path.iterdir()) == []
