"""What holds for every command: help with examples, JSON, errors in two lines, exit codes."""

import pytest

from holdfast_cli import table

#: Every command of this distribution and what it does, as the help says.
COMMANDS = {name: text for group in table.described().values() for name, text in group.items()}
#: A plain call of each command that prints data.
CALLS = {
    "init": ["init"],
    "add": ["add", "user", "hello", "--session", "s1"],
    "flush": ["flush", "--session", "s1"],
    "end": ["end", "--session", "s1"],
    "override": ["override", "--session", "s1", "--reason", "the disk is being replaced"],
    "remember": ["remember", "Prefers tabs"],
    "facts": ["facts"],
    "extract": ["extract", "--queued"],
    "prompt": ["prompt"],
    "auth": ["auth", "status", "nobody"],
    "load": ["load"],
    "show": ["show"],
    "report": ["report"],
    "dream": ["dream", "--dry-run"],
    "migrate": ["migrate", "--to", "sqlite"],
    "export": ["export", "memory.zip", "--force"],
    "status": ["status"],
    "outbox": ["outbox"],
    "sessions": ["sessions"],
    "install": ["install", "claude-code"],
    "uninstall": ["uninstall", "claude-code"],
    "doctor": ["doctor"],
    "config": ["config"],
    "trust": ["trust", "--yes"],
    "plugins": ["plugins"],
    "layers": ["layers"],
    "route": ["route", "--horizon", "unsure"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_help__of_every_command__says_what_it_does_and_gives_an_example(run, command):
    result = run(command, "--help")
    assert result.code == 0
    assert (COMMANDS[command][0].upper() + COMMANDS[command][1:]) in " ".join(result.out.split())
    examples = result.out.split("examples:\n", 1)[1]
    assert f"holdfast {command}" in examples or f"holdfast-memory {command}" in examples
    assert "--root DIR" in result.out
    assert run("help", command).out == result.out


def test_demo__in_a_new_folder__shows_its_three_acts_in_45_lines(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = run("demo", "--dir", str(tmp_path / "demo"))
    acts = ["1. Kept", "2. Refused", "blocked", "43 of 43 messages are still in context", "3. Resumed", "Next action: "]
    assert (result.code, result.err) == (0, "")
    assert sorted(acts, key=result.out.index) == acts
    assert len(result.out.splitlines()) <= 45
    assert "A dream turns the notes into memory" not in result.out


@pytest.mark.parametrize("words", [["flush"], ["doctor"], ["config"]])
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("not toml", "TOML"),
        ("[flush]\npolcy = 'strict'\n", "flush.polcy: unknown key (did you mean `policy`?)"),
        ("[flush]\npolicy = 3\n", "flush.policy: expected a string, got a whole number"),
        ("[flush]\npolicy = 'x'\n", "flush.policy: must be one of lenient, strict, not 'x'"),
        ("facts = []\n", "facts: expected a table, got a list"),
        ("[trust]\nauthors = ['a', 1]\n", "trust.authors[1]: expected a string, got a whole number"),
        ("[layout]\npreset = 'timmy'\nroots = 3\n", "layout.roots: expected a table, got a whole number"),
        ("[layout.documents]\ndiaries = 'x'\n", "diaries is not a surface"),
        ("[layout.documents]\ndaily = 'notes.md'\n", "daily has no {date}"),
        ("[layout.documents]\nmemory = '{nowhere}/M.md'\n", "unknown root"),
        ("[layout.documents]\ndaily = '../{date}.md'\n", "layout.documents.daily cannot be used"),
        ("[retention]\njournal = 99999999\n", "retention.journal: must be 0 to 36525"),
        ('[storage]\npath = "a\\u0000b"\n', "storage.path: must not hold a NUL character"),
        ("zone = 1\n[fact]\n", "zone: expected a string, got a whole number; fact: unknown key"),
    ],
)
def test_bad_settings__are_named(run, project, words, text, named):
    (project / "holdfast.toml").write_text(text)
    result = run(*words)
    assert result.code in (1, 2)
    shown = " ".join((result.out + result.err).split())
    if words == ["config"]:
        assert named in shown
    else:  # agents read these, so they quote nothing of the file
        assert "There is a mistake in" in shown
        assert "`holdfast config`" in shown
    assert "next:" in shown


def test_unforeseen_error__one_line_and_a_way_on__and_a_traceback_with_debug(run, monkeypatch):
    from holdfast_cli.commands import config

    def broken(args):
        raise RuntimeError("boom")

    monkeypatch.setattr(config.layers, "run", broken)
    result = run("layers")
    assert (result.code, "RuntimeError: boom" in result.err) == (1, True)
    assert "--debug" in result.err
    assert "Traceback" not in result.err
    assert "Traceback" in run("layers", "--debug").err
