"""Source lines that replace draft lines without proof."""

from collections.abc import Callable

import pytest

from holdfast.api import DreamDraft, DreamSources, Holdfast, hookimpl
from holdfast_app.config import Config, DreamConfig
from holdfast_app.dream.dreamlog import DreamResult
from holdfast_app.dream.quoting import quotations

NOTE = "memory/2026-11-20.md"


class Dreamer:
    """Answers the items of ``draft``."""

    def __init__(self, *draft: str) -> None:
        self.draft = draft

    @hookimpl
    def on_dream(self, sources: DreamSources) -> DreamDraft:
        return DreamDraft(memory="".join(f"- {line}\n" for line in self.draft), diary="Tidied up.")


@pytest.fixture
def dream(project, clock) -> Callable[..., tuple[DreamResult, list[str]]]:
    """``dream(note, *draft)``: the result of a dream of a note with these items, and the items of the new memory."""

    def run(said: list[str], *draft: str) -> tuple[DreamResult, list[str]]:
        folder = project / ".holdfast"
        Holdfast.open(project, clock=clock).close()  # what is typed from now on is the user's own
        (folder / "memory").mkdir(parents=True, exist_ok=True)
        (folder / NOTE).write_text("# Daily Memory: 2026-11-20\n\n" + "".join(f"- {line}\n" for line in said))
        config = Config(zone="UTC", dream=DreamConfig(plugin="scripted"))
        with Holdfast.open(project, config=config, clock=clock, plugins=[("scripted", Dreamer(*draft))]) as opened:
            result = opened.deep_dream()
        text = (folder / "MEMORY.md").read_text() if (folder / "MEMORY.md").exists() else ""
        return result, [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]

    return run


@pytest.mark.parametrize(
    ("said", "draft"),
    [
        ("Elif reviews what Jonas writes.", "Jonas reviews what Elif writes"),
        ("Omar may leave the team in May.", "Omar leaves the team in May"),
        ("Juno is allergic to hazelnuts; Bas tolerates them.", "Hazelnuts: Juno is allergic, Bas is not"),
        (
            "Rate limit: 30 requests a minute per key, 300 for partners.",
            "Rate limit: 30 requests a minute, 600 for partners",
        ),
    ],
)
def test_dream__line_without_proof__its_source_is_kept_word_for_word(dream, project, said, draft):
    result, items = dream(
        [f"Fact: {said}", "Fact: The queue runs on Postgres 16"], draft, "The queue runs on Postgres 16"
    )
    assert items == ["The queue runs on Postgres 16", said]
    assert [(one.text, one.reason) for one in result.quoted] == [(said, f"instead of: {draft}")]
    assert [one.text for one in result.refused] == [draft]
    assert (
        f"What was quoted from the notes\n\n- {said} (instead of: {draft})"
        in (project / ".holdfast" / result.diary).read_text()
    )


QUEUE = "The queue runs on Postgres 16"


@pytest.mark.parametrize(
    ("said", "draft"),
    [
        (
            ["Elif reviews what Jonas writes", QUEUE],
            ["Elif reviews what Jonas writes", "Jonas reviews what Elif writes"],
        ),
        (
            ["Fact: The lease time is 60 seconds", "Fact: The lease time is 15 seconds"],
            ["The lease time is 15 seconds", "The lease time is always 60 seconds"],
        ),
        ([f"Fact: {QUEUE}"], [QUEUE, "Domenica bought 14 printers for Oslo"]),
    ],
    ids=["it is kept already", "it contradicts a kept line", "the notes say nothing of it"],
)
def test_dream__line_without_proof__no_source_is_quoted(dream, said, draft):
    result, items = dream(said, *draft)
    assert (items, result.quoted) == (draft[:1], ())
    assert [one.text for one in result.refused] == draft[1:]


@pytest.mark.parametrize(
    "line",
    [
        "Next step: Elif reviews what Jonas writes",
        "Blocker: Elif reviews what Jonas writes",
        "Elif reviews what Jonas writes" + " and more of it" * 40,
        "Elif reviews what Jonas writes with [REDACTED:token:ab12]",
        "**Elif reviews what Jonas writes**",
    ],
)
def test_quotations__open_work_long_or_redacted_lines__are_not_quoted(line):
    assert quotations(["- Jonas reviews what Elif writes"], [(NOTE, f"- {line}\n")]) == {}


def test_quotations__line_merged_from_two__quotes_both():
    note = "- Cars pay 62 EUR on the ferry.\n- Dogs travel free on the ferry.\n- Tea is served at noon.\n"
    (found,) = quotations(["- On the ferry all cars pay 62 EUR and dogs travel free"], [(NOTE, note)]).values()
    assert set(found) <= {"Cars pay 62 EUR on the ferry.", "Dogs travel free on the ferry."}
