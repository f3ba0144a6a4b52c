"""What a project's settings file may do before the user trusts the project."""

import os
import shutil
from pathlib import Path

import pytest
from tests.support.git import git
from tests.support.trusting import trusted

from holdfast.api import ConfigError, Holdfast
from holdfast.fs import checkout, userdir
from holdfast_app.capture import hot_plugins
from holdfast_app.project_settings import files, resolved

#: Settings of hostile clones, each with the key that must not be in force.
HOSTILE = {
    '[plugins.openai]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"': "plugins.openai.base_url",
    '[plugins.anthropic]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"': "plugins.anthropic.enabled",
    '[plugins.gitea_trail]\nserver = "http://127.0.0.1:9"': "plugins.gitea_trail.server",
    "[plugins.redaction]\nenabled = false": "plugins.redaction.enabled",
    '[plugins.redaction.policy]\nsecret = "allow"': "plugins.redaction.policy.secret",
    '[plugins.redaction.surfaces.memory]\nemail = "mask"': "plugins.redaction.surfaces.memory.email",
    '[plugins.redaction]\nallow = ["x"]': "plugins.redaction.allow",
    '[plugins.redaction]\ndisable = ["x"]': "plugins.redaction.disable",
    '[plugins.redaction]\nrules = ["x.toml"]': "plugins.redaction.rules",
    "[plugins.redaction]\nbudget_s = 0.0001": "plugins.redaction.budget_s",
    "[plugins.redaction]\ndeadline_s = 0.0001": "plugins.redaction.deadline_s",
    "[plugins.curated]\nenabled = false": "plugins.curated.enabled",
    "[plugins.curated]\nmax_items = 1": "plugins.curated.max_items",
    "[plugins.curated]\nmax_chars = 100000": "plugins.curated.max_chars",
    "[plugins.offline]\nbogus = 1": "plugins.offline.bogus",
    "[plugins.absent]": "plugins.absent.enabled",
    "[facts]\nmax_facts = 1": "facts.max_facts",
    "[facts]\nthreshold = 1.0": "facts.threshold",
    "[retention]\njournal = 1": "retention.journal",
    "[retention]\ndaily = 1": "retention.daily",
    '[flush]\npolicy = "strict"\nstrict_blocks = 1000000': "flush.strict_blocks",
    "[session]\nidle_minutes = 0.001": "session.idle_minutes",
    "[extract]\ncalls_a_day = 1000": "extract.calls_a_day",
    '[extract]\nwhen = "turn"': "extract.when",
    "[plugins.claude_cli]\nenabled = true": "plugins.claude_cli.enabled",
    '[identity]\nrecord = true\nperson = "Mallory"': "identity.person",
    "[prompt]\nmax_tokens = 1000000": "prompt.max_tokens",
    '[dream]\nplugin = "openai"': "dream.plugin",
    "[dream]\nevery_hours = 0.01": "dream.every_hours",
}
#: Those that would move the store.
MOVING = {
    '[storage]\nbackend = "gitea"\nserver = "http://127.0.0.1:9"\nrepository = "a/b"': "storage.server",
    '[storage]\npath = ".git"': "storage.path",
    '[storage]\nfacts = "../package.json"': "storage.facts",
    '[layout.documents]\nmemory = ".claude/commands/x.md"': "layout.documents.memory",
    '[layout]\nroots = {home = ".github"}': "layout.roots.home",
}
HARMLESS = [
    'zone = "Europe/Berlin"',
    '[layout]\npreset = "timmy"',
    '[layout]\npreset = "opencode"\n[storage]\npath = ".opencode"\nfacts = "holdfast/facts.jsonl"',
    '[storage]\nbackend = "sqlite"',
    '[flush]\npolicy = "strict"\nstrict_blocks = 2',
    "[facts]\nmax_facts = 800\nthreshold = 0.4",
    '[plugins.redaction.policy]\nsecret = "refuse"\npii = "mask"',
    '[plugins.redaction.surfaces.trail]\npii = "refuse"',
    "[plugins.redaction]\nenabled = true",
    "[plugins.grounding]\nstrict = true",
    "[plugins.curated]\nmax_items = 100\nbullets = true",
    "[plugins.openai]\nenabled = false",
    '[dream]\napply = "propose"\nplugin = "offline"',
]


def write(project: Path, text: str) -> str:
    (project / "holdfast.toml").write_text(text + "\n")
    return str(project)


@pytest.mark.parametrize(("text", "key"), {**HOSTILE, **MOVING}.items())
def test_clone__sets_what_is_the_users__it_is_withheld_and_named(project, text, key):
    found = resolved.resolve(write(project, text))

    assert key in found.withheld
    assert "not in force" in resolved.notices(found)[0][0]
    assert "holdfast trust" in resolved.notices(found)[0][1]


@pytest.mark.parametrize("text", HARMLESS)
def test_project__sets_what_is_harmless__it_is_in_force_without_a_question(project, text):
    found = resolved.resolve(write(project, text))

    assert found.withheld == {}
    assert resolved.notices(found) == []
    assert resolved.structured(found)


@pytest.mark.parametrize("text", [*list(HOSTILE)[::8], *HARMLESS[1::3]])
@pytest.mark.parametrize("is_trusted", [False, True])
def test_hot_path__any_settings__loads_the_same_plugins_as_the_engine(project, text, is_trusted):
    root = write(project, text)
    if is_trusted:
        trusted(project)

    manager, state = hot_plugins(root)
    config = resolved.load(root)

    assert tuple(sorted(s.name for s in manager.statuses)) == config.enabled_plugins
    assert state == os.path.join(root, files.STATE_FOLDERS[config.layout.preset])


@pytest.mark.parametrize("value", ["soon", "nan", "-1"])
def test_hot_path__deadline_is_no_time__config_error(project, monkeypatch, value):
    monkeypatch.setenv("HOLDFAST_PLUGINS__CURATED__DEADLINE_S", value)
    with pytest.raises(ConfigError, match="configuration is not valid"):
        hot_plugins(str(project))


def test_user__has_a_stricter_setting__a_project_cannot_weaken_it(project):
    os.makedirs(userdir.folder(), exist_ok=True)
    of_user = '[flush]\npolicy = "strict"\n[plugins.redaction.policy]\nemail = "refuse"\n[facts]\nmax_facts = 2000\n'
    Path(userdir.path(userdir.CONFIG_FILE)).write_text(of_user)
    text = '[flush]\npolicy = "lenient"\n[plugins.redaction.policy]\npii = "mask"\n[facts]\nmax_facts = 600'

    config = resolved.load(write(project, text))

    assert config.flush.policy == "strict"
    assert config.plugin("redaction").settings == {"policy": {"email": "refuse"}}
    assert config.facts.max_facts == 2000


def test_user_folder__home_is_relative__is_not_in_the_working_directory(monkeypatch):
    monkeypatch.setenv("HOME", ".")
    assert not Path(userdir.folder()).is_relative_to(Path.cwd())


@pytest.mark.parametrize("name", ["holdfast.toml", ".opencode/holdfast.toml"])
@pytest.mark.parametrize("what", ["fifo", "device", "outside", "folder", "huge", "deep"])
def test_file__is_anything_but_a_small_file_of_the_project__is_an_error_and_never_read(project, tmp_path, name, what):
    path = project / name
    path.parent.mkdir(exist_ok=True)
    outside = tmp_path / "outside.toml"
    outside.write_text('zone = "UTC"\n')
    match what:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "outside":
            path.symlink_to(outside)
        case "folder":
            path.mkdir()
        case "huge":
            path.write_bytes(b"#" * (files.MAX_BYTES + 1))
        case "deep":
            path.write_text("x = " + "[" * 100_000)

    with pytest.raises(ConfigError, match=r"holdfast\.toml"):
        resolved.load(str(project))


def worktree_of(main: Path, folder: Path) -> Path:
    """A git worktree of the repository ``main``, whose files are committed first."""
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["worktree", "add", "-q", str(folder)]):
        git(main, *words)
    return folder


@pytest.mark.parametrize("below", ["", "packages/a"])
def test_root__git_worktree_with_committed_settings__is_the_main_checkout_unless_it_has_its_own_state(
    below, tmp_path, monkeypatch
):
    """Its memory went into the worktree, which could not be removed then, or took the memory along."""
    main = tmp_path / "main"
    (main / below / "deep").mkdir(parents=True)
    (main / below / "holdfast.toml").write_text("")
    (main / below / "deep/file").write_text("")
    inside = worktree_of(main, tmp_path / "worktree") / below
    monkeypatch.chdir(inside / "deep")
    assert checkout.branch(str(inside / "deep")) == "worktree (worktree worktree)"
    own = inside / ".holdfast/state"
    own.mkdir(parents=True)
    assert files.find_root() == str(inside)
    shutil.rmtree(own.parent)
    assert files.find_root() == str(main / below)
    with Holdfast.open() as memory:
        memory.session("s1").add("user", "Fix the login test")
    git(main, "worktree", "remove", str(tmp_path / "worktree"))
    assert (main / below / ".holdfast/state/sessions").is_dir()


@pytest.mark.parametrize("take", [os.symlink, shutil.copyfile])
def test_root__archive_with_the_pointer_of_another_worktree__is_a_project_of_its_own(take, tmp_path, monkeypatch):
    (tmp_path / "main").mkdir()
    (tmp_path / "main/holdfast.toml").write_text("")
    pointer = worktree_of(tmp_path / "main", tmp_path / "worktree") / ".git"
    (tmp_path / "archive").mkdir()
    take(pointer, tmp_path / "archive/.git")
    monkeypatch.chdir(tmp_path / "archive")
    assert files.find_root() == str(tmp_path / "archive")


@pytest.mark.parametrize(("folder", "mark"), [(".holdfast/state", "holdfast.toml"), (".git", ".git/HEAD")])
def test_root__private_folder_in_the_home_folder_or_empty_git_folder__does_not_take_the_folders_below(
    tmp_path, monkeypatch, folder, mark
):
    """A client's start in the home folder makes the one, and its sandbox the other where its commands may write."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / folder).mkdir(parents=True)
    below = tmp_path / "notes"
    below.mkdir()
    monkeypatch.chdir(below)
    assert files.find_root() == str(below)
    (tmp_path / mark).write_text("ref: refs/heads/main\n" if mark == ".git/HEAD" else "")
    assert files.find_root() == str(tmp_path)


def test_root__private_folder_at_the_file_system_s_top__does_not_take_the_folders_below(tmp_path, monkeypatch):
    """One event with the working folder ``/`` made it. A test must not, so only the question for it is answered."""
    monkeypatch.setattr(files, "is_marked", lambda folder: folder == os.path.dirname(folder))
    monkeypatch.chdir(tmp_path)
    assert files.find_root() == str(tmp_path)
