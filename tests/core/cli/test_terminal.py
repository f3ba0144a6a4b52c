"""Terminal output: widths, colour, numbers in words."""

import io

import pytest

from holdfast_cli import terminal
from holdfast_cli.terminal import Term


class Tty(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding="utf-8", *, tty=True):
        super().__init__(io.BytesIO(), encoding=encoding)
        self._tty = tty

    def isatty(self):
        return self._tty

    def text(self):
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


def test_plain__joiners_pass__what_steers_the_terminal_does_not():
    out = Term(Tty(tty=False))
    assert out.plain("👩\u200d👩\u200d👧 می\u200cخواهم") == "👩\u200d👩\u200d👧 می\u200cخواهم"
    assert out.plain("a\u202eb\ufeffe\x1b[0m\nf") == "a\\u202eb\\ufeffe\\x1b[0m f"
    assert terminal.cells("a\u200db") == 2
