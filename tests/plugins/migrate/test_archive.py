"""`holdfast export` and `holdfast import`: everything, in one archive."""

import os
import shutil
import signal
import zipfile
from pathlib import Path

import pytest
from tests.support.dying import dies

from holdfast.api import ABSENT, ConfigError, Holdfast
from holdfast.journal import beginning
from holdfast_app.progress import watched
from holdfast_app.transfer.exporting import export, import_archive
from holdfast_cli import main


def project(folder, backend="file"):
    folder.mkdir(parents=True)
    (folder / "holdfast.toml").write_text(f'[storage]\nbackend = "{backend}"\n')
    return folder


def fill(root):
    with Holdfast.open(root) as memory:
        store = memory.services.store
        store.replace("memory", "MEMORY.md", "# Memory\r\n\r\n- Größe 漢字", ABSENT)
        store.replace("memories", "memories/tips.md", "", ABSENT)
        kept = memory.facts.create("Prefers tabs", "preference", 0.9, "s1").fact
        memory.facts.create("Works on the shop", "context", 0.6)
        gone = memory.facts.create("Old", "context", 0.6).fact
        assert kept
        memory.facts.delete(gone.id)
        with memory.session("s1") as session:
            session.add("user", "Fix the login test")
    return root


def contents(root):
    with Holdfast.open(root) as memory:
        store = memory.services.store
        documents = {name: store.backend.read(name).text for name in store.names()}  # type: ignore[union-attr]
        state = Path(memory.services.state)
        lines = [line for p in (state / "sessions").glob("*.jsonl") for line in p.read_bytes().splitlines()]
        said = [line for line in lines if b'"kind":"message"' in line]
        return documents, list(store.backend.facts()), list(memory.facts.trail.entries()), said


def exported(root, path, *, force=False):
    with Holdfast.open(root) as memory:
        export(memory, str(path), force=force)
    return path


def imported(root, path, *, replace=False):
    with Holdfast.open(root) as memory:
        return import_archive(memory, str(path), replace=replace)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    exported(fill(project(folder / "one")), folder / "memory.zip")
    return folder


@pytest.fixture
def packed(made, tmp_path):
    return Path(shutil.copy(made / "memory.zip", tmp_path))


def repacked(path, change, extra=None):
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, data in {**members, **change, **(extra or {})}.items():
            if data is not None:
                file.writestr(name, data)


@pytest.mark.parametrize(
    "change",
    [
        {"facts.jsonl": b""},
        {"facts.jsonl": None},
        {"manifest.json": b'{"format": 2, "members": {}}'},
        {"manifest.json": b"[]"},
        {"manifest.json": None},
        {"../evil.md": b"x"},
        {"journals/../../evil.jsonl": b"x"},
        {"documents.jsonl": b'{"name": "../evil.md", "text": ""}\n'},
    ],
)
def test_import__damaged_or_unknown_archive__is_refused_and_nothing_is_written(tmp_path, packed, change):
    repacked(packed, change)
    other = project(tmp_path / "two")
    before = contents(other)
    with pytest.raises(ConfigError):
        imported(other, packed)
    assert contents(other) == before


def test_import__archive_cut_anywhere__is_refused(tmp_path, packed):
    data = packed.read_bytes()
    other = project(tmp_path / "two")
    for end in range(0, len(data), len(data) // 7):
        packed.write_bytes(data[:end])
        with pytest.raises(ConfigError):
            imported(other, packed)


@pytest.mark.parametrize("kind", ["link", "device", "lying size", "huge", "one long line"])
def test_import__hostile_member__is_refused_and_nothing_is_written(tmp_path, packed, kind):
    other = project(tmp_path / "two")
    before = contents(other)
    with zipfile.ZipFile(packed) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            if name != "documents.jsonl":
                file.writestr(name, data)
        info = zipfile.ZipInfo("documents.jsonl")
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = {"link": 0o120777, "device": 0o060666}.get(kind, 0o100644) << 16
        if kind == "one long line":
            with file.open(info, "w") as member:
                for _ in range(65):
                    member.write(b" " * (1 << 20))
        else:
            file.writestr(info, b"/etc/passwd" if kind in ("link", "device") else members["documents.jsonl"])
    if kind in ("lying size", "huge"):  # the size in the central directory: 9 bytes, and 4 GB in each of three members
        data = bytearray(packed.read_bytes())
        at = 0
        while (at := data.find(b"PK\x01\x02", at)) >= 0:
            data[at + 24 : at + 28] = (9 if kind == "lying size" else 0xFFFFFFFE).to_bytes(4, "little")
            at += 46
        packed.write_bytes(bytes(data))
    with pytest.raises(ConfigError, match="nothing was changed"):
        imported(other, packed)
    assert contents(other) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.zip", "two"]


def killed(root, at, act):
    """Do it in a process that dies at its report number ``at``."""

    def kill(done, total, activity):
        if done >= at:
            os.kill(os.getpid(), signal.SIGKILL)

    def die():
        with Holdfast.open(root) as memory, watched(kill):
            act(memory)

    assert dies(0, die)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_import__killed_while_writing__is_completed_by_the_next(tmp_path, made, packed):
    other = project(tmp_path / "two", "sqlite")
    for kill_at in (2, 6, 8):
        killed(other, kill_at, lambda memory: import_archive(memory, str(packed)))
    imported(other, packed)
    beginning._is_ours.cache_clear()  # as in a process that did not make the archive
    assert main(["--root", str(other), "status"]) == 0
    assert contents(other) == contents(made / "one")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name")
@pytest.mark.parametrize("force", [False, True])
def test_export__killed_while_writing__leaves_nothing_in_the_target_folder(tmp_path, force):
    root = project(tmp_path / "one")
    with Holdfast.open(root) as memory:
        memory.facts.create(content="The port is 8080", category="knowledge", confidence=0.9)
    target = tmp_path / "out"
    target.mkdir()
    if force:
        (target / "memory.zip").write_bytes(b"before")
    killed(root, 0, lambda memory: export(memory, str(target / "memory.zip"), force=True))
    assert {p.name: p.read_bytes() for p in target.iterdir()} == ({"memory.zip": b"before"} if force else {})
