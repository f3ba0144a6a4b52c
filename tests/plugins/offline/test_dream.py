"""A dream without a model: nothing that is not in the sources, nothing lost, nothing twice."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import processes
from tests.support.stated import done

from holdfast.api import DreamSources, Holdfast, Payload, duplicate_key
from holdfast.flush import notes
from holdfast_app.dream import memorytext
from holdfast_app.dream.dreamlog import Status
from holdfast_app.offline.dream import dream

AT = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
lines = st.text(st.characters(codec="utf-8"), max_size=40)
items = st.lists(lines, max_size=4)


def note(facts: list[str], decisions: list[str]) -> str:
    payload = Payload(objective="x", facts=facts, decisions=decisions, next_step="none")
    return notes.header(AT.date()) + notes.framed(notes.body(payload), block_id="b", session="s", reason="end", at=AT)


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.req("R028", "R029")
@example(["## 0 :", "- x"], [], [])
@given(
    st.lists(st.sampled_from(["- ", "* ", "## ", "", "1. ", "# "]).flatmap(lambda m: lines.map(m.__add__))),
    items, items,
)  # fmt: skip
def test_dream__any_sources__every_item_stands_in_them_word_for_word(memory, facts, decisions):
    sources = DreamSources(memory="\n".join(memory), notes=[("memory/2026-11-21.md", note(facts, decisions))])
    draft = dream(sources)
    got = memorytext.read(draft.memory)
    there = one_line("\n".join([sources.memory, *(text for _, text in sources.notes)]))
    old = {i.text for i in memorytext.read(sources.memory, prose_is_item=True).items}
    new = {i.text for i in got.items}
    assert all(text in there for text in new - old)
    keys = [duplicate_key(i.text) for i in got.items]
    assert len(keys) == len(set(keys))
    again = dream(DreamSources(memory=draft.memory, notes=sources.notes))
    assert again.memory == draft.memory


def test_dream__notes__facts_and_decisions_come_behind_what_is_there():
    memory = "# Ours\n\n- The API lives in services/api\n\n## Facts\n\n"
    memory += "- Redis 7 holds sessions\n- redis 7 holds sessions\n"
    said = note(["Redis 7 holds sessions", "Ada owns billing"], ["Use Postgres 16", "none"])
    draft = dream(DreamSources(memory=memory, notes=[("memory/2026-11-21.md", said)]))
    assert draft.memory == (
        "# Ours\n\n- The API lives in services/api\n\n## Facts\n\n- Redis 7 holds sessions\n- Ada owns billing\n"
        "\n## Decisions\n\n- Use Postgres 16\n"
    )
    assert "1 daily note" in draft.diary
    assert "2 new items, 1 repetition" in draft.diary


def test_dream__rule_withdrawn_in_a_note__leaves_and_its_withdrawal_is_no_item():
    memory = "# Memory\n\n## Rules\n\n- Use tabs.\n- Answer in German.\n"
    withdrawn = "- Rule: No longer a rule: “Use tabs.” The user: “Forget it.”"
    said = note(["x"], []).replace("- Fact: x", withdrawn)
    draft = dream(DreamSources(memory=memory, notes=[("memory/2026-11-21.md", said)]))
    assert draft.memory == "# Memory\n\n## Rules\n\n- Answer in German.\n"


@pytest.mark.req("R010", "R017", "R024", "R101", "R108")
def test_dream__project_as_it_comes__needs_no_key_and_leaves_out_what_is_no_memory(project, clock):
    with Holdfast.open(project, clock=clock) as memory:
        with memory.session("s") as session:
            session.add("user", "Go on")
            facts = ["The queue runs on Postgres 16", "Maybe the cache is broken"]
            decisions, curated = ["Retries stop after 5 attempts"], {"memory": ["The API lives in services/api"]}
            session.flush(done("Move the queue", facts=facts, decisions=decisions, curated=curated))
        result = memory.deep_dream(lookback_days=3)
        assert (result.status, result.plugin) == (Status.DONE, "offline")
        text = memory.store.read("MEMORY.md")
    assert "- The API lives in services/api\n" in text.text
    assert "- The queue runs on Postgres 16\n" in text.text
    assert "- Retries stop after 5 attempts\n" in text.text
    assert "Maybe" not in text.text
    assert [g.text for g in result.refused] == ["Maybe the cache is broken"]


@pytest.mark.parametrize(
    "said", ["That was a dead end: celery lost mails", "We tried celery and dropped it: it lost mails"]
)
def test_dream__approach_that_the_user_gave_up__is_in_the_next_brief(said, project):
    with Holdfast.open(project) as memory:
        session = memory.session("s")
        session.add("user", f"{said} on restarts. Take something else.")
        session.add("assistant", "I take the outbox table instead.")
        session.end()
        assert memory.deep_dream().status is Status.DONE
        assert f"{said} on restarts" in memory.store.read("MEMORY.md").text.partition("## Given up")[2]
        assert f"{said} on restarts" in str(memory.load())


@pytest.mark.parametrize("form", ["{}\n", "- {}\n", "- Fact: {}\n"])
def test_dream__note_of_one_word_lines_in_a_fresh_folder__is_skipped_and_succeeds(form, project):
    """A note of 300 kB, more than the 200 kB that a dream reads."""
    notes = project / ".holdfast" / "memory"
    notes.mkdir(parents=True)
    words = "".join(form.format(f"w{number:x}") for number in range(300_000 // len(form.format("wfffff"))))
    (notes / "2026-11-20.md").write_text(f"# Daily Memory: 2026-11-20\n\n{words}", encoding="utf-8")
    told = processes.run("--root", str(project), "dream", "--force")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "skipped" in told.stdout
