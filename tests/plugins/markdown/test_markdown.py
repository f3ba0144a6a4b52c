"""The outline of Markdown documents, and their lines, checked against a parser that we did not write."""

import time
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from holdfast_app.markdown.lines import BLANK, CODE, FENCE, HEADING, ITEM, RULE, TEXT, Lines, read_line
from holdfast_app.markdown.outline import outline

PARSER = MarkdownIt("commonmark")
#: Lines that CommonMark reads alike wherever they are. Left out is what depends on the blocks around it: code and
#: nested blocks by indentation, underlines, numbers that cannot interrupt a paragraph, quotations and HTML.
ALIKE = r"""## A|## a ##|# B|### C #|#D| ## E|  ## F|##|## foo \#|## x #y|#######|- x|* a|+ b|1. z|1) v|-x|1.z|text
|text two|```|~~~|````|```py|```a`b|~~~ `|``|***|___|* * *|- - -|-- -|**b**||   |<!-- c -->|    text"""
LINES = ALIKE.replace("\n", "").split("|")


@pytest.mark.req("R227", "R228")
@pytest.mark.parametrize("before", ["- x\n\n", "1. x\n", "- x\n  - y\n\n"])
@pytest.mark.parametrize("indent", [1, 2, 3])
def test_outline__indented_heading_after_a_list__is_one_of_the_document(before, indent):
    assert [h.text for h in outline(f"{before}{' ' * indent}## A\n- z\n").headings] == ["A"]
    assert not outline(f"- ```\n{' ' * (indent + 1)}## A\n").headings


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
def test_outline__something_never_ends__says_what_swallows_the_rest(text, unclosed):
    assert outline(text).unclosed == unclosed


@pytest.mark.req("R227")
@settings(max_examples=400)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_lines__without_nested_blocks__are_those_of_a_real_parser(lines, newline):
    text = newline.join(lines)
    tokens = PARSER.parse(text)
    items = [(t.map[0] + 1, t.info + t.markup) for t in tokens if t.type == "list_item_open"]
    fences = [(t.map[0] + 1, t.markup) for t in tokens if t.type == "fence"]
    rules = [t.map[0] + 1 for t in tokens if t.type == "hr"]
    code = [line.strip() for t in tokens if t.type == "fence" for line in t.content.splitlines() if line.strip()]
    headings = [
        (t.map[0] + 1, int(t.tag[1]), tokens[at + 1].content) for at, t in enumerate(tokens) if t.type == "heading_open"
    ]
    found = list(Lines(text))
    assert [(n.number, n.mark) for n in found if n.kind == ITEM] == items
    assert [(n.number, n.mark) for n in found if n.kind == FENCE and n.mark] == fences
    assert [n.number for n in found if n.kind == RULE] == rules
    assert [n.text.strip() for n in found if n.kind == CODE and n.text] == code
    assert [(n.number, n.level, n.text) for n in found if n.kind == HEADING] == headings


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("      - far", ITEM, "far"),
        ("\u2022 round", ITEM, "round"),
        ("\u2014 dash", ITEM, "dash"),
        ("-\u00a0no break", ITEM, "no break"),
        ("-", ITEM, ""),
        ("999. x", ITEM, "x"),
        ("2026. A year", TEXT, "2026. A year"),
        ("- [x] <!-- c --> done", ITEM, "[x]  done"),
        ("- a <!-- b", ITEM, "a <!-- b"),
        ("<!-- c -->", BLANK, ""),
        ("    ## deep", TEXT, "## deep"),
        ("<div>## A", TEXT, "<div>## A"),
        ("> - x", TEXT, "> - x"),
    ],
)
def test_read_line__as_people_and_models_write__is_read_leniently(line, kind, text):
    found = read_line(line)
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    "piece",
    [
        "- ",
        "- \n",
        "`",
        "```\n",
        "```x`\n",
        "<!--",
        "<!--\n",
        "-->",
        "> ",
        " -",
        "- a\n  ## b\n",
        "[a]: b\n",
        "**",
        "[",
    ],
)
def test_lines_and_outline__hostile_text__take_no_longer_than_its_length_asks_for(piece):
    text = piece * (60_000 // len(piece)) + "x"
    begun = time.process_time()
    deque(Lines(text), maxlen=0)
    outline(text)
    assert time.process_time() - begun < 5.0
