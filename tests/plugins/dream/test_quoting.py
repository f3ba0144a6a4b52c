"""Source lines that replace draft lines without proof."""

from collections.abc import Callable

import pytest

from holdfast import Holdfast
from holdfast.hooks import hookimpl
from holdfast.models import DreamDraft, DreamSources
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

    def run(said: list[str], *draft: str, memory: str = "") -> tuple[DreamResult, list[str]]:
        folder = project / ".holdfast"
        Holdfast.open(project, clock=clock).close()  # what is typed from now on is the user's own
        (folder / "memory").mkdir(parents=True, exist_ok=True)
        (folder / NOTE).write_text("# Daily Memory: 2026-11-20\n\n" + "".join(f"- {line}\n" for line in said))
        if memory:
            (folder / "MEMORY.md").write_text(f"# Memory\n\n{memory}")
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


def test_dream__source_is_already_kept__is_not_quoted_again(dream):
    said = "Elif reviews what Jonas writes"
    result, items = dream([said, "The queue runs on Postgres 16"], said, "Jonas reviews what Elif writes")
    assert (items, result.quoted) == ([said], ())


def test_dream__source_contradicts_a_kept_line__is_not_quoted(dream):
    old, new = "The lease time is 60 seconds", "The lease time is 15 seconds"
    result, items = dream([f"Fact: {old}", f"Fact: {new}"], new, "The lease time is always 60 seconds")
    assert (items, result.quoted) == ([new], ())


def test_dream__invention_about_nothing_in_the_notes__quotes_nothing(dream):
    draft = "Domenica bought 14 printers for Oslo"
    result, items = dream(["Fact: The queue runs on Postgres 16"], "The queue runs on Postgres 16", draft)
    assert [one.text for one in result.refused] == [draft]
    assert (items, result.quoted) == (["The queue runs on Postgres 16"], ())


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
