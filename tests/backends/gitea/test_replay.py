"""The laws of markers and of replaying, over anything that comments can hold."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing import strategies
from holdfast_gitea import marker
from holdfast_gitea.replay import BLOCK, NEXT, VERSION, Segment, replay, starts_whole
from holdfast_gitea.wire.models import Comment

AT = datetime(2026, 3, 1, tzinfo=UTC)


def comment(number: int, body: str) -> Comment:
    return Comment(id=number, issue=1, body=body, author="a", url=f"#{number}", created_at=AT, updated_at=AT)


def record(record_id: str, kind: str, base: str, **more: str | int) -> str:
    return marker.frame("Note.", "text", id=record_id, kind=kind, base=base, **more)


@given(text=st.one_of(strategies.documents(), st.text("`\n ab", max_size=40)), note=strategies.categories())
def test_framed__any_text__comes_back_and_is_intact(text: str, note: str) -> None:
    body = marker.frame(note, text, id="r1", kind="ver", base="")
    found = marker.framed(body)
    assert found is not None
    assert (found.text, found.intact, found.id) == (text, True, "r1")
    assert "base" not in found.fields


@given(text=strategies.documents(), place=st.integers(0, 400), letter=st.sampled_from("x`\n- "))
def test_framed__a_letter_put_anywhere__never_another_text_that_is_intact(text: str, place: int, letter: str) -> None:
    body = marker.frame("Note.", text, id="r1", kind="ver")
    place %= len(body) + 1
    found = marker.framed(body[:place] + letter + body[place:])
    assert found is None or not found.intact or found.text == text


def test_fold__log_goes_on__nothing_counts_in_the_old_issue_after_that() -> None:
    old = [
        record("r0", BLOCK, ""),
        record("n", NEXT, "r0", to=2),
        record("r1", BLOCK, "r0"),
        record("m", NEXT, "r0", to=3),
    ]
    new = [record("r2", VERSION, "n", root=1), record("r3", VERSION, "n", root=1), record("r4", BLOCK, "n")]
    first = Segment(number=1, comments=tuple(comment(n, body) for n, body in enumerate(old, 1)))
    second = Segment(number=2, comments=tuple(comment(n, body) for n, body in enumerate(new, 10)))
    both, newer = replay([first, second]), replay([second])
    assert [r.id for r in both.accepted] == ["r0", "n", "r2", "r4"]
    assert [r.id for r in both.late] == ["r1", "m", "r3"]
    assert (both.sealed, both.gaps, both.head) == ({1: 2}, (), "r4")
    assert [r.id for r in newer.accepted] == ["r2", "r4"]
    assert (newer.gaps, newer.head) == ((), "r4")
    assert starts_whole(second)
    assert not starts_whole(first)
