"""A store on a server, exported and imported into another one, comes back whole."""

from pathlib import Path

import pytest
from tests.backends.gitea.store_kit import address
from tests.backends.postgres import kit
from tests.backends.postgres.cluster import shared
from tests.plugins.agents.test_hook_restore import STATED
from tests.support.trusting import trusted

from holdfast import Holdfast
from holdfast_app.transfer.exporting import export, import_archive


def _gitea(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    found = address(folder)
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", found["token"])
    return f'backend = "gitea"\nserver = "{found["server"]}"\nrepository = "{found["repository"]}"\n'


def _postgres(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return f'backend = "postgres"\nserver = "{shared().url()}"\nnamespace = "round/{folder.name}"\n'


@pytest.mark.parametrize("made", [_gitea, _postgres], ids=["gitea", "postgres"])
def test_export_and_import__between_two_stores_on_a_server__all_of_it_is_there(made, tmp_path, monkeypatch):
    roots = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "holdfast.toml").write_text(f"[storage]\n{made(folder, monkeypatch)}")  # type: ignore[operator]
        roots.append(trusted(folder))
    found = []
    with Holdfast.open(roots[0]) as memory:
        session = memory.session("one")
        session.add("user", "Größe 漢字\r\n\ttabs")
        session.flush(STATED.evolve(facts=("The port is 8443", "Die Größe ist 漢字")))
        found.append(kit.everything(memory))
        export(memory, str(tmp_path / "all.zip"))
    with Holdfast.open(roots[1]) as memory:
        import_archive(memory, str(tmp_path / "all.zip"))
        import_archive(memory, str(tmp_path / "all.zip"))
        found.append(kit.everything(memory))
    assert found[0] == found[1]
