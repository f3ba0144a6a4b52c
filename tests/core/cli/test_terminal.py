"""Terminal output: widths, colour, numbers in words."""

import io

import pytest

from holdfast_cli import terminal
from holdfast_cli.terminal import Term


@pytest.mark.parametrize(
    ("tty", "env", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour__only_where_wanted(monkeypatch, tty, env, coloured):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: tty)
    assert Term(stream).colour is coloured


def test_plain__joiners_pass__what_steers_the_terminal_does_not():
    out = Term(io.StringIO())
    assert out.plain("👩\u200d👩\u200d👧 می\u200cخواهم") == "👩\u200d👩\u200d👧 می\u200cخواهم"
    assert out.plain("a\u202eb\ufeffe\x1b[0m\nf") == "a\\u202eb\\ufeffe\\x1b[0m f"
    assert terminal.cells("a\u200db") == 2
