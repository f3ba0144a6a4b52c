"""``holdfast plugin check``: faults of an installed distribution are found, whatever it does."""

import json
import sys

import pytest
from tests.support import distributions

from holdfast.plugin import discovery
from holdfast_authoring import inspection
from holdfast_authoring.inspection import examine
from holdfast_cli import main

HOOK = "from holdfast.hooks import hookimpl\n"
STORE = f"from holdfast.errors import *\n{HOOK}@hookimpl\ndef storage_backend(config): {{}}"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """``install(group, source)``: the distribution ``odd`` with one entry point, the module ``odd_module``."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def make(group, source, name="odd"):
        entry = f"[holdfast.{group}]\n{name} = odd_module\n"
        distributions.install(tmp_path / "site", "odd", entry, odd_module=source)
        monkeypatch.delitem(sys.modules, "odd_module", raising=False)

    return make


def failures(capsys):
    """What the check of ``odd`` finds wrong."""
    assert main(["plugin", "check", "odd", "--json"]) == 1
    return [row["message"] for row in json.loads(capsys.readouterr().out)["checks"] if row["outcome"] == "fail"]


def test_check__plugin_ends_its_process__fails_and_names_the_code(install, capsys):
    install("plugins", "import os\nos._exit(7)")
    assert any("exit code 7" in message for message in failures(capsys))


@pytest.mark.parametrize(
    ("group", "source", "said"),
    [
        ("plugins", "import sys\nsys.exit(0)", "SystemExit"),
        ("plugins", HOOK + "@hookimpl\ndef on_flsh(payload): pass", "on_flsh"),
        ("plugins", HOOK + "@hookimpl\ndef on_flush(payload, message): pass", "message"),
        ("plugins", HOOK + "@hookimpl\ndef on_flush(payload=None): pass", "has a default"),
        ("plugins", HOOK + "@hookimpl\ndef on_validate(request): return None", "NoneType"),
        ("plugins", HOOK + "@hookimpl\ndef on_validate(request): return ['no']", "returned list of str"),
        ("plugins", HOOK + "@hookimpl\ndef on_validate(request): return request.text[9]", "IndexError"),
        ("plugins", STORE.format("return None"), "storage_backend belongs in a backend"),
        ("backends", HOOK + "@hookimpl\ndef storage_backend(config): return None", "did not return a StorageBackend"),
        ("backends", STORE.format("return 'a store'"), "it returned str"),
        ("backends", STORE.format("raise RuntimeError('password=hunter2-Xk49qLw')"), "Error: password=[REDACTED"),
        ("backends", STORE.format("raise Unavailable('The server is away.')"), "The server is away."),
        ("methods", "odd_module = 3", "is not a function"),
        ("commands", "SUMMARY = 'x'", "configure"),
        ("commands", "def run(args): return 0\ndef configure(parser): parser.add_argument('--root')", "--root"),
        ("plugn", "", "holdfast.plugn is not for other distributions, did you mean holdfast.plugins"),
        ("checks", "def checks(memory): return []", "never runs"),
    ],
)
def test_check__fault__fails_and_names_it(install, tmp_path, capsys, monkeypatch, group, source, said):
    monkeypatch.setattr(inspection, "_probed", lambda *asked: list(examine(*asked)))
    install(group, source)
    alone(tmp_path, monkeypatch)
    assert any(said in message for message in failures(capsys))


@pytest.mark.parametrize("name", ["load", "services", "_mine", "my-own", "class"])
def test_check__method_that_never_runs__fails_with_the_reason(install, capsys, name):
    install("methods", "", name)
    is_taken = name in ("load", "services")
    why = ", because holdfast has this name" if is_taken else ": use a Python identifier without a leading underscore"
    assert f"never runs{why}" in failures(capsys)


def test_check__backend_that_needs_settings__is_a_note_and_with_them_a_failure(install, tmp_path, capsys):
    install("backends", STORE.format("raise ConfigError('storage.server is missing.')"))
    assert main(["plugin", "check", "odd"]) == 0
    assert "storage.server is missing." in capsys.readouterr().out
    (tmp_path / "odd.toml").write_text("port = 1\n")
    assert main(["plugin", "check", "odd", "--settings", str(tmp_path / "odd.toml")]) == 1


def test_check__misspelt_setting_next_to_a_string_for_a_tuple__fails(install, tmp_path, capsys):
    install("plugins", f"{HOOK}known_settings = 'words'\n@hookimpl\ndef on_validate(request): return []")
    (tmp_path / "odd.toml").write_text("word = 1\n")
    assert main(["plugin", "check", "odd", "--settings", str(tmp_path / "odd.toml")]) == 1
    assert "Did you mean `words`?" in capsys.readouterr().out


def alone(tmp_path, monkeypatch):
    """An empty project in this process without a default plugin, to show the faults of each entry point."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for name in discovery.defaults():
        monkeypatch.setenv(f"HOLDFAST_PLUGINS__{name.upper()}__ENABLED", "false")


def test_check__of_holdfast_itself__every_entry_point_follows_the_specifications(tmp_path, monkeypatch):
    alone(tmp_path, monkeypatch)
    groups = (discovery.PLUGINS, discovery.BACKENDS, discovery.METHODS, discovery.COMMANDS, discovery.CHECKS)
    every = discovery.scan()
    own = [found for found in every if found.distribution == discovery.OWN and found.group in groups]
    assert [inspection._names(entry, every) for entry in own] == [[]] * len(own)
    rows = [(inspection.label(entry), *row) for entry in own for row in examine(entry, {})]
    assert {"plugin redaction", "backend sqlite"} <= {entry for entry, _, _, _ in rows}
    assert [row for row in rows if row[2] == "fail"] == []
