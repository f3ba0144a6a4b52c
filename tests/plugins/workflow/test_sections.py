"""Entries under their anchors: everything else stays byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.api import MAX_DOCUMENT_CHARS, Corrupt, CuratedEntry, Refused, ValidationRequest
from holdfast.config.layout import Surface
from holdfast_app.markdown.outline import outline
from holdfast_app.workflow import Anchors
from holdfast_app.workflow.sections import complete, insert, locate
from holdfast_app.workflow.three import ANCHORS, TITLES


def put(text: str, entry: str) -> str:
    return insert(text, {"## A": [CuratedEntry(text=entry)]}, name="doc.md").text


@pytest.mark.req("R211", "R237")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## A", "## A\n\n- n\n"),
        ("## A\n## B", "## A\n\n- n\n\n## B"),
        ("## A\n\n## B\n", "## A\n\n- n\n\n## B\n"),
        ("## A\n- q", "## A\n- q\n- n\n"),
        ("## A\n- q\n\n\n## B", "## A\n- q\n- n\n\n\n## B"),
        ("## A\n\n- None yet\n\n## B", "## A\n\n- n\n\n## B"),
        ("## A\n\ntext\n\n## B", "## A\n\ntext\n\n- n\n\n## B"),
        ("## A\n- q\n### S\n- z", "## A\n- q\n- n\n### S\n- z"),
        ("\ufeff## A ##\r\n\r\n- q\r\n\r\n## B\r\n", "\ufeff## A ##\r\n\r\n- q\r\n- n\r\n\r\n## B\r\n"),
        ("## B\r\n## A", "## B\r\n## A\r\n\r\n- n\r\n"),
        ("A\n---\n- q\n", "A\n---\n- q\n- n\n"),
        ("## A\n<div>\n- q", "## A\n<div>\n- q\n\n- n\n"),
        ("## B\n\t- x \n\n   ## A\n* q  \n", "## B\n\t- x \n\n   ## A\n* q  \n- n\n"),
    ],
)
def test_insert__every_shape_of_section__adds_one_line_and_keeps_the_rest(before, after):
    assert put(before, "n") == after


@pytest.mark.req("R227", "R228", "R242")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# T\n", "`## A` is missing"),
        ("```\n## A\n```\n", "`## A` is missing"),
        ("## A\n## A\n", "a duplicate"),
        ("## A\n```\n- x\n", "never ends"),
        ("x" * (MAX_DOCUMENT_CHARS + 1), "more than"),
    ],
    ids=["none", "fence", "twice", "unclosed", "huge"],
)
def test_locate__structure_is_broken__says_what_and_changes_nothing(text, said):
    with pytest.raises(Corrupt, match=said):
        locate(text, ["## A"], "doc.md")
    with pytest.raises(Corrupt, match=said):
        put(text, "n")


LINES = st.sampled_from(
    ["## A", "## B", "### S", "- x", "  more", "text", "```", "", "<!-- c -->", "<!--", "-->", "> q", "1. n", "---",
     "<div>"]
)  # fmt: skip


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_insert__any_document__only_adds_its_line_and_is_idempotent(lines, newline, ended):
    text = newline.join(lines) + (newline if ended else "")
    try:
        done = put(text, "entry")
    except (Corrupt, Refused):
        return
    at = done.index("- entry")
    without = done[:at] + done[at + len("- entry") :]
    assert [line for line in without.splitlines() if line] == [line for line in text.splitlines() if line]
    assert newline not in text or newline == "\n" or "\n" not in done.replace(newline, "")
    assert [h.text for h in outline(done).headings] == [h.text for h in outline(text).headings]
    assert put(done, "entry") == done


def judge(text: str, surface: str = "patterns") -> list[tuple[str, int | None, str]]:
    found = Anchors().on_validate(ValidationRequest(surface, f"{surface}.md", text))
    return [(f.rule.removeprefix("anchors/"), f.line, str(f.severity)) for f in found]


WHOLE = complete(None, title=TITLES[Surface.PATTERNS], anchors=ANCHORS[Surface.PATTERNS], name="x")
MISSING = ("missing", None, "error")


@pytest.mark.req("R227", "R228", "R229")
@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("   ## Gotchas", []),
        ("## Gotchas ##  ", []),
        ("Gotchas\n-------", []),
        ("    ## Gotchas", [MISSING]),
        ("### Gotchas", [MISSING]),
        ("```\n## Gotchas\n```", [MISSING]),
        ("<!--\n## Gotchas\n-->", [MISSING]),
        ("> ## Gotchas", [MISSING]),
        ("## GOTCHAS", [MISSING, ("case", 7, "warning")]),
        ("## Gotchas\n- a\n\n## Gotchas", [("duplicate", 10, "error")]),
        ("## Gotchas\n- a\n```\n## Gotchas\n```", []),
        ("## Gotchas\n- a\n\n## gotchas", [("case", 10, "warning")]),
        ("## Mine\n- a\n\n## Mine\n- b\n\n## Gotchas", [("repeated", 10, "warning")]),
        ("## Gotchas\n### N\n- a\n\n## Mine\n### N\n", []),
    ],
)
def test_check__anchor_written_in_some_way__is_judged_as_markdown_reads_it(written, found):
    assert judge(WHOLE.replace("## Gotchas", written)) == found


@pytest.mark.req("R229")
@pytest.mark.parametrize(
    ("body", "empty"),
    [
        ("", True),
        ("<!-- later -->\n", True),
        ("<!-- a\n\n## x\n-->\n", True),
        ("- None yet\n", False),
        ("### Sub\ntext\n", False),
        ("```\n```\n", False),
    ],
)
def test_check__section_without_content__is_a_warning(body, empty):
    text = WHOLE.replace("## Gotchas\n\n- None yet\n", f"## Gotchas\n{body}")
    assert judge(text) == ([("empty", 7, "warning")] if empty else [])
