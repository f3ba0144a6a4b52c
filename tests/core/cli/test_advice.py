"""Advice in errors: what a message tells a person to do must help."""

import logging

import pytest


def test_show__a_folder_of_documents__says_so_and_names_one(run):
    run("add", "user", "Fix the login", "--session", "s1")
    run("flush", "--session", "s1")
    result = run("show", "memory")
    assert (result.code, "'memory' is a folder with" in result.err) == (1, True)
    assert "holdfast show memory/" in result.err
    assert "Move it away" not in result.err


@pytest.mark.parametrize("words", [("--debug", "status"), ("status", "--debug"), ("--debug", "add", "user", "hi")])
def test_debug__before_or_after_the_command__turns_the_log_on(run, monkeypatch, words):
    seen = []
    monkeypatch.setattr(logging, "basicConfig", lambda **given: seen.append(given["level"]))
    assert run(*words).code == 0
    assert seen == [logging.DEBUG]


def test_status__the_cause_of_unsafe_is_gone__says_how_to_look_again(run, project):
    run("add", "user", "Fix the login", "--session", "s1")
    folder = project / ".holdfast/memory"
    folder.write_text("in the way")
    refused = run("flush", "--session", "s1")
    assert ".holdfast/memory" in refused.err, "the path is where a person finds it"
    folder.unlink()
    assert "`holdfast flush --session s1` tries again" in " ".join(run("status").out.split())
    assert "`holdfast flush --session s1` tries again" in " ".join(run("doctor").out.split())
    assert run("flush", "--session", "s1").code == 0
    assert run("status").code == 0


def test_override__nothing_can_be_written__claims_nothing(run, project):
    run("add", "user", "Fix the login", "--session", "s1")
    lock = project / ".holdfast/state/sessions/s1.lock"
    lock.unlink()
    lock.mkdir()  # as on a read-only disk, the refused flush leaves no marker
    done, said = (
        run("override", "--session", "s1", "--reason", "it must go"),
        "not recorded, so the context stays. Could",
    )
    assert (done.code, done.out, said in done.err) == (3, "", True)


@pytest.mark.parametrize(
    ("words", "message", "step"),
    [
        (("sttaus",), "", "Did you mean `holdfast status`?"),
        (("status", "--jsn"), "", "Did you mean `--json`?"),
        (("explain", "--frob"), "", "See `holdfast explain --help`."),
        (("auth", "set", "openai"), "the key is blank.", "pipe it into the command."),
        (("--root",), "--root takes a folder.", "`holdfast --root FOLDER status`"),
        (("sessions", "shw", "s1"), "`holdfast sessions` takes one of list, show, not 'shw'.", "Did you mean `show`?"),
        (("why", " "), "needs a line, a fact or words", "Write it like `MEMORY.md:12`."),
        (("--root", "", "purge", "--all", "--yes"), "The project folder's name is empty.", "leave out `--root`"),
        (("add", "usr", "hi"), "takes one of user, assistant, system, tool, not 'usr'.", "Did you mean `user`?"),
        (("flush", "--reason", "x"), "--reason takes one of compaction, end, handoff, switch, ", "--help"),
        (("config", "flush.policy", "x"), "flush.policy: must be one of lenient, strict, not 'x'", "Correct it"),
        (("config", "plugins.offline.enabled", "x"), "plugins.offline.enabled: expected true or false", "Correct it"),
        (("prompt", "--max-tokens", "0"), "takes a whole number from 1 up", "--help"),
        (("why", "NO.md:1"), "There is no document 'NO.md'.", "`holdfast show`"),
        (("import", "no.zip"), "'no.zip' does not exist.", "Pass a file or a folder."),
        (("merge-driver", "a", "b", "c", "d"), "'a' cannot be read: No such file", "`holdfast init --git`"),
        (("redact",), "There is no command 'redact'.", "`holdfast scrub --help`"),
        (("work", "close", "rule_zz"), "No rule has the id 'rule_zz'.", "Run `holdfast work`"),
        (("work", "show", "fact_zz"), "'fact_zz' is not the id of any work.", "`holdfast facts` the facts."),
        (("facts", "show", "fact_zz"), "There is no fact 'fact_zz'.", "`holdfast facts list` shows ids."),
        (("outbox", "drop"), "The usage is `holdfast outbox drop ID`.", "`holdfast outbox --help`"),
    ],
)
def test_mistake__error__names_it_and_the_next_step(run, words, message, step):
    error = run(*words).err
    assert message in error
    assert step in error.partition("next: ")[2]


def test_users_folder__cannot_be_made__store_and_doctor_name_the_variable(run, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/sys")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/sys")
    for words in (("remember", "We use tabs"), ("flush",), ("doctor",)):
        result = run(*words)
        assert "Make '/sys/holdfast' writable, or set XDG_CONFIG_HOME" in " ".join((result.out + result.err).split())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert "put aside" not in run("doctor").out
    for words in (("remember", "We use tabs"), ("add", "user", "Go on"), ("flush",)):
        assert run(*words).code == 0
    assert "We use tabs" in run("load").out


def test_folder__removed_under_the_shell__says_so(run, monkeypatch, project):
    (project / "gone").mkdir()
    monkeypatch.chdir(project / "gone")
    (project / "gone").rmdir()
    result = run("status")
    assert (result.code, result.err.splitlines()[0]) == (2, "holdfast: The current folder is gone.")
