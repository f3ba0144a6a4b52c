"""An acknowledged addition survives a power cut, also when the first one of all was killed at any moment."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]

#: Adds a message, and notes each name that is made and each folder that is flushed. With ``n`` > 0 it dies before the
#: n-th call that changes the disk.
ADDS = """
import os, sys
root, log, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
from holdfast.fs import safeopen
from holdfast.journal.capture import capture
import holdfast.fs.private
from tests.support.dying import arm

noted, write = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), os.write
note = lambda what, path: write(noted, f"{what} {path}\\n".encode())
Folder = safeopen.Folder

def noting(name, what, place):
    real = getattr(Folder, name)
    def call(self, *args, **named):
        before = set(self.names()) if what == "made" else None
        try:
            return real(self, *args, **named)
        finally:
            if before is None:
                note(what, self.path)
            else:
                for one in set(self.names()) - before:
                    note(what, os.path.join(self.path, one))
    setattr(Folder, name, call)

noting("make", "made", 0)
noting("open", "made", 0)
noting("replace", "made", 1)
real_sync = Folder.sync
def sync(self):
    real_sync(self)
    note("synced", self.path)
Folder.sync = sync
if n:
    arm(n)
capture(root, "s", "user", "hello")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.req("R142")
def test_add__the_first_was_killed_at_any_moment__every_name_on_the_way_is_durable(tmp_path):
    for n in range(1, 60):
        root, log = tmp_path / str(n), tmp_path / f"{n}.log"
        root.mkdir()
        words = [sys.executable, "-c", ADDS, str(root), str(log)]
        killed = subprocess.run([*words, str(n)], cwd=HERE, timeout=60, check=False)
        subprocess.run([*words, "0"], cwd=HERE, timeout=60, check=True)
        lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
        for name in (".holdfast", ".holdfast/state", ".holdfast/state/sessions", ".holdfast/state/sessions/s.jsonl"):
            path = root / name
            made = max(at for at, line in enumerate(lines) if line == ["made", str(path)])
            assert ["synced", str(path.parent)] in lines[made:], f"{name} after a kill before call {n}: {lines}"
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL
    assert n > 8
