"""``holdfast init`` and ``holdfast config``."""

import subprocess

import pytest


def test_init__in_a_git_repository__private_folder_is_not_seen_by_git(run, project, monkeypatch):
    subprocess.run(["git", "init", "-q", "."], check=True)
    below = project / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    assert run("init", "--json").json["root"] == str(project)
    run("add", "user", "a secret thought")
    seen = subprocess.run(["git", "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True).stdout
    assert seen.split() == ["??", "../holdfast.toml"] or seen.split() == ["??", "holdfast.toml"]


def test_init__in_the_home_folder__is_refused_unless_it_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = run("init")
    assert (result.code, "holdfast --root ~ init" in result.err) == (1, True)
    assert not (tmp_path / "holdfast.toml").exists()
    assert run("--root", "~", "init").code == 0


def test_config__every_setting__with_where_it_comes_from(run, project, monkeypatch):
    (project / "holdfast.toml").write_text("zone = 'UTC'\n[plugins.offline]\nenabled = false\n")
    monkeypatch.setenv("HOLDFAST_FLUSH__POLICY", "strict")
    monkeypatch.setenv("HOLDFAST_FLUSH_POLICY", "strict")
    for shown in (run("config").out, run("doctor").out):
        assert "Did you mean HOLDFAST_FLUSH__POLICY?" in " ".join(shown.split())
    rows = {r["key"]: (r["value"], r["source"]) for r in run("config", "--json").json["settings"]}
    assert rows["zone"] == ("UTC", "holdfast.toml")
    assert rows["flush.policy"] == ("strict", "HOLDFAST_FLUSH__POLICY")
    assert rows["flush.strict_blocks"] == (3, "default")
    assert rows["plugins.offline.enabled"] == (False, "holdfast.toml")
    assert rows["plugins.curated.enabled"] == (True, "default")


def test_config__credentials_in_an_address__are_not_shown_and_not_shared(run):
    change = ("plugins.openai.base_url", "https://u:hunter2@a.example/v1?key=hunter3")
    assert run("config", *change).code == 2
    for words in (("config", "--user", *change), ("config",), ("config", "--json"), ("trust",)):
        assert "hunter" not in run(*words).out


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
        ("zone", "Mars/Olympus"),
        ("zone", '1\nflush = "x"'),
        ("zoen", "UTC"),
        ("flush", "{}"),
        ("", "x"),
        ("layout.preset", "round"),
    ],
)
def test_config__set_to_nonsense__exit_2_and_the_file_stays(run, project, key, value):
    before = "# mine\nzone = 'UTC'\n"
    (project / "holdfast.toml").write_text(before)
    assert run("config", key, value).code == 2
    assert (project / "holdfast.toml").read_text() == before


def test_config__other_backend__says_how_to_take_along_what_is_stored(run, project):
    run("remember", "a")
    said = " ".join(run("config", "storage.backend", "sqlite").out.split())
    assert run("facts").out.startswith("No fact is stored yet.")
    # What it says is what helps.
    assert "`holdfast config storage.backend file`, then `holdfast migrate --to sqlite`" in said
    assert run("config", "storage.backend", "file").code == 0
    assert run("migrate", "--to", "sqlite").code == 0
    assert run("config", "storage.backend", "sqlite", "--json").json["in_force"]
    assert run("facts", "--json").json["count"] == 1
    run("remember", "b")
    assert "stays in the sqlite store" in " ".join(run("config", "storage.backend", "file").out.split())
