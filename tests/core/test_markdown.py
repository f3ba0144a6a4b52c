"""Headings as CommonMark finds them, checked against a parser that we did not write."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.markdown.outline import outline

markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is the cross-check")

PARSER = markdown_it.MarkdownIt("commonmark")
#: What changes the block structure, and what does not.
PIECES = r"""## A|## a ##|# B|### C #|#D| ## E|    ## F|%## G|- x|- |-|  - y|1. z|2. w|10) v|> q|> ## Q|>|text|text two
|    code|```|~~~|````|```py|  ```|    ```|- ```|> ```|---|===|- - -|***|___|--|=|<!-- c -->|<!-- open|close -->|<div>
|</div>|<b>|<b> x|<script>|</script>|<?p|?>||   |%tab|-%x|     ## deep|- ## item|1. ## h|* a|+ b|\## esc|##|##%T|Setext
|> lazy|- > n|> - m|  > o|[a]: /url|[a]: /url 'x'|      - far|-     five|1.  two|## foo \#|## x #y"""
BLOCKS = PIECES.replace("\n", "").replace("%", "\t").split("|")


def theirs(text: str) -> list[tuple[int, str, int]]:
    tokens = PARSER.parse(text)
    return [
        (int(token.tag[1]), " ".join(tokens[at + 1].content.split()), token.map[0] + 1)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def ours(text: str) -> list[tuple[int, str, int]]:
    return [(h.level, " ".join(h.text.split()), h.line) for h in outline(text).headings]


@pytest.mark.req("R227", "R228")
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(BLOCKS), max_size=9), st.sampled_from(["\n", "\r\n"]))
def test_outline__any_blocks__has_the_headings_of_a_real_parser(lines: list[str], newline: str) -> None:
    assert ours(newline.join(lines)) == theirs(newline.join(lines))


@pytest.mark.req("R227")
@pytest.mark.parametrize("before", ["- x\n\n", "1. x\n", "- x\n  - y\n\n"])
@pytest.mark.parametrize("indent", [1, 2, 3])
def test_outline__indented_heading_after_a_list__is_one_of_the_document(before: str, indent: int) -> None:
    assert [h.text for h in outline(f"{before}{' ' * indent}## A\n- z\n").headings] == ["A"]
    assert not outline(f"- ```\n{' ' * (indent + 1)}## A\n").headings


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_outline__offsets__cut_the_text_where_headings_begin_and_end(end: str) -> None:
    text = "\ufeff## A ##" + end + "body" + end * 2 + "Two" + end + "---" + end + "- x"
    first, second = outline(text).headings
    assert text[first.start : first.end] == "## A ##" + end
    assert text[second.start : second.end] == "Two" + end + "---" + end
    assert (second.level, second.text, second.line) == (2, "Two", 4)
    assert [text[at:] for at in outline(text).items] == ["- x"]


@pytest.mark.parametrize(
    ("text", "unclosed"),
    [
        ("## A\n```\n## B\n", ("fence", 2)),
        ("a\n\n<!--\n## B\n", ("html", 3)),
        ("- ```\n  ## B\n", None),
        ("<div>\n## B\n", None),
        ("```\n```\n", None),
    ],
)
def test_outline__something_never_ends__says_what_swallows_the_rest(text: str, unclosed: object) -> None:
    assert outline(text).unclosed == unclosed


@pytest.mark.parametrize(
    "text",
    [
        "- " * 60_000 + "x",
        "> " * 60_000,
        "-" + " -" * 60_000 + "x",
        "<!--\n" * 20_000,
        "<a " + "b " * 50_000 + "\n",
        "[a]: b\n" * 15_000,
    ],
    ids=["lists", "quotes", "breaks", "comments", "tags", "references"],
)
def test_outline__hostile_text__takes_no_longer_than_its_length_asks_for(text: str) -> None:
    begun = time.process_time()
    outline(text)
    assert time.process_time() - begun < 5.0
