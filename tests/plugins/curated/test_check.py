"""Whole documents: shape, limits, duplicates, what is not judged, and how long it takes."""

from pathlib import Path

import pytest
from tests.support.growth import grows_less_than

from holdfast.api import Finding, PluginContext, ValidationRequest
from holdfast.config.layout import Surface
from holdfast_app.curated import CuratedMemory


def check(text: str, *, stored: bool = False, **settings: object) -> list[Finding]:
    plugin = CuratedMemory(context=PluginContext("curated", settings, "", ""))
    return list(plugin.on_validate(ValidationRequest("memory", "MEMORY.md", text, stored=stored)))


def told(text: str, **settings: object) -> list[tuple[str, int | None]]:
    return [(f.rule, f.line) for f in check(text, **settings)]


@pytest.mark.req("R011", "R012")
@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "# Memory\n", "- one\n- two\n", "\ufeff# Memory\r\n\r\n- one\r\n", "##\n-\ttab\n",
     "# Memory\n\n- one\n\n## Rules\n\n- two\n\n### Detail ##\n- three\n",
     "<!-- kept by hand -->\n- one <!-- see #12 -->\n<!-- 2026-11-21: deployed\nUser: hi\n-->\n- two\n"],
)  # fmt: skip
def test_check__items_under_headings__pass(text):
    assert check(text) == []


@pytest.mark.req("R011")
@pytest.mark.parametrize(
    "text",
    ["# Memory\nThe service is in Frankfurt\n", "- one\n* two\n", "- one\n1. two\n", "- one\n  - nested\n",
     "- one\n  continued\n", "- one\n-\n", "- one\n- <!-- nothing -->\n", "- one\n---\n", "- one\n- - -\n",
     "- one\n2026. two\n", "- one\n# Another title\n", "- one\n| a | b |\n"],
)  # fmt: skip
def test_check__line_that_is_no_item__is_refused(text):
    assert told(text) == [("curated/bullets", 2)]
    assert told(text, bullets=False) == []


@pytest.mark.req("R101")
def test_check__more_items_than_allowed__refuses_the_first_beyond():
    text = "# Memory\n" + "".join(f"- fact number {i}\n" for i in range(201))
    assert told(text) == [("curated/items", 202)]
    assert told(text, max_items=201) == []


@pytest.mark.req("R101")
def test_check__duplicate__is_refused_by_the_key_of_facts():
    text = "- Cafe\u0301 is the staging host\n## Again\n- CAFÉ is the staging host\n- Café is the  staging host\n"
    assert told(text) == [("curated/duplicate", 3)]


@pytest.mark.req("R108")
@pytest.mark.parametrize("opening", ["```", "<!-- "])
def test_check__block_that_never_ends__cannot_hide_a_diary(opening):
    found = check(f"- one\n{opening}\n- Today we deployed\n")
    assert ("curated/unclosed", 2, "error") in [(f.rule, f.line, f.severity) for f in found]


@pytest.mark.req("R176")
def test_check__stored_text__warns_except_for_machine_paths():
    text = "prose\n- Today we deployed\n- Maybe it works\n- Notes are in /home/x/notes\n"
    assert {f.severity for f in check(text)} == {"error"}
    assert {f.rule for f in check(text, stored=True) if f.severity == "error"} == {"curated/machine-path"}
    assert told(text) == [(f.rule, f.line) for f in check(text, stored=True)]


@pytest.mark.req("R098")
@pytest.mark.parametrize("surface", [s for s in Surface if s not in ("memory", "user")])
def test_plugin__other_surface__is_not_its_business(surface):
    text = "Maybe.\nToday we deployed from /home/x\nUser: hi\n"
    plugin = CuratedMemory(context=PluginContext("curated", {}, "", ""))
    assert plugin.on_validate(ValidationRequest(surface, "x", text)) == ()


@pytest.mark.parametrize(
    "unit",
    [
        "The service keeps its data in /srv and restarts on failure. ",
        "was ",
        "the a b ",
        "“",
        "`",
        "<!--",
        "/home ",
        "- ",
    ],
)
def test_check__a_long_text__takes_time_in_proportion(unit):
    """Eight times the text may take eight times as long, and some; a quadratic rule would take sixty-four times."""

    def checked(size: int) -> None:
        line = "- " + (unit * (1900 // len(unit) + 1))[:1900] + "\n"
        text = line * (size // len(line)) + "- " + unit * (size // len(unit))
        check(text)

    assert grows_less_than(24, checked, 25_000, 200_000, noise_s=0.05)


HERE = Path(__file__).parent


def lines(name: str) -> list[str]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


STANDING = lines("standing.txt")
REFUSED = [tuple(part.strip() for part in line.split(" | ", 1)) for line in lines("refused.txt")]


@pytest.fixture(scope="module")
def plugin() -> CuratedMemory:
    return CuratedMemory(context=PluginContext("curated", {}, "", ""))


def test_curated__standing_facts__pass(plugin):
    asked = [ValidationRequest("memory", "MEMORY.md", f"- {line}\n") for line in STANDING]
    assert [one.text for one in asked if plugin.on_validate(one)] == []


@pytest.mark.req("R108", "R154", "R155", "R156", "R158", "R173", "R176")
@pytest.mark.parametrize("surface", ["memory", "user"])
def test_curated__lines_that_will_not_stand__are_refused(plugin, surface):
    for rule, line in REFUSED:
        text = f"# Memory\n\n## Standing\n- Python 3.11 is the minimum\n- {line}\n"
        [finding] = plugin.on_validate(ValidationRequest(surface, f"{surface}.md", text))
        assert (finding.rule, finding.severity, finding.line) == (f"curated/{rule}", "error", 5), line
        assert finding.message
        assert finding.fix


SENTENCES = (HERE.parents[1] / "data" / "curated" / "sentences.tsv").read_text(encoding="utf-8").splitlines()


def test_curated__sentences_written_without_knowledge_of_the_rules__go_where_they_belong(plugin):
    for where, line in (row.split("\t") for row in SENTENCES):
        found = plugin.on_validate(ValidationRequest("memory", "MEMORY.md", f"- {line}\n"))
        assert [one.severity for one in found] == ([] if where == "keep" else ["error"]), line
        assert all("daily note" in str(one.fix) for one in found), line
