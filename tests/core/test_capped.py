"""Curated memory at its limit: nothing newer is refused, the least confirmed lines are in the archive."""

from datetime import UTC, datetime, timedelta
from unittest.mock import DEFAULT, Mock, patch

import pytest
from tests.support.trusting import seen

from holdfast import Holdfast
from holdfast.config.values import PluginConfig
from holdfast.flush import curated
from holdfast.flush.curated import bullets
from holdfast_app.config import Config
from holdfast_app.dream import confirmed
from holdfast_app.dream.confirmed import Confirmation
from holdfast_app.facts.rejected import key_of

DAY = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def full(project, payload):
    """``full(n)``: a project with the default plugins and n lines in MEMORY.md; line 7 was confirmed last."""

    def make(count: int, surface: str = "MEMORY.md", most: int = 200) -> Holdfast:
        folder = project / ".holdfast"
        (folder / "state").mkdir(parents=True)
        items = [f"The module number {n} belongs to team {n % 7}" for n in range(count)]
        (folder / surface).write_text("# Memory\n\n## Modules\n\n" + "".join(f"- {one}\n" for one in items))
        record = {key_of(one): Confirmation(first=DAY, last=DAY + timedelta(hours=n)) for n, one in enumerate(items)}
        record[key_of(items[7])] = Confirmation(first=DAY, last=DAY + timedelta(days=90))
        seen(project)
        plugins = {"curated": PluginConfig(settings={"max_items": most})}
        memory = Holdfast.open(project, config=Config(zone="UTC", plugins=plugins))
        confirmed.save(memory.services.state, record)
        return memory

    return make


def decided(payload, *texts, surface="memory"):
    return payload(curated={surface: list(texts)}, state_mutations=[])


def test_flush__curated_memory_full__takes_the_new_line_and_archives_the_least_confirmed(full, payload, project):
    memory = full(200)
    receipt = memory.session("s").flush(decided(payload, "The parser is written in Rust since the release 4.0"))
    items = [*bullets((project / ".holdfast/MEMORY.md").read_text())]
    assert len(items) == 190
    assert "The parser is written in Rust since the release 4.0" in items
    assert "The module number 7 belongs to team 0" in items
    assert "The module number 0 belongs to team 0" not in items
    assert any("MEMORY.md was full: its 11 least confirmed lines moved to" in w for w in receipt.warnings)
    archive = memory.store.read(memory.services.archive)
    assert archive.text.count("which was full)") == 11
    assert "- The module number 0 belongs to team 0 (from MEMORY.md, which was full)" in archive.text
    assert memory.session("s").flush().repeated
    assert not memory.unsafe()


def test_flush__line_was_archived_since__is_not_written_again(full, payload):
    memory = full(8, most=9)
    memory.session("old").flush(decided(payload, "The first decision names the queue 12"))
    for n in range(4):
        lines = (f"The later decision {n}.{m} names the queue {n}-{m}" for m in range(4))
        memory.session(f"s{n}").flush(decided(payload, *lines))
    document = memory.store.read("MEMORY.md")
    assert "The first decision" not in document.text
    assert len([*bullets(document.text)]) <= 9
    assert memory.session("old").flush().repeated


def test_flush__killed_between_archive_and_memory__loses_and_doubles_nothing(full, payload, project):
    memory = full(200)
    dying = Mock(wraps=curated.apply, side_effect=[DEFAULT, KeyboardInterrupt])  # at its second call
    with patch("holdfast.flush.curated.apply", dying), pytest.raises(KeyboardInterrupt):
        memory.session("s").flush(decided(payload, "The parser is written in Rust since the release 4.0"))
    memory.close()
    again = Holdfast.open(project, config=Config(zone="UTC"))
    again.session("s").flush()
    archive = again.store.read(again.services.archive)
    kept = [*bullets((project / ".holdfast/MEMORY.md").read_text())]
    assert archive.text.count("which was full)") + len(kept) == 201
