"""SIGKILL at every moment of a dream and of an undo: the old memory or the new one, whole, and the next run is sane."""

import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.dying import dies
from tests.support.trusting import seen

from holdfast import Holdfast
from holdfast_app.dream.dreamlog import INTERRUPTED, Status

#: Of the moments to die at, each how many-th is tried. All of them, 1, take ten seconds; they were all seen to pass.
EVERY = 10

OLD = "# Memory\n\n- The API lives in services/api\n"
NOTE = """# Daily Memory: {day}

## Session Notes (09:00)
<!-- holdfast:block id=flush_1 -->

### What changed

- Decision: The queue runs on Postgres 16
"""
NEW = f"{OLD}\n## Decisions\n\n- The queue runs on Postgres 16\n"

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here"),
    pytest.mark.usefixtures("shared_key"),  # the project is copied for each child
]


@pytest.fixture
def template(tmp_path) -> Path:
    from datetime import UTC, datetime

    folder = tmp_path / "template"
    day = datetime.now(UTC).date().isoformat()
    (folder / ".holdfast" / "memory").mkdir(parents=True)
    (folder / "holdfast.toml").write_text('zone = "UTC"\n')
    (folder / ".holdfast" / "MEMORY.md").write_text(OLD)
    (folder / ".holdfast" / "memory" / f"{day}.md").write_text(NOTE.format(day=day))
    return seen(folder)


def killed(template: Path, act: Callable[[Holdfast], object]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Each project whose process died, with its documents, and one whose process did not."""
    for number in range(1, 300, EVERY):
        root = seen(Path(shutil.copytree(template, template.parent / str(number))))
        memory = Holdfast.open(root)
        is_killed = dies(number, partial(act, memory))
        memory.close()
        yield root, texts(root)
        if not is_killed:
            break
    assert number > 3 * EVERY


def texts(root: Path) -> dict[str, str]:
    store = root / ".holdfast"
    return {str(p.relative_to(store)): p.read_text() for p in store.rglob("*.md")}


@pytest.mark.req("R023", "R025")
def test_dream__killed_at_any_moment__memory_is_old_or_new_and_the_next_run_completes(template):
    note = next((template / ".holdfast" / "memory").glob("*.md"))
    outcomes = set()
    for root, documents in killed(template, Holdfast.deep_dream):
        assert documents["MEMORY.md"] in (OLD, NEW)
        outcomes.add(documents["MEMORY.md"])
        if documents["MEMORY.md"] == NEW:
            assert any(name.startswith("memory/dreams/") for name in documents)
        with Holdfast.open(root) as memory:
            before = memory.dreams()
            finished = memory.deep_dream()
            assert finished.status in (Status.DONE, Status.SKIPPED), finished
            assert memory.deep_dream().status is Status.SKIPPED
            after = texts(root)
            assert after["MEMORY.md"] == NEW
            assert after[f"memory/{note.name}"] == note.read_text()
            assert all(r.reason == INTERRUPTED for r in before if r.status is Status.FAILED)
            if documents["MEMORY.md"] == NEW or any(r.backup for r in memory.dreams()):
                assert memory.undo_dream().status is Status.UNDONE
                assert texts(root)["MEMORY.md"] == OLD
    assert outcomes == {OLD, NEW}


def test_undo__killed_at_any_moment__memory_is_old_or_new_and_the_next_undo_works(template):
    with Holdfast.open(template) as memory:
        assert memory.deep_dream().status is Status.DONE
    outcomes = set()
    for root, documents in killed(template, Holdfast.undo_dream):
        there = documents["MEMORY.md"]
        outcomes.add(there)
        assert there in (OLD, NEW)
        with Holdfast.open(root) as memory:
            memory.undo_dream()
        assert texts(root)["MEMORY.md"] == (OLD if there == NEW else NEW)
    assert outcomes == {OLD, NEW}
