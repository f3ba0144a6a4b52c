"""`--dry-run` changes nothing stored, whatever else is passed with it."""

import argparse
import hashlib
from pathlib import Path

from tests.support.lived_in import build

from holdfast_cli import table

#: What each command with a dry run needs to run at all, and its flags that take a value, with one.
NEEDED = {
    "dream": [("",), ("review",), ("review", "accept"), ("review", "reject")],
    "import": [("--history",)],
    "purge": [("--subject", "Acme"), ("--session", "stock-sync-05"), ("--before", "2026-11-19"), ("--all",)],
    "retention": [("run",)],
    "scrub": [("",)],
}
#: Flags that exclude each other or say what a command's `NEEDED` words already say.
ASIDE = {"--dry-run", "--help", "--all"}


def flags_of(command):
    """The flags of a command that take no value."""
    parser = argparse.ArgumentParser()
    table.load(command).configure(parser)
    return [a.option_strings[-1] for a in parser._actions if a.option_strings and a.nargs == 0]


def combinations():
    for command, ways in NEEDED.items():
        flags = [flag for flag in flags_of(command) if flag not in ASIDE]
        for number, words in enumerate(ways):
            for chosen in (flags, *([flag] for flag in flags if not number)):
                yield [command, *filter(None, words), "--dry-run", *chosen]


def stored(*folders):
    """The digest of each file, except the record of dreams, which lists trials too, and locks, which are empty."""
    files = [p for folder in folders for p in sorted(folder.rglob("*")) if p.is_file() and p.stat().st_size]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files if p.stem != "dreams"}


def test_commands__that_have_a_dry_run__are_the_tested_ones():
    assert {name for name in table.known() if "--dry-run" in flags_of(name)} == set(NEEDED)


def test_dry_run__with_any_other_flags__changes_nothing_stored_and_undo_shows_what_it_would(run, project):
    build(project, weeks=1)
    settings = Path.home() / ".config" / "holdfast" / "config.toml"
    settings.write_text("[retention]\ndaily = 1\njournal = 1\n[dream]\nlookback_days = 3650\n")
    home = Path.home()
    before = stored(project, home)
    codes = set()
    for words in combinations():
        codes.add(run(*words).code)
        assert stored(project, home) == before, words
    assert codes == {0, 2}

    document = project / ".holdfast" / "MEMORY.md"
    dreamt = document.read_text()
    trial = run("dream", "--undo", "--dry-run", "--json").json
    assert (trial["status"], trial["dry_run"]) == ("proposed", True)
    assert "would be undone. Nothing was written." in run("dream", "--undo", "--dry-run").out
    assert document.read_text() == dreamt
    assert run("dream", "--undo").code == 0
    gone = set(dreamt.splitlines()) - set(document.read_text().splitlines())
    assert gone
    assert all(f"-{line}" in trial["diff"] for line in gone if line)
