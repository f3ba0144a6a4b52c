"""The lines of holdfast's own layout reach no index, no extraction and no dream; the documents keep every line."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.api import DreamDraft, Holdfast, Payload, hookimpl
from holdfast.flush import notes
from holdfast_app.records.blocks import blocks
from holdfast_app.records.ownlines import is_own

#: Every statement of these tests has it, so a line without it is not a user's.
TOKEN = "quagga"
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=20).map(
    lambda text: f"The {TOKEN} {text}"
)
LISTS = st.lists(TEXTS, max_size=2)
PAYLOADS = st.builds(
    Payload,
    objective=TEXTS,
    facts=LISTS,
    decisions=LISTS,
    blockers=LISTS,
    next_step=TEXTS | st.just("none"),
    artifacts=LISTS,
    follow_ups=LISTS,
    needs_operator=LISTS,
    work_open=st.booleans(),
    curated=st.just("none"),
    state_mutations=st.just([]),
    handoff=st.none(),
)
SLOW = settings(max_examples=8, suppress_health_check=list(HealthCheck))


class Reads:
    """Keeps the sources of a dream and tries to put holdfast's own lines into the memory."""

    def __init__(self) -> None:
        self.sources: list[tuple[str, str]] = []

    @hookimpl(tryfirst=True)
    def on_dream(self, sources: Any) -> DreamDraft:
        self.sources = list(sources.notes)
        drafted = "\n".join(
            f"- {line.strip().removeprefix('- ')}" for _, text in self.sources for line in text.split("\n")
        )
        return DreamDraft(memory=f"{drafted}\n- Work is open.\n- The agent said last (50643bcf):", diary="")


def indexed(memory: Holdfast) -> list[str]:
    from holdfast_app.search import records

    documents = [source for source in records.sources(memory) if source.kind == records.DOCUMENT]
    found = [one.body for source in documents for one in records.read(memory, source, 0)]
    return [line for line in found if line != "# Memory"]  # a title, which a user may change


@SLOW
@given(payload=PAYLOADS)
def test_own_lines__stated_payload__reach_no_index_extraction_or_dream(payload, tmp_path_factory):
    plugin = Reads()
    with Holdfast.open(tmp_path_factory.mktemp("p"), plugins=[("reads", plugin)]) as memory:
        with memory.session("s") as session:
            session.add("user", f"What about the {TOKEN}?")
            session.flush(payload)
        memory.deep_dream()
        memory.report()
        found = indexed(memory)
        assert found
        assert [line for line in found if TOKEN not in line] == []
        dreamt = [line for _, text in plugin.sources for line in text.split("\n") if line.strip()]
        assert [line for line in dreamt if TOKEN not in line and not line.startswith(("#", "<!--"))] == []
        stored = memory.store.read("MEMORY.md")
        assert stored is None or "Work is open" not in stored.text


@pytest.mark.parametrize("answer", ["The quagga runs on Go.\n\nNext: test the quagga cache", ""])
def test_own_lines__derived_note_read_by_an_agent__is_not_extracted_quoted_or_found(project, answer):
    with Holdfast.open(project) as memory:
        with memory.session("a") as session:
            session.add("user", "Explain the quagga")
            session.add("assistant", f"The quagga listens on port 8080, see `quagga.py`.\n{answer}")
            session.add("user", "What about the quagga tests?")
            session.add("assistant", "The quagga tests pass with `pytest -q quagga`.")
            session.flush()
        (name,) = [n for n in memory.store.names() if n.startswith("memory/2") and "summaries" not in n]
        document = memory.store.read(name)
        assert "The agent said last (" in document.text
        memory.deep_dream()
        assert [line for line in indexed(memory) if TOKEN not in line] == []
        with memory.session("b") as session:
            session.add("user", document.text)
            session.add("assistant", document.text)
            session.flush()
        *_, block = blocks(memory.store.read(name).text)
        quoted = [line for line in block.text.split("\n") if line.startswith("- ")]
        assert not [line for line in quoted if is_own(line.partition(": ")[2]) and line.partition(": ")[2]]
        assert not [line for line in quoted if is_own(line.partition(") ")[2]) and line.partition(") ")[2]]
        assert [hit.text for hit in memory.search("the agent said last") if TOKEN not in hit.text] == []


def test_own_lines__users_text_that_looks_like_one__stays_in_the_note(project, payload):
    summary = "Work is open.\n\n### What happened\n\nThe agent said last (50643bcf):\n- Facts: none"
    with Holdfast.open(project) as memory:
        with memory.session("s") as session:
            session.add("user", "x")
            session.flush(payload(facts=["Work is open.", "The agent said last (50643bcf):"]))
        (name,) = [n for n in memory.store.names() if n.startswith("memory/2") and "summaries" not in n]
        text = memory.store.read(name).text
        assert {"- Fact: Work is open.", "- Fact: The agent said last (50643bcf):"} <= set(text.split("\n"))
        assert "- Fact: Work is open." in indexed(memory)
        (project / ".holdfast" / "MEMORY.md").write_text("# Memory\n\n- Work is open.\n- The quagga is blue\n")
        memory.deep_dream()
        assert "- Work is open.\n" in memory.store.read("MEMORY.md").text
    assert notes.body(Payload(objective="x"), summary).endswith(summary)
