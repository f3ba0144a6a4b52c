"""Grounding: the labelled set shows what escapes and what is dropped; laws hold for any text; time is linear."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.growth import grows_less_than

from holdfast.api import Finding, PluginContext, Severity, ValidationRequest
from holdfast_app.dream import Grounding
from holdfast_app.dream.grounding import Grounded, ground
from holdfast_app.dream.quoting import quotations

DATA = Path(__file__).parents[2] / "data" / "grounding"
WORLDS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.toml"))}
NOTE = (
    "memory/2026-11-20.md",
    """# 2026-11-20

## Infrastructure
- Staging runs Postgres 15.4 on port 5433.
- Production runs Postgres 16.2; the pool has 40 connections.
- The gateway timeout is 500 ms, with three retries.
- Ana Ruiz approved the budget of $1,200. Ben Otto reviewed the migration.
- Backups do not include the media bucket.
- The runbook is at https://wiki.acme.example/ops/runbook and the limits are in src/limits.py.
- Demo tomorrow at 14:30.
""",
)
LINES = [line for line in NOTE[1].splitlines() if line.strip()]


def sources(world: dict[str, Any]) -> list[tuple[str, str]]:
    return [(source["name"], source["text"]) for source in world["sources"]]


def one(line: str, *notes: tuple[str, str]) -> Grounded:
    return ground([line], notes or [NOTE])[0]


# --- the labelled set -----------------------------------------------------------------------------------------

WORLDS |= {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((DATA.parent / "grounding_rounds").glob("*.toml"))
}


@cache
def judged(name: str, label: str) -> tuple[Grounded, ...]:
    """The lines of a world with a label."""
    lines = WORLDS[name][label]
    return ground(lines if label == "grounded" else [text for _, text in lines], sources(WORLDS[name]))


@pytest.mark.req("R028", "R029")
def test_ground__labelled_fabrications__none_gets_in_without_a_judge():
    lines = [line for name in WORLDS for label in ("hard", "sly") for line in judged(name, label)]
    assert len(lines) >= 600
    assert [line.text for line in lines if line.answer == "supported"] == []


@pytest.mark.req("R028", "R029")
def test_ground__labelled_hard_inventions__a_judge_is_not_even_asked_about_most():
    lines = [line for name in WORLDS for line in judged(name, "hard")]
    assert sum(line.answer == "invented" for line in lines) > 0.85 * len(lines)


@pytest.mark.req("R028", "R029")
def test_ground__labelled_true_lines__nearly_all_are_replaced_by_a_quotation():
    lost = total = invented = 0
    for name, world in WORLDS.items():
        refused = [line for line in judged(name, "grounded") if line.answer != "supported"]
        quoted = quotations([line.text for line in refused], sources(world))
        lost += sum(line.text not in quoted for line in refused)
        invented += sum(line.answer == "invented" for line in refused)
        total += len(world["grounded"])
    assert total >= 600
    assert lost < 0.05 * total
    assert invented < 0.25 * total  # a judge may accept the others


@pytest.mark.req("R028")
def test_quotations__of_labelled_lines__are_supported_themselves():
    for world in WORLDS.values():
        lines = [*world["grounded"], *(text for _, text in world["sly"])]
        quoted = {f"- {text}" for texts in quotations(lines, sources(world)).values() for text in texts}
        assert [line.text for line in ground(quoted, sources(world)) if line.answer != "supported"] == []


@pytest.mark.req("R028")
def test_ground__a_sentence_over_several_lines__is_supported_at_its_first_line():
    note = ("memory/2026-11-21.md", "Lunch was late. The paper was\nordered on Monday.\nNobody is sure.\n")
    (judged,) = ground(["- The paper was ordered on Monday. Nobody is sure"], [note])
    assert (judged.answer, [support.line for support in judged.supports]) == ("supported", [1])


@pytest.mark.req("R029")
@pytest.mark.parametrize(
    "line",
    [
        "- A budget of 1200 dollars was approved by Ana",
        "- Media bucket isn't part of the backups",
        "- The limits live in limits.py; runbook: wiki.acme.example/ops/runbook",
        "- The demo begins at 14:30",
        "- Version v16.2 of Postgres is in production",
    ],
)
def test_ground__a_paraphrase_with_the_literals_of_its_source__is_left_to_a_judge(line):
    judged = one(line)
    assert judged.answer == "unproven", judged.inventions
    assert judged.supports[0].document == NOTE[0]


def test_ground__literals_from_two_sources__are_misattributed_unless_one_has_both():
    notes = [("a.md", "- Faraz leaves on 2026-10-05."), ("b.md", "- Matching runs since 2026-09-14.")]
    line = "- Matching runs since 2026-09-14 and stops on 2026-10-05"
    assert [kind for kind, _ in ground([line], notes)[0].inventions] == ["misattributed"]
    both = ("c.md", "- 2026-09-14: began\n- 2026-10-05: ended\n")
    (judged,) = ground([line], [*notes, both])
    assert (judged.answer, {support.document for support in judged.supports}) == ("unproven", {"c.md"})


@pytest.mark.req("R028")
@pytest.mark.parametrize(("line", "answer"), [("## Where it runs", "supported"), ("## Port 9999", "invented")])
def test_ground__a_heading__is_only_checked_for_its_literals(line, answer):
    assert one(line).answer == answer


@pytest.mark.req("R028")
def test_ground__a_line_too_long_to_be_read__is_refused_unless_a_source_has_it():
    line = "- " + "production " * 2000 + "900"
    assert [kind for kind, _ in one(line).inventions] == ["length"]
    assert not one(line, ("MEMORY.md", line)).inventions


# --- laws -----------------------------------------------------------------------------------------------------

HARD_TEXT = st.text(max_size=200) | st.sampled_from(
    ["1" * 5000, "`" * 500, "\"" * 501, "-" * 3000, "1,1" * 800, "a/" * 900, "٣٫١٤", "２０２６年１３月４５日",
     "99/99/9999",
     "31 February", "0000-00-00", "9999-12-31", "\x00\x1b\u202e", "v" + "1." * 300, "#" * 100, "| | |", "<!-- " * 50,
     "1e999", "½ ² ③", "$" * 99, "a@b" * 300, "--", "'" * 77]
)  # fmt: skip


@pytest.mark.req("R028")
@settings(max_examples=60)
@given(lines=st.lists(HARD_TEXT, max_size=4), notes=st.lists(st.tuples(st.text(max_size=20), HARD_TEXT), max_size=3))
def test_ground__any_text__never_raises(lines, notes):
    assert [g.text for g in ground(lines, notes)] == lines


@pytest.mark.req("R028")
@settings(max_examples=60)
@given(text=st.lists(HARD_TEXT, max_size=5).map("\n".join))
def test_ground__every_line_of_a_source__is_grounded(text):
    assert not any(line.inventions for line in ground(text.splitlines(), [("MEMORY.md", text)]))


FRESH = st.one_of(
    st.integers(10_000, 10**9).map(str),
    st.integers(10**4, 10**6).map(lambda n: f"{n} ms"),
    st.integers(10, 10**6).map(lambda n: f"https://fresh{n}.example/x"),
    st.integers(10, 10**6).map(lambda n: f"FRESH_NAME_{n}"),
    st.integers(10, 10**6).map(lambda n: f"src/fresh{n}.py"),
    st.integers(10, 10**6).map(lambda n: f"fresh{n}@acme.example"),
    st.integers(20, 90).map(lambda n: f"v{n}.7.1"),
)


@pytest.mark.req("R029")
@settings(max_examples=80)
@given(line=st.sampled_from(LINES), token=FRESH, before=st.booleans())
def test_ground__a_fresh_token_in_a_grounded_line__is_always_found(line, token, before):
    body = line.lstrip("-# ")
    changed = f"- {token}: {body}" if before else f"- {body} ({token})"
    assert one(changed).inventions, changed


@pytest.mark.parametrize("unit", ["12:00", "a@b.cABC", "a#", " 337 714", "`", "a.", "x and "])
def test_ground__a_note_made_to_be_slow__is_read_in_proportion(unit):
    """A word with a thousand colons raised RecursionError, which failed each dream."""

    def grounded(size: int) -> None:
        ground(
            ["- The cache holds 12 keys"], [("n.md", "- The cache holds 12 keys\n- the " + unit * (size // len(unit)))]
        )

    assert grows_less_than(16, grounded, 8_000, 64_000, noise_s=0.1)


SOURCES = (("memory/2026-11-20.md", "# 2026-11-20\n\n- The cache of the gateway holds 300 entries.\n"),)


def check(
    text: str, *, surface: str = "memory", sources: tuple[tuple[str, str], ...] = SOURCES, **settings: object
) -> list[Finding]:
    plugin = Grounding(context=PluginContext("grounding", settings, "", ""))
    return list(plugin.on_validate(ValidationRequest(surface, "MEMORY.md", text, sources)))


@pytest.mark.req("R028", "R029")
@pytest.mark.parametrize("surface", ["memory", "user", "profile"])
def test_on_validate__an_invented_number__one_error_with_line_token_and_nearest_source(surface):
    (finding,) = check(
        "# Memory\n\n- The cache of the gateway holds 300 entries\n- The gateway cache holds 900 entries\n",
        surface=surface,
    )
    assert finding.rule == "grounding/number"
    assert finding.severity is Severity.ERROR
    assert finding.line == 4
    assert "`900`" in finding.message
    assert "memory/2026-11-20.md line 3" in finding.message
    assert finding.replacement is None


@pytest.mark.req("R028")
def test_on_validate__words_of_its_own__are_unproven_until_a_judge_admits_them():
    line = "- The gateway caches 300 entries"
    (finding,) = check(f"{line}\n")
    assert finding.rule == "grounding/unproven"
    assert "cannot be proved" in finding.message
    request = ValidationRequest("memory", "MEMORY.md", f"{line}\n", SOURCES, entailed=(line,))
    assert list(Grounding(context=PluginContext("grounding", {}, "", "")).on_validate(request)) == []
    (finding,) = Grounding(context=PluginContext("grounding", {"strict": True}, "", "")).on_validate(request)
    assert finding.rule == "grounding/unsupported"


@pytest.mark.req("R028")
@pytest.mark.parametrize(("surface", "sources"), [("memory", ()), ("daily", SOURCES), ("diary", SOURCES)])
def test_on_validate__no_sources_or_another_surface__says_nothing(surface, sources):
    assert check("- 900 entries at https://nowhere.example\n", surface=surface, sources=sources) == []
