"""Reading curated memory as items."""

from __future__ import annotations

import pytest

from holdfast_dream import memorytext


@pytest.mark.req("R011", "R012")
def test_read__whatever_marks_the_items__becomes_plain_items_under_headings() -> None:
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


def test_read__prose_of_a_person__is_taken_as_items() -> None:
    memory = memorytext.read("# Memory\nDeploys need two people.\n\n- an item\n", prose_is_item=True)
    assert [i.text for i in memory.items] == ["Deploys need two people.", "an item"]


def test_read__item_wrapped_over_very_many_lines__joined_in_one_pass() -> None:
    """Joining line by line took time with the square of their number: minutes for a file of a megabyte."""
    (item,) = memorytext.read("- first\n" + "word\n" * 300_000).items
    assert item.text == "first" + " word" * 300_000
