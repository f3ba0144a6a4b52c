"""Which settings of a project count, and the user's records of trust."""

import os
import stat
from pathlib import Path

import pytest
from tests.support.trusting import trusted

from holdfast.api import Corrupt, Holdfast
from holdfast.fs import userdir
from holdfast_app.project_settings import resolved, trust
from holdfast_app.trust import provenance, trusting

HOSTILE = '[plugins.openai]\nmodel = "m"\nbase_url = "http://127.0.0.1:9"\n[facts]\nmax_facts = 1\n'


@pytest.fixture
def clone(project) -> Path:
    """A project whose file sets what only the user may set."""
    (project / "holdfast.toml").write_text(HOSTILE)
    return project


def test_settings__a_harmless_one_changes_after_trust_or_another__all_or_none_stay_in_force(clone):
    trusted(clone)

    (clone / "holdfast.toml").write_text('zone = "UTC"\n' + HOSTILE)

    assert resolved.load(str(clone)).facts.max_facts == 1
    assert resolved.load(str(clone)).zone == "UTC"

    (clone / "holdfast.toml").write_text(HOSTILE.replace("127.0.0.1:9", "127.0.0.1:10"))

    assert set(resolved.resolve(str(clone)).withheld) == {
        "plugins.openai.enabled",
        "plugins.openai.model",
        "plugins.openai.base_url",
        "facts.max_facts",
    }


def test_a_long_note__two_sessions_add_to_it_at_once__only_what_neither_wrote_is_withheld(project):
    blocks = [f"\n## Flush {number}\n\n- it\n" for number in range(3)]
    note = "# Day\n\n" + "- x\n" * 40_001  # git is not asked
    with Holdfast.open(project) as memory:
        judge = memory.store.provenance
        for added in ("", *blocks[:2]):
            judge.record("memory/day.md", note if added else "", note + added)
        assert [one.text for one in judge.sift("memory/day.md", note + "".join(blocks)).withheld] == [blocks[2].strip()]


def test_ci__the_digest_is_in_the_environment__settings_and_memory_are_trusted(clone, monkeypatch):
    monkeypatch.setenv("HOLDFAST_TRUST", trust.digest({}))  # of other settings
    assert resolved.load(str(clone)).facts.max_facts == 500
    assert not provenance.trusts_all(str(clone))

    monkeypatch.setenv("HOLDFAST_TRUST", trust.digest(resolved.portable(str(clone))))

    assert resolved.load(str(clone)).facts.max_facts == 1
    assert provenance.trusts_all(str(clone))


def test_record__made_and_revoked__is_of_the_real_folder_private_to_the_user_and_gone(project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    before = os.umask(0)
    try:
        made = trusting.record(str(tmp_path / "link"), settings={"facts.max_facts": 1})
    finally:
        os.umask(before)
    path = userdir.path(trust.FILE)

    assert trust.records() == {os.path.realpath(project): made}
    assert trust.record_of(str(project)) == made
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert trusting.revoke(str(project))
    assert trust.records() == {}
    assert not trusting.revoke(str(project))


@pytest.mark.parametrize("damage", [b"", b"{", b"[" * 100_000, b"[]", b'{"v": 2, "projects": {}}', b'{"v": 1}'])
def test_records__damaged__trust_nothing_and_are_not_overwritten(clone, damage):
    trusted(clone)
    path = Path(userdir.path(trust.FILE))
    path.write_bytes(damage)

    assert resolved.load(str(clone)).facts.max_facts == 500
    with pytest.raises(Corrupt, match="trust"):
        trusting.record(str(clone), {})
    assert path.read_bytes() == damage
