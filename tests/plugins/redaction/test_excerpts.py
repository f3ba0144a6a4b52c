"""A secret at the place where a long text is shortened: no rule knows half of it, so it must not be cut."""

import pytest

from holdfast_app.message_formats.leaves import MAX_CALL_CHARS, MAX_RESULT_CHARS, call_text, clip
from holdfast_redaction import redact

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
PARTS = (TOKEN[:8], TOKEN[-8:])


@pytest.mark.parametrize("between", [" ", "\n", '"', ","])
def test_clip__secret_at_the_cut__no_part_of_it_is_left(between):
    rest = f"{between}y" * MAX_RESULT_CHARS
    for before in range(1_860, 1_935, 3):
        start = "x" * before + between + TOKEN
        for text in (start + rest, rest[::-1] + start[::-1].replace(TOKEN[::-1], TOKEN)):
            excerpt = clip(text)
            assert len(excerpt) <= MAX_RESULT_CHARS
            assert not [part for part in PARTS if part in redact(excerpt)], before


def test_call_text__secret_at_the_end_of_the_first_line__no_part_of_it_is_left():
    for before in range(MAX_CALL_CHARS - 60, MAX_CALL_CHARS):
        said = redact(call_text("Bash", {"command": "x" * before + f" {TOKEN} " + "y " * 200}))
        assert not [part for part in PARTS if part in said], before
