"""A person's terminal gets printable characters only, whatever was stored. Shown through a real pseudo-terminal."""

import io
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.cli.conftest import on_a_terminal

from holdfast_app.printable import in_one_line, json_safe, printable
from holdfast_cli import terminal
from holdfast_cli.terminal import Term

#: Clears the screen, writes the clipboard, renames the window, hides text, turns text around, ends lines in other ways.
EVIL = (
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x1b\\\x9b31m\x85\x7f\x08\r"
    "\u202egnp.exe\u2066x\u200b\u2028forged\u2029\ufeff\u200e\U000e0041\x0c\x0b"
)
HARMFUL = "\x07\x08\x7f\x85\x9b\u202e\u2066\u200b\u2028\u2029\ufeff\u200e\U000e0041\x0c\x0b"


#: Runs commands one after another; a line of its own begins each one's output.
COMMANDS = """
import json, sys
from holdfast_cli import main
for words in json.loads(sys.argv[1]):
    print("COMMAND", flush=True)
    main(words)
    sys.stdout.flush()
"""


@pytest.fixture
def poisoned(run, project):
    """A project with control characters in each document and fact, as an editor or a clone could write them."""
    assert run("remember", "harmless").code == 0
    assert run("add", "user", "Fix it", "--session", "s1").code == 0
    said = ("--next-step", f"go on {EVIL}", "--objective", "Fix it", "--curated", "none")
    assert run("flush", "--session", "s1", *said).code == 0
    folder = project / ".holdfast"
    for name in ("MEMORY.md", "USER.md", "PROFILE.md", "memory/2026-11-01.md", "context/patterns.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Title {EVIL}\n\n## Work\n\n- item {EVIL} end\n", newline="")
    for path in (*(folder / "memory").glob("*.md"), folder / "continuity/active.md"):
        if path.exists():
            path.write_text(path.read_text().replace("Fix it", f"Fix {EVIL.encode('unicode_escape').decode()}"))
    facts = folder / "facts.jsonl"
    text = facts.read_text().replace("harmless", json.dumps(EVIL)[1:-1])
    facts.write_text(re.sub(r', "crc": "[0-9a-f]{8}"', "", text))
    return project


PLAIN = (
    "", "load", "show", "show MEMORY.md", "show --raw MEMORY.md", "facts", "facts export", "prompt", "report", "status",
    "sessions", "validate", "doctor", "plugins", "layers", "config", "flush --session nobody", "load --json",
    "facts --json", "show MEMORY.md --json", "work", "work --all", "work show s1",
)  # fmt: skip


def test_terminal__stored_control_characters__arrive_as_escapes(poisoned):
    commands = [*(line.split() for line in PLAIN), ["show", EVIL], ["facts", "show", f"x{EVIL}"]]
    command = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    said, _ = on_a_terminal(command, poisoned, {"COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"})
    for words, got in zip(commands, said.replace("\r\n", "\n").split("COMMAND\n")[1:], strict=True):
        assert got.strip(), words
        left = {c for c in got if not (c.isprintable() or c in "\n\t")}
        assert not left, f"{left!r} in {got!r}"
        assert not any(line.startswith("forged") for line in got.splitlines())


@given(st.text())
def test_printable__any_text__holds_nothing_that_steers_a_terminal(text):
    shown = printable(text)
    assert all(c.isprintable() or c in "\n\t\u200c\u200d" or (c.isspace() and ord(c) >= 0xA0) for c in shown)
    assert not set(HARMFUL) & set(shown)
    assert printable(shown) == shown
    assert "\n" not in in_one_line(text)


@given(st.text())
def test_json_safe__any_text__is_the_same_json_and_printable(text):
    for ensure in (True, False):
        safe = json_safe(json.dumps({"x": text}, ensure_ascii=ensure, indent=2))
        assert json.loads(safe) == {"x": text}
        assert all(c.isprintable() or c == "\n" for c in safe)


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
