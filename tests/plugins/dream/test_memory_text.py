"""Reading curated memory as items."""

import pytest
from tests.support.growth import grows_less_than

from holdfast_app.dream import memorytext
from holdfast_app.dream.grounding.sources import blocks
from holdfast_app.facts import profile


@pytest.mark.req("R011", "R012")
def test_read__whatever_marks_the_items__becomes_plain_items_under_headings():
    text = (
        "# My memory\n\n- one\n* two\n+ three\n1. four\n2) five\n- [x] six\n\n### Deeper ###\n  - seven\n    goes on\n"
        "wrapped here\n\n**Bold heading:**\n- eight\n- none\n- N/A.\n\nSome prose.\n---\n<!-- a\nremark --> \n- nine"
    )
    memory = memorytext.read(text)
    assert [(i.heading, i.text) for i in memory.items] == [
        *(("", word) for word in ("one", "two", "three", "four", "five", "six")),
        ("Deeper", "seven goes on wrapped here"),
        ("Bold heading", "eight"),
        ("Bold heading", "nine"),
    ]
    assert memory.prose == ("Some prose.",)
    assert memory.render() == (
        "# My memory\n\n- one\n- two\n- three\n- four\n- five\n- six\n\n## Deeper\n\n- seven goes on wrapped here\n"
        "\n## Bold heading\n\n- eight\n- nine\n"
    )
    assert memorytext.read(memory.render()).render() == memory.render()


def test_read__prose_of_a_person__is_taken_as_items():
    memory = memorytext.read("# Memory\nDeploys need two people.\n\n- an item\n", prose_is_item=True)
    assert [i.text for i in memory.items] == ["Deploys need two people.", "an item"]


def test_read__item_wrapped_over_very_many_lines__joined_in_one_pass():
    """Joining line by line took time with the square of their number: minutes for a file of a megabyte."""
    (item,) = memorytext.read("- first\n" + "word\n" * 100_000).items
    assert item.text == "first" + " word" * 100_000


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("# a", " ", "b"),
        ("- ", "(", " x"),
        ("# a", " #", "b"),
        ("", "<!---->", "x"),
        ("", "<!-- ", "x"),
        ("## a", "\t", "b"),
    ],
)
def test_read__a_line_made_to_be_slow__takes_time_in_proportion(before, unit, after):
    """A heading with thousands of blanks took hours, and files come with a clone."""

    def parsed(size: int) -> None:
        text = before + unit * (size // len(unit)) + after
        memorytext.read(text, prose_is_item=True)
        list(blocks(text))
        profile.parse(text)

    assert grows_less_than(16, parsed, 3_000, 24_000, noise_s=0.1)


def test_read__whole_memory_in_a_fence__is_read():
    memory = memorytext.read('```markdown title="MEMORY.md"\n# Memory\n\n- one\n```\n')
    assert (memory.title, [i.text for i in memory.items], memory.prose) == ("# Memory", ["one"], ())
