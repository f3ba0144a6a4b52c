"""``holdfast init`` and ``holdfast config``."""

from __future__ import annotations

import subprocess
import tomllib

import pytest

from holdfast_app.settings import effective


def test_init__new_project__small_settings_and_a_private_folder(run, project):
    result = run("init")
    assert result.code == 0
    assert "next: holdfast doctor" in result.out
    text = (project / "holdfast.toml").read_text()
    assert tomllib.loads(text) == {}
    assert "docs/configuration.md" in text
    assert (project / ".holdfast/state/.gitignore").read_text() == "*\n"


def test_init__again__changes_nothing(run, project):
    run("init", "--zone", "UTC")
    before = {p: p.stat().st_mtime_ns for p in project.rglob("*")}
    result = run("init")
    assert result.code == 0
    assert "nothing was changed" in result.out
    assert {p: p.stat().st_mtime_ns for p in project.rglob("*")} == before
    assert run("init", "--zone", "UTC").code == 0


def test_init__options__stand_in_the_file(run, project):
    assert run("init", "--layout", "timmy", "--zone", "Europe/Berlin", "--strict").code == 0
    table = tomllib.loads((project / "holdfast.toml").read_text())
    assert table == {"zone": "Europe/Berlin", "layout": {"preset": "timmy"}, "flush": {"policy": "strict"}}


def test_init__in_a_git_repository__private_folder_is_not_seen_by_git(run, project, monkeypatch):
    subprocess.run(["git", "init", "-q", "."], check=True)
    below = project / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    assert run("init", "--json").json["root"] == str(project)
    run("add", "user", "a secret thought")
    seen = subprocess.run(["git", "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True).stdout
    assert seen.split() == ["??", "../holdfast.toml"] or seen.split() == ["??", "holdfast.toml"]


# config


def test_config__every_setting__with_where_it_comes_from(run, project, monkeypatch):
    (project / "holdfast.toml").write_text("zone = 'UTC'\n[plugins.offline]\nenabled = false\n")
    monkeypatch.setenv("HOLDFAST_FLUSH__POLICY", "strict")
    rows = {r["key"]: (r["value"], r["source"]) for r in run("config", "--json").json["settings"]}
    assert rows["zone"] == ("UTC", "holdfast.toml")
    assert rows["flush.policy"] == ("strict", "HOLDFAST_FLUSH__POLICY")
    assert rows["flush.strict_blocks"] == (3, "default")
    assert rows["plugins.offline.enabled"] == (False, "holdfast.toml")
    assert rows["plugins.curated.enabled"] == (True, "default")


def test_config__unknown_key__exit_2_and_names_the_near_one(run):
    result = run("config", "flush.polcy")
    assert result.code == 2
    assert "Did you mean `flush.policy`?" in result.err


def test_config__set__keeps_comments_and_everything_else(run, project):
    before = (
        "# mine\nzone = 'UTC'  # where I live\n\n[flush]\n# why not\nstrict_blocks = 2\n\n[session]\nkeep_last = 6\n"
    )
    (project / "holdfast.toml").write_text(before)
    assert run("config", "flush.strict_blocks", "5").code == 0
    assert run("config", "flush.policy", "strict").code == 0
    assert run("config", "zone", "Europe/Berlin").code == 0
    assert run("config", "facts.max_facts", "99").code == 0
    assert (project / "holdfast.toml").read_text() == (
        '# mine\nzone = "Europe/Berlin"  # where I live\n\n[flush]\n# why not\nstrict_blocks = 5\npolicy = "strict"\n\n'
        "[session]\nkeep_last = 6\n\n[facts]\nmax_facts = 99\n"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("flush.policy", "sometimes"),
        ("flush.strict_blocks", "many"),
        ("flush.strict_blocks", "0"),
        ("zone", "Mars/Olympus"),
        ("zone", '1\nflush = "x"'),
        ("zoen", "UTC"),
        ("zone.deeper", "UTC"),
        ("flush", "{}"),
        ("", "x"),
        ("a b", "x"),
        ("layout.preset", "round"),
    ],
)
def test_config__set_to_nonsense__exit_2_and_the_file_stays(run, project, key, value):
    before = "# mine\nzone = 'UTC'\n"
    (project / "holdfast.toml").write_text(before)
    assert run("config", key, value).code == 2
    assert (project / "holdfast.toml").read_text() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("zone = 'a # b' # c\n", 'zone = "UTC" # c\n'),
        ("zone='x'", 'zone="UTC"'),
        ("", 'zone = "UTC"\n'),
        ("[flush]\r\npolicy = 'strict'\r\n", "zone = \"UTC\"\r\n\r\n[flush]\r\npolicy = 'strict'\r\n"),
        ("# only a comment", '# only a comment\nzone = "UTC"\n'),
    ],
)
def test_edit__text_around_the_value__stays(before, after):
    assert effective._edited(before, ["zone"], "UTC") == after


def test_config__secret_from_the_environment__is_not_printed(run, project, monkeypatch):
    (project / "holdfast.toml").write_text("[plugins.offline]\n")
    monkeypatch.setenv("HOLDFAST_PLUGINS__OFFLINE__SITE_TOKEN", "hunter2hunter2")
    for words in (["config"], ["config", "--json"], ["config", "plugins.offline.site_token"]):
        result = run(*words)
        assert "hunter2" not in result.out
        assert "***" in result.out
