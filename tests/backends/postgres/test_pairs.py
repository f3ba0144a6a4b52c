"""Migration between each pair of backends, interrupted in the middle; archives from one kind of store to another."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.backends.gitea import store_kit
from tests.backends.postgres import kit
from tests.plugins.migrate.test_migrate import Interrupted, contents, fill, interrupting
from tests.support.trusting import trusted

from holdfast.api import ABSENT, Holdfast, StorageBackend
from holdfast.testing.facts import make_fact
from holdfast_app.progress import watched
from holdfast_app.transfer.exporting import export, import_archive
from holdfast_app.transfer.migrate import migrate
from holdfast_file.backend import FileBackend
from holdfast_sqlite.backend import SqliteBackend

OPEN: dict[str, Callable[[Path], StorageBackend]] = {
    "file": FileBackend,
    "sqlite": SqliteBackend,
    "gitea": store_kit.open_store,
    "postgres": kit.open_store,
}
#: Each kind once as the source and once as the target.
PAIRS = [("file", "postgres"), ("postgres", "gitea"), ("gitea", "sqlite"), ("sqlite", "file")]


def everything(memory: Holdfast) -> tuple[object, ...]:
    """The documents, the facts, the log of facts and the sessions."""
    return *contents(memory.services.store.backend), list(memory.facts.trail.entries()), memory.sessions()


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_migrate__each_pair_of_backends_interrupted_in_the_middle__resumed_and_equal(kind, other, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with closing(OPEN[kind](tmp_path / "a")) as source, closing(OPEN[other](tmp_path / "b")) as target:
        fill(source)
        with pytest.raises(Interrupted), watched(interrupting(3)):
            migrate(source, target)
        source.add_fact(make_fact(90, "Said since then"), 100)
        migrate(source, target)
        assert contents(target) == contents(source)
        assert contents(source)[1][-1].content == "Said since then"


def _project(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir()
    lines = ["[storage]", f'backend = "{kind}"']
    if kind == "gitea":
        found = store_kit.address(folder)
        monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", found["token"])
        lines += [f'server = "{found["server"]}"', f'repository = "{found["repository"]}"']
    elif kind == "postgres":
        lines += [f'server = "{kit.server().url()}"', f'namespace = "pairs/{kit.namespace(folder)}"']
    (folder / "holdfast.toml").write_text("\n".join(lines) + "\n")
    return trusted(folder)


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_export_and_import__from_one_kind_of_store_to_another__is_lossless(kind, other, tmp_path, monkeypatch):
    one = _project(tmp_path / "one", kind, monkeypatch)
    two = _project(tmp_path / "two", other, monkeypatch)
    texts = {"MEMORY.md": "- Größe 漢字\r\n- no newline", "memories/a.md": "", "memory/2026-03-01.md": "# Day\n\t#-"}
    with Holdfast.open(one) as memory:
        for name, text in texts.items():
            memory.services.store.replace("memory", name, text, ABSENT)
        memory.facts.create("Prefers tabs", "preference", 0.9, "s1")
        memory.facts.create("The deadline is in May", "context", 0.6, "chat: 漢字")
        with memory.session("s1") as session:
            session.add("user", "Größe 漢字\r\n\ttabs")
        wanted = everything(memory)
        export(memory, str(tmp_path / "all.zip"))
    for _ in range(2):
        with Holdfast.open(two) as memory:
            import_archive(memory, str(tmp_path / "all.zip"))
            assert everything(memory) == wanted
