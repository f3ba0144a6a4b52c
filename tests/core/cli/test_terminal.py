"""Terminal output: widths, colour, numbers in words."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text import humanize
from holdfast_cli import terminal
from holdfast_cli.terminal import Term


class Tty(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8", *, tty: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize(
    ("tty", "env", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour__only_where_wanted(monkeypatch, tty, env, coloured):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert Term(Tty(tty=tty)).colour is coloured


def test_say__text_that_the_encoding_cannot_hold__is_shown_with_question_marks():
    stream = Tty("ascii")
    Term(stream).say("Größe")
    assert stream.text() == "Gr??e\n"


def test_json__on_a_narrow_encoding__is_ascii():
    stream = Tty("cp1252", tty=False)
    Term(stream).json({"a": "漢"})
    assert "\\u6f22" in stream.text()


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("12", 40), ("500", 120), ("x", 80), ("", 80)])
def test_width__within_bounds(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert Term(Tty(tty=False)).width == width


@given(st.text(max_size=200), st.integers(min_value=1, max_value=60))
def test_clip__any_text__is_one_line_within_the_width(text, width):
    clipped = Term(Tty(tty=False)).clip(text, width)
    assert "\n" not in clipped
    assert terminal.cells(clipped) <= max(width, 1)


@given(st.text(max_size=300))
def test_wrapped__any_text__keeps_every_word(text):
    out = Term(Tty(tty=False))
    wrapped = out.wrapped(text, first="  ")
    assert wrapped.split() == out.plain(text).split()
    assert all(terminal.cells(line) <= 80 or len(line.split()) == 1 for line in wrapped.split("\n"))


def test_table__wide_characters__columns_stay_aligned():
    lines = Term(Tty(tty=False)).table([("漢字", "x"), ("abcd", "y")]).split("\n")
    assert [terminal.cells(line) for line in lines] == [9, 9]


def test_plain__joiners_pass__what_steers_the_terminal_does_not():
    out = Term(Tty(tty=False))
    assert out.plain("👩\u200d👩\u200d👧 می\u200cخواهم") == "👩\u200d👩\u200d👧 می\u200cخواهم"
    assert out.plain("a\u202eb\ufeffe\x1b[0m\nf") == "a\\u202eb\\ufeffe\\x1b[0m f"
    assert terminal.cells("a\u200db") == 2


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (5_000_000_000, "5.0 GB"),
    ],
)
def test_size__as_people_say_it(number, text):
    assert humanize.size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "just now"), (61, "1 min ago"), (7300, "2 h ago"), (3 * 86400, "3 days ago"), (-5, "in the future")],
)
def test_ago__as_people_say_it(seconds, text):
    now = datetime(2026, 11, 21, tzinfo=UTC)
    assert humanize.ago(now - timedelta(seconds=seconds), now) == text
