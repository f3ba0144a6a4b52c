"""What the anchor validator says of documents as people leave them."""

import pytest

from holdfast.config.layout import Surface
from holdfast.validation import ValidationRequest
from holdfast_app.workflow import Anchors
from holdfast_app.workflow.sections import complete
from holdfast_app.workflow.three import ANCHORS, TITLES


def judge(text: str, surface: str = "patterns") -> list[tuple[str, int | None, str]]:
    found = Anchors().on_validate(ValidationRequest(surface, f"{surface}.md", text))
    return [(f.rule.removeprefix("anchors/"), f.line, str(f.severity)) for f in found]


def initial(surface: Surface) -> str:
    return complete(None, title=TITLES[surface], anchors=ANCHORS[surface], name="x")


WHOLE = initial(Surface.PATTERNS)


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
