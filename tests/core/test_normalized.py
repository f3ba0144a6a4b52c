"""Normalisation takes linear time, whatever marks a text piles up."""

import sys
import unicodedata

from tests.support.growth import grows_less_than

from holdfast.text.plain import normalized
from holdfast.text.stored import duplicate_key
from holdfast_app.authorship import hostile
from holdfast_app.privacy.transforms import Needle, any_in_bytes

PILE = "\u0301\u0316"


def test_normalized__every_combining_character__is_one_that_is_counted():
    marks = [char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.combining(char)]
    assert len(normalized("NFC", "a" + "".join(char * 1_000 for char in marks))) < 100


def test_normalized__megabytes_of_marks__take_time_in_proportion():
    """A fact, and a purge over a message, took minutes for 300 kB and held the interpreter meanwhile."""

    def work(size: int) -> None:
        text = "use a" + PILE * (size // 2)
        duplicate_key(text)
        hostile.instructs(text)
        any_in_bytes([Needle("Zelda Quimby")], text.encode())

    assert grows_less_than(16, work, 8_000, 64_000, noise_s=0.1)
