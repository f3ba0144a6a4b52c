"""Private state belongs to the user on this machine: state of any other origin is put aside, told of, and adoptable."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.support.processes import finished

from holdfast.api import ConfigError, Holdfast, HoldfastError, StorageConfig, Unavailable
from holdfast.fs import private
from holdfast.journal import safety
from holdfast_app.capture import capture
from holdfast_app.checkup import adoption
from holdfast_app.config import Config
from holdfast_app.data_loss import apart
from holdfast_app.journal.journal import Journal

ROOT_ONLY = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


def asides(state: Path) -> list[Path]:
    return sorted(state.parent.glob("state.foreign-*"))


def notice(state: Path) -> str:
    return " ".join(f"{loss.message} {loss.next_step}" for loss in apart(str(state.parent.parent), str(state)))


def journalled(state: Path) -> list[str]:
    return [e.record["text"] for e in Journal(str(state), "s").entries() if e.record["kind"] == "message"]


def forge(folder: Path) -> None:
    """State as an attacker, an older version or another machine would have it."""
    (folder / "sessions").mkdir(parents=True)
    (folder / "sessions" / "old.jsonl").write_text("forged\n")
    (folder / "outbox.jsonl").write_text("forged\n")


@pytest.mark.parametrize("mark", ["none", "copied", "garbage", "of another key", "a link to a real one", "a fifo"])
def test_open__state_without_a_valid_mark__put_aside_unread(project, state, tmp_path, mark):
    forge(state)
    other = tmp_path / "other" / "state"
    private.make(str(other))
    if mark == "copied":
        shutil.copy(other / "owner", state / "owner")
    elif mark == "garbage":
        (state / "owner").write_bytes(b"\xff" * 4000)
    elif mark == "of another key":
        (state / "owner").write_text(f"holdfast-state-1 {'0' * 32} {state.stat().st_ino} - {'0' * 64}\n")
    elif mark == "a link to a real one":
        (state / "owner").symlink_to(other / "owner")
    elif mark == "a fifo":
        os.mkfifo(state / "owner")
    with Holdfast.open(project) as memory:
        assert memory.sessions() == []
        assert memory.outbox.items() == []
    [aside] = asides(state)
    assert (aside / "outbox.jsonl").read_text() == "forged\n"
    assert (aside / ".gitignore").read_text() == "*\n"
    assert "adopt-state" in notice(state)
    assert not notice(other)


@pytest.mark.parametrize("target", ["outside", "inside", "dangling", "itself"])
def test_add__state_is_a_link__the_link_is_put_aside_and_nothing_goes_out(project, state, tmp_path, target):
    outside = {"outside": tmp_path / "out", "inside": project / "docs", "dangling": tmp_path / "no", "itself": state}[
        target
    ]
    if target in ("outside", "inside"):
        outside.mkdir()
    state.parent.mkdir()
    state.symlink_to(outside)
    capture(str(project), "s", "user", "hello")
    assert journalled(state) == ["hello"]
    assert not state.is_symlink()
    assert [p.is_symlink() for p in asides(state)] == [True]
    assert not outside.exists() or target == "itself" or not list(outside.iterdir())


@pytest.mark.parametrize("content", [None, "", "short"])
def test_key__named_file_cannot_be_used__said_and_nothing_is_put_aside(project, state, tmp_path, monkeypatch, content):
    capture(str(project), "s", "user", "hello")
    monkeypatch.setenv("HOLDFAST_KEY_FILE", str(tmp_path / "key"))
    if content is not None:
        (tmp_path / "key").write_text(content)
    with pytest.raises(ConfigError, match="HOLDFAST_KEY_FILE"):
        capture(str(project), "s", "user", "more")
    assert not asides(state)


@ROOT_ONLY
def test_add__two_accounts_in_turn__each_finds_its_own_state_again(project, state, tmp_path):
    """Neither can read the other's; nothing of either is lost."""
    code = """if 1:
        import os, sys
        from holdfast_app.trust import statefolders
        from holdfast_app.capture import capture
        from holdfast_app.journal.journal import Journal
        root, home, uid, text, warm = sys.argv[1:]
        # The other account may not be allowed to read this interpreter's files: import everything before.
        capture(warm, "s", "user", text)
        statefolders.apart(warm, warm + "/.holdfast/state")
        os.setgid(int(uid)); os.setuid(int(uid))
        os.environ["HOME"] = home
        capture(root, "s", "user", text)
        state = os.path.join(root, ".holdfast", "state")
        print([e.record["text"] for e in Journal(state, "s").entries() if e.record["kind"] == "message"])
        print(statefolders.apart(root, state))
    """
    (project / ".holdfast").mkdir()
    warm = tmp_path / "warm"
    warm.mkdir()
    base = Path(tempfile.gettempdir())
    for folder in (project / ".holdfast", *(p for p in project.parents if p.is_relative_to(base) and p != base)):
        os.chmod(folder, 0o777)
    said: dict[str, list[str]] = {"23456": [], "34567": []}
    for uid in ("23456", "34567", "23456", "34567"):
        home = tmp_path / f"home{uid}"
        home.mkdir(exist_ok=True)
        os.chown(home, int(uid), int(uid))
        said[uid].append(f"turn {len(said[uid])} of {uid}")
        ran = finished(
            [sys.executable, "-c", code, str(project), str(home), uid, said[uid][-1], str(warm)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        assert ran.returncode == 0, ran.stderr
        told, notice = ran.stdout.splitlines()
        assert told == repr(said[uid])
        assert ("state.foreign-" in notice) == (len(said["34567"]) > 0)


def test_make__many_processes_find_the_same_foreign_state__one_puts_it_aside(project, state):
    forge(state)
    code = "import sys; from holdfast_app.capture import capture; capture(sys.argv[1], 's', 'user', sys.argv[2])"
    running = [subprocess.Popen([sys.executable, "-c", code, str(project), f"{n}"]) for n in range(4)]
    assert [one.wait(60) for one in running] == [0] * 4
    assert sorted(journalled(state)) == [f"{n}" for n in range(4)]
    assert len(asides(state)) == 1


def test_check__mark_cannot_be_read_now__raises_and_puts_nothing_aside(project, state, monkeypatch):
    capture(str(project), "s", "user", "hello")
    real = os.open

    def failing(path: str, *args: object, **named: object) -> int:
        if path == "owner":
            raise OSError(5, os.strerror(5))
        return real(path, *args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        with pytest.raises(Unavailable):
            private.check(str(state))
    assert not asides(state)
    assert journalled(state) == ["hello"]


@pytest.mark.parametrize(("damage", "added"), [(b"", "s-adopted-1"), (b"x", "s.jsonl-adopted-1")])
def test_adopt__state_of_an_older_version__everything_is_there_again(project, state, damage, added):
    with Holdfast.open(project) as memory:
        memory.session("s").add("user", "hello")
    safety.begin(str(state), safety.Marker(session="s", at="2026-11-21T14:30:00+00:00", reason="compaction"))
    (state / "owner").unlink()
    capture(str(project), "s", "user", "said since")
    [aside] = asides(state)
    (aside / "sessions/s.jsonl").write_bytes(damage + (aside / "sessions/s.jsonl").read_bytes())
    held = adoption.contents(str(aside))
    assert (held.sessions, held.unsafe, held.problem) == (("s",), ("s",), "")
    done = adoption.adopt(str(state), str(aside))
    assert (done.left, asides(state), notice(state)) == ((), [], "")
    with Holdfast.open(project) as memory:
        assert memory.sessions() == ["s", added]
        assert [m.text for m in memory.session("s").messages] == ["said since"]
        assert [m.text for m in memory.session(added).messages] == ["hello"]
        assert [m.session for m in memory.unsafe()] == ["s"]
    assert {stat.S_IMODE(p.stat().st_mode) for p in state.rglob("*") if p.is_file()} == {0o600}


def test_adopt__links_hard_links_and_other_things__stay_and_are_not_followed(project, state, tmp_path):
    (tmp_path / "secret").write_text("secret")
    forge(state)
    (state / "usage.jsonl").symlink_to(tmp_path / "secret")
    (state / "agents").symlink_to(tmp_path)
    os.mkfifo(state / "facts.log.jsonl")
    os.link(tmp_path / "secret", state / "hook.log")
    (state / "append.intent").write_text("{}")
    private.make(str(state))
    [aside] = asides(state)
    done = adoption.adopt(str(state), str(aside))
    assert set(done.taken) == {"outbox.jsonl", "sessions/old.jsonl"}
    assert {name for name, _ in done.left} == {"usage.jsonl", "agents", "facts.log.jsonl", "hook.log"}
    assert "secret" not in "".join(p.read_text() for p in state.rglob("*") if p.is_file())
    assert not (state / "append.intent").exists()
    assert {p.name for p in aside.iterdir()} == {"usage.jsonl", "agents", "facts.log.jsonl", "hook.log"}


@pytest.mark.parametrize("name", ["MEMORY.md", "facts.jsonl"])
def test_write__document_with_another_name__the_other_keeps_its_content(project, tmp_path, name):
    """A backup made of hard links, or a link that another user planted: what is appended goes to a file of its own."""
    with Holdfast.open(project) as memory:
        memory.store.backend.append("MEMORY.md", "<!-- holdfast:block id=a -->\n- a\n", "# M\n", "a")
        memory.facts.create("one fact")
    path = project / ".holdfast" / name
    os.link(path, tmp_path / "victim")
    before = (tmp_path / "victim").read_bytes()
    with Holdfast.open(project) as memory:
        memory.store.backend.append("MEMORY.md", "<!-- holdfast:block id=b -->\n- b\n", "# M\n", "b")
        memory.facts.create("another fact")
        assert memory.facts.count() == 2
    assert (tmp_path / "victim").read_bytes() == before
    assert path.stat().st_nlink == 1
    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("side", "kind"), [("", "link"), ("-wal", "hard link"), ("-shm", "link"), ("-journal", "hard link")]
)
def test_sqlite__database_or_a_file_next_to_it_is_a_link__refused_and_untouched(project, tmp_path, side, kind):
    config = Config(storage=StorageConfig(backend="sqlite"))
    with Holdfast.open(project, config=config) as memory:
        memory.facts.create("one fact")
    database = project / ".holdfast" / "holdfast.db"
    victim = tmp_path / "victim"
    if side:
        victim.write_bytes(b"")
    else:
        database.rename(victim)
    before = victim.read_bytes()
    path = database.with_name(database.name + side)
    path.unlink(missing_ok=True)
    os.link(victim, path) if kind == "hard link" else path.symlink_to(victim)
    with pytest.raises(HoldfastError), Holdfast.open(project, config=config) as memory:
        memory.facts.create("another fact")
    assert victim.read_bytes() == before
