"""Archives from one kind of store to another."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.backends.gitea import store_kit
from tests.backends.postgres import kit
from tests.support.trusting import trusted

from holdfast import Holdfast
from holdfast.storage import ABSENT
from holdfast_app.transfer.exporting import export, import_archive

PAIRS = list(itertools.permutations(("file", "sqlite", "gitea", "postgres"), 2))


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


@pytest.mark.parametrize(("kind", "other"), [pair for pair in PAIRS if "postgres" in pair or pair == ("gitea", "file")])
def test_export_and_import__from_one_kind_of_store_to_another__is_lossless(
    kind: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _project(tmp_path / "one", kind, monkeypatch)
    two = _project(tmp_path / "two", other, monkeypatch)
    texts = {"MEMORY.md": "- Größe 漢字\r\n- no newline", "memories/a.md": "", "memory/2026-03-01.md": "# Day\n\t#-"}
    with Holdfast.open(one) as memory:
        for name, text in texts.items():
            memory.services.store.replace("memory", name, text, ABSENT)
        memory.facts.create("Prefers tabs", "preference", 0.9, "s1")
        memory.facts.create("The deadline is in May", "context", 0.6, "chat: 漢字")
        with memory.session("s1") as session:
            session.add("user", "Fix the login test")
        wanted = kit.everything(memory)
        export(memory, str(tmp_path / "all.zip"))
    for _ in range(2):
        with Holdfast.open(two) as memory:
            import_archive(memory, str(tmp_path / "all.zip"))
            assert kit.everything(memory) == wanted
