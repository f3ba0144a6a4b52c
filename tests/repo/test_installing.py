"""The ways to install holdfast, from a folder of wheels; and the command that a message names for an optional
dependency, in each kind of environment that can run holdfast."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.processes import finished

from holdfast_memory import extra, install

#: Each way of the README, with the program that it runs.
WAYS = {
    "uvx": (["uvx", "holdfast-memory", "demo"], ""),
    "pipx": (["pipx", "install", "holdfast-memory"], "bin/holdfast"),
    "pip": ([sys.executable, "-m", "pip", "--python", "venv", "install", "-q", "holdfast-memory"], "venv/bin/holdfast"),
}


@pytest.mark.parametrize("way", WAYS)
def test_install__from_an_index__the_demo_runs(way, index, tmp_path):
    command, program = WAYS[way]
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP", "VIRTUAL_ENV"))}
    found = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(index)}
    places = {"UV_CACHE_DIR": "cache", "UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "VIRTUAL_ENV": "venv",
              "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "HOME": "home"}  # fmt: skip
    environment = {**kept, **found, **{name: str(tmp_path / place) for name, place in places.items()}}
    environment["UV_PYTHON"] = sys.executable

    def run(*words: str) -> str:
        done = finished(words, cwd=tmp_path, env=environment, timeout=170)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    if way == "pip":
        run(sys.executable, "-m", "venv", "--without-pip", "venv")
    printed = run(*command)
    if program:
        printed = run(str(tmp_path / program), "demo")
    assert "Refused" in printed
    assert "Resumed" in printed


#: What uv 0.8 writes beside a tool.
RECEIPT = """[tool]
requirements = [
    { name = "holdfast-memory", extras = ["mcp"]%s },
    { name = "acme-memory", specifier = ">=2" },
]
"""


@pytest.mark.parametrize(
    ("folder", "files", "command"),
    [
        ("made", {}, "uv pip install --python {python} 'holdfast-memory[web]'"),
        ("archive-v0/made", {}, "uv tool install 'holdfast-memory[web]'"),
        ("made", {"pipx_metadata.json": "{}"}, "pipx inject holdfast-memory 'holdfast-memory[web]'"),
        ("made", {"uv-receipt.toml": RECEIPT % ""},
         "uv tool install 'holdfast-memory[mcp,web]' --with 'acme-memory>=2'"),
        ("made", {"uv-receipt.toml": RECEIPT % ', path = "/dist/x.whl"'},
         "uv tool install 'holdfast-memory[mcp,web] @ /dist/x.whl' --with 'acme-memory>=2'"),
    ],
    ids=["venv_without_pip", "uvx", "pipx", "uv_tool", "uv_tool_from_a_wheel"],
)  # fmt: skip
def test_extra__in_an_environment__names_the_tool_that_made_it(tmp_path, monkeypatch, folder, files, command):
    made = tmp_path / folder
    made.mkdir(parents=True)
    for name, text in files.items():
        (made / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "prefix", str(made))
    monkeypatch.setitem(sys.modules, "pip", None)
    assert extra("web") == command.format(python=sys.executable)


def test_install__with_pip__is_of_this_python(monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert extra("mcp") == "pip install 'holdfast-memory[mcp]'"
    monkeypatch.setenv("PATH", "")
    assert install("keyring") == f"{sys.executable} -m pip install 'keyring'"
