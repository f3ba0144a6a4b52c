"""``holdfast plugin new``: each kind is built, installed and run, and no other file is touched."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from tests.support.processes import finished
from tests.support.stated import done
from tests.support.trusting import trusted

from holdfast_authoring.scaffold import KINDS
from holdfast_cli import main


def run(*words, cwd, path=None, text=""):
    """A command in the environment of the tests, with ``path`` before everything else that is installed."""
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1"}
    if path:
        environ["PYTHONPATH"] = str(path)
    options = {"capture_output": True, "encoding": "utf-8", "timeout": 180}
    return subprocess.run([sys.executable, "-m", *words], cwd=cwd, env=environ, input=text, check=False, **options)


#: Builds each folder that is named behind the first, in one process.
BUILD = """
import os, sys
from hatchling.build import build_wheel
for folder in sys.argv[2:]:
    os.chdir(folder)
    build_wheel(sys.argv[1])
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders of a distribution of each kind, and the folder in which all are installed."""
    base = tmp_path_factory.mktemp("made")
    for kind in KINDS:
        assert main(["plugin", "new", f"qz-{kind}", "--kind", kind, "--dir", str(base / kind)]) == 0
    folders, dist, site = [str(base / kind) for kind in KINDS], base / "dist", base / "site"
    dist.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, str(dist), *folders], check=True, timeout=180)
    pip = ("pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", str(site))
    installed = run(*pip, *map(str, dist.glob("*.whl")), cwd=base)
    assert installed.returncode == 0, installed.stderr
    return folders, site


def test_new__each_kind__is_built_installed_checked_and_passes_its_own_tests(made, tmp_path, monkeypatch, capsys):
    folders, site = made
    monkeypatch.syspath_prepend(str(site))
    for kind in KINDS:
        code = main(["plugin", "check", f"holdfast-qz-{kind}", "--json"])
        rows = json.loads(capsys.readouterr().out)["checks"]
        assert (code, bool(rows)) == (0, True), rows
    tests = [f"{folder}/tests" for folder in folders]
    # The kit's random histories of facts are played with the stores that are used.
    options = ("-p", "no:cacheprovider", "--import-mode=importlib", "-k", "not agree_with_a_model")
    tested = run("pytest", *options, *tests, cwd=tmp_path, path=site)
    assert tested.returncode == 0, tested.stdout
    linted = run("ruff", "check", "-q", "--no-cache", "--select", "E4,E7,E9,F,I", *folders, cwd=tmp_path)
    assert linted.returncode == 0, linted.stdout
    formatted = run("ruff", "format", "--check", "--no-cache", *folders, cwd=tmp_path)
    assert formatted.returncode == 0, formatted.stdout


def test_new__all_kinds__pass_mypy_strict(made, tmp_path):
    checked = tmp_path / "checked"
    checked.mkdir()
    for kind, folder in zip(KINDS, made[0], strict=True):
        shutil.copytree(f"{folder}/src/holdfast_qz_{kind}", checked / f"holdfast_qz_{kind}")
        shutil.copy(f"{folder}/tests/test_plugin.py", checked / f"test_{kind}.py")
    done = run("mypy", "--strict", "--cache-dir", os.devnull, ".", cwd=checked)
    assert done.returncode == 0, done.stdout + done.stderr


def test_new__feature__adds_a_method_a_command_and_a_check(made, tmp_path):
    trusted(tmp_path, '[plugins.qz_feature]\nwords = ["soon"]\n')
    script = "import sys; from holdfast_cli import main; [main(words.split(',')) for words in sys.argv[1:]]"
    script += "; import holdfast; print(holdfast.Holdfast.open().qz_feature())"
    environ = {**os.environ, "PYTHONPATH": str(made[1])}
    done = finished([sys.executable, "-c", script, "--help", "qz-feature", "doctor"], cwd=tmp_path, env=environ)
    for text in ("From holdfast-qz-feature", "No listed word", "0 listed words in MEMORY.md"):
        assert text in done.stdout, done.stderr
    assert done.stdout.endswith("{}\n"), done.stderr


@pytest.mark.req("R087")
def test_new__backend__chosen_by_its_name_keeps_everything_in_its_file(made, tmp_path):
    trusted(tmp_path, '[storage]\nbackend = "qz_backend"\n')
    payload = json.dumps(done("Fix the login", facts=["The login needs a token"]))
    assert run("holdfast", "flush", "--payload", "-", cwd=tmp_path, path=made[1], text=payload).returncode == 0
    assert run("holdfast", "remember", "prefers tabs", cwd=tmp_path, path=made[1]).returncode == 0
    kept = json.loads((tmp_path / ".holdfast" / ".qz_backend.json").read_text(encoding="utf-8"))
    assert [fact["content"] for fact in kept["facts"]] == ["The login needs a token", "prefers tabs"]
    (note,) = (text for name, text in kept["documents"].items() if name.startswith("memory/"))
    assert "The login needs a token" in note
    assert "prefers tabs" in run("holdfast", "prompt", cwd=tmp_path, path=made[1]).stdout
    assert not (tmp_path / ".holdfast" / "memory").exists()
    for words in (["migrate", "--to", "file"], ["purge", "--all", "--yes"]):
        assert run("holdfast", *words, cwd=tmp_path, path=made[1]).returncode == 0


@pytest.mark.parametrize(
    "name", ["", "..", "class", "../x", "a/b", "a\\b", "A", "a b", "-a", "a--b", "é", "1a", "x" * 41, "a\n"]
)
def test_new__hostile_name__is_a_usage_error_and_writes_nothing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert main(["plugin", "new", "--kind", "validator", "--", name]) == 2
    assert list(tmp_path.iterdir()) == []
