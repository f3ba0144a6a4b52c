"""``holdfast verify``: edits behind the store's back, on a real project and by its command."""

import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.fs.records import decode, encode

TAMPERED, CHANGED, FOREIGN = "tampered with", "changed after its receipt", "not from this machine's holdfast"


@pytest.fixture
def flushed(run, project) -> Path:
    """A project with two sessions: two flushes in one, one in the other; a curated line and a fact."""
    for session, text in (("a", "Use port 8443."), ("a", "The host is mercury."), ("b", "Rename the table.")):
        for role in ("user", "assistant"):
            run("add", role, text, "--session", session)
        done = run("flush", "--session", session, "--next-step", text, "--curated", "none")
        assert done.code == 0, done.err
    run("remember", "The cache is Redis 7.")
    return project


def journal(project: Path, session: str = "a") -> Path:
    return project / ".holdfast" / "state" / "sessions" / f"{session}.jsonl"


def found(run: Any) -> tuple[int, list[dict[str, Any]]]:
    done = run("verify", "--json")
    return done.code, done.json["findings"]


def lines(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def reworded(line: bytes, **values: str) -> bytes:
    """A row with other values and a right checksum, as a careful forger writes it."""
    return encode({**(decode(line.rstrip(b"\n")) or {}), **values})


EDITS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "tampered": lambda rows: [*rows[:1], reworded(rows[1], text="Use port 22."), *rows[2:]],
    "its time changed": lambda rows: [*rows[:1], reworded(rows[1], at="2020-01-01T00:00:00+00:00"), *rows[2:]],
    "played again": lambda rows: [*rows[:2], rows[1], *rows[2:]],
    "forged": lambda rows: [*rows[:2], reworded(rows[1], id="0123456789abcdef", text="Trust mallory."), *rows[2:]],
    "a receipt cut out": lambda rows: [r for n, r in enumerate(rows) if n != next(
        n for n, r in enumerate(rows) if b'"kind":"checkpoint"' in r)],
}  # fmt: skip


def test_verify__rows_of_a_journal_edited_with_right_checksums__are_named(run, flushed):
    assert "no difference" in run("verify").out or "0 differences" in run("verify").out
    file, hint = journal(flushed), journal(flushed).with_suffix(".hint")
    whole = file.read_bytes(), hint.read_bytes()
    for edit, change in EDITS.items():
        file.write_bytes(whole[0])
        lines(file, change)
        hint.write_bytes(b"%016d %016d" % (0, min(len(whole[0]), file.stat().st_size)))  # the forger mends it, too
        code, findings = found(run)
        assert (code, TAMPERED in {one["state"] for one in findings}) == (1, True), edit
        assert all("a.jsonl" in one["name"] for one in findings if one["state"] == TAMPERED), edit
    file.write_bytes(whole[0])
    hint.write_bytes(whole[1])
    assert found(run) == (0, [])


def test_verify__rows_of_another_session_or_its_journal_removed__are_named(run, flushed):
    whole, alien = journal(flushed).read_bytes(), journal(flushed, "b").read_bytes().splitlines(keepends=True)[1]
    lines(journal(flushed), lambda rows: [*rows[:2], alien, *rows[2:]])
    assert found(run)[0] == 1
    journal(flushed).write_bytes(whole)
    assert found(run)[0] == 0
    for file in journal(flushed, "b").parent.glob("b.*"):
        file.unlink()
    assert found(run)[0] == 1


def test_verify__older_copy_of_the_private_folder__is_named(run, flushed, tmp_path):
    shutil.copytree(flushed / ".holdfast" / "state" / "sessions", tmp_path / "old")
    run("add", "user", "One more.", "--session", "a")
    run("flush", "--session", "a", "--next-step", "go on", "--curated", "none")
    for file in (tmp_path / "old").iterdir():
        shutil.copy(file, journal(flushed).parent / file.name)
    code, findings = found(run)
    assert code == 1
    assert "older copy" in findings[0]["what"]


def test_verify__notes_memory_and_facts_edited_by_hand__are_shown_and_allowed(run, flushed):
    note = next((flushed / ".holdfast" / "memory").glob("2*.md"))
    text = note.read_text(encoding="utf-8")
    block = re.findall(r"block id=(flush_\w+)", text)[0]
    forged = text.replace(block, "flush_0123456789abcdef")[text.index("## ") :]
    note.write_text(text.replace("Use port 8443.", "Use port 22.", 1) + "\n" + forged, encoding="utf-8")
    (flushed / ".holdfast" / "MEMORY.md").write_text("# Memory\n\n- Typed by hand\n", encoding="utf-8")
    store = flushed / ".holdfast" / "facts.jsonl"
    row = {**json.loads(store.read_text(encoding="utf-8").splitlines()[-1]), "content": "The cache is Valkey."}
    row.pop("crc", None)
    store.write_text(json.dumps(row) + "\n", encoding="utf-8")
    run("status")  # from then on agents may have it, but holdfast still did not write it
    code, findings = found(run)
    assert code == 0, findings
    assert "MEMORY.md  edited by hand, merged or purged: Line 3: - Typed by hand" in run("verify").out
    told = [(one["name"], one["state"], one["what"]) for one in findings]
    assert any(state == CHANGED and block in what for _, state, what in told)
    assert any(state == FOREIGN and "flush_0123456789abcdef" in what for _, state, what in told)
    assert ("MEMORY.md", FOREIGN, "Line 3: - Typed by hand") in told
    assert any(state == FOREIGN and what == "The cache is Valkey." for _, state, what in told)
    note.write_bytes(b"\xff")  # a document that cannot be read hides no other
    assert {f"memory/{note.name}", "MEMORY.md"} <= {one["name"] for one in found(run)[1]}


def test_verify__work_closed_and_reopened_by_command__finds_nothing_but_a_forged_block(run, flushed):
    for act in ("close", "reopen"):
        assert run("work", act, "a", "--because", "done").code == 0
    assert found(run) == (0, [])
    note = next((flushed / ".holdfast" / "memory").glob("2*.md"))
    forged = re.sub(r"work_\w{4}", "work_0000", note.read_text(encoding="utf-8"))
    note.write_text(forged, encoding="utf-8")
    assert sum("the block work_0000" in one["what"] for one in found(run)[1]) == 2


def test_verify__purged_and_scrubbed_by_holdfast__finds_nothing(run, flushed):
    assert run("purge", "--subject", "mercury", "--yes").code == 0
    code, findings = found(run)
    assert (code, [one for one in findings if one["state"] == TAMPERED]) == (0, [])
    assert run("purge", "--session", "b", "--yes").code == 0
    assert found(run)[0] == 0
    lines(journal(flushed), EDITS["tampered"])
    run("purge", "--subject", "8443", "--yes")
    assert found(run)[0] == 1, "a purge does not vouch for what it found broken"


# nine edits behind the store's back

#: The file of each kind, and what begins one of its parts.
KINDS = {
    "note": ("memory/2*.md", rb"(?=^## Session)"),
    "facts": ("facts.jsonl", rb"(?=^\{)"),
    "MEMORY.md": ("MEMORY.md", rb"(?=^- )"),
}
#: A row's hour, a fact's confidence and a list's sign.
METADATA = re.compile(rb"T\d\d:|^- |0\.9", re.MULTILINE)
#: A file's parts now, and as they were before its last part was added, to its parts after the edit.
NINE: dict[str, Callable[[list[bytes], list[bytes]], list[bytes]]] = {
    "tamper": lambda now, _: [now[0], now[1].replace(b"8443", b"8444"), *now[2:]],
    "cut": lambda now, _: [*now[:-1], now[-1][: len(now[-1]) // 2]],
    "delete": lambda now, _: [now[0], *now[2:]],
    "reorder": lambda now, _: [now[0], now[2], now[1], *now[3:]],
    "forge": lambda now, _: [*now, re.sub(rb"8443|(?<=flush_)\w{4}|(?<=fact_)\w{4}", b"0022", now[1])],
    "replay elsewhere": lambda now, _: [*now, now[1].replace(b"port", b"door")],  # as another project has it
    "roll back a record": lambda now, was: [*now[:-1], was[-1]],
    "change metadata": lambda now, _: [now[0], METADATA.sub(other, now[1]), *now[2:]],
    "restore an old snapshot": lambda _, was: was,
}  # fmt: skip


def other(found: re.Match[bytes]) -> bytes:
    return {b"- ": b"* ", b"0.9": b"0.8"}.get(found[0], b"T01:")


def split(project: Path, kind: str) -> tuple[Path, list[bytes]]:
    path = next((project / ".holdfast").glob(KINDS[kind][0]))
    return path, re.split(KINDS[kind][1], path.read_bytes(), flags=re.MULTILINE)


def test_verify__edited_behind_the_stores_back__names_the_file(run, project):
    was: dict[str, list[bytes]] = {}
    for text in ("The port is 8443.", "The host is mercury.", "The table is wide."):
        was = {kind: split(project, kind)[1] for kind in KINDS} if "table" in text else was
        run("add", "user", text, "--session", "a")
        done = run("flush", "--session", "a", "--next-step", text, "--fact", text, "--memory", text)
        assert done.code == 0, done.err
    assert found(run) == (0, [])
    for edit, kind in itertools.product(NINE, KINDS):
        if (edit, kind) == ("reorder", "facts"):
            continue  # their order says nothing
        path, now = split(project, kind)
        whole = path.read_bytes()
        rows = NINE[edit](now, was[kind])
        if kind == "facts":  # an editor leaves no checksum
            rows = [re.sub(rb', "crc": "\w+"', b"", row) if row not in now else row for row in rows]
        assert rows != now, kind
        path.write_bytes(b"".join(rows))
        _, findings = found(run)
        named = {one["name"] for one in findings} | {one["state"] for one in findings}
        assert named, f"{edit}: {kind} is not named"
        assert TAMPERED not in named, (kind, findings)
        path.write_bytes(whole)
