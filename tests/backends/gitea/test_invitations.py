"""Users join a store by an invitation of its owner, which only the owner's client can write."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO, issue_of, rewritten, text_of
from tests.support.trusting import trusted

from holdfast.api import Corrupt, Outcome, Refused
from holdfast.storage import deadline, sha256
from holdfast.testing.base import make_block, make_fact
from holdfast_cli import main
from holdfast_gitea import invitations, marker, replay
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import access, inspect
from holdfast_keys.faults import Closed

SCOPES = ("write:issue", "read:user")
Of = Callable[..., GiteaBackend]


@pytest.fixture
def of(gitea, tmp_path, closing) -> Of:
    """A new machine of that user, who may read the repository and comment in it. Its name makes it the same one."""

    numbers = itertools.count()

    def make(user: str, name: str = "", scopes: tuple[str, ...] = SCOPES, **options: Any) -> GiteaBackend:
        if user != "agent":
            gitea.world.repo(REPO).rights.setdefault(user, "read")
        folder = tmp_path / (name or f"{user}{next(numbers)}")
        folder.mkdir(exist_ok=True)
        token = gitea.make_token(user, scopes)
        given = {"server": gitea.url, "repository": REPO, "token": token, "patience_s": 2.0, **options}
        return closing(GiteaBackend(folder, **given))

    return make


@pytest.mark.parametrize(("filled", "scopes"), [(True, SCOPES), (False, ("write:issue",))])
def test_write__before_the_invitation__refused_until_the_records_count_and_then_everything_is_there(
    gitea, of, filled, scopes
):
    """They would be gone for everyone after the invitation, although they were acknowledged."""
    owner, ana = of("agent"), of("ana", "ana", scopes)
    if filled:
        owner.write("MEMORY.md", "one\n")
    for store in (ana, of("ana", "ana", scopes)):
        for call in (
            lambda store=store: store.write("USER.md", "early\n"),
            lambda store=store: store.append(DAY, make_block("one"), HEADER, "one"),
            lambda store=store: store.add_fact(make_fact(1), 100),
        ):
            with pytest.raises(Refused, match="do not count") as caught:
                call()
            assert "holdfast gitea invite ana" in caught.value.next_step
    assert not [body for number in gitea.titles(REPO) for body in gitea.bodies(REPO, number) if "early" in body]
    told = [check for check in inspect(ana.log) if "do not count" in check.message]
    assert [check.outcome for check in told] == [Outcome.FAIL]
    invitations.invite(owner.log, "ana")
    ana.write("USER.md", "late\n")  # at once, although this process has just read the list
    ana.append(DAY, make_block("one"), HEADER, "one")
    ana.add_fact(make_fact(1), 100)
    for view in (owner, ana, of("agent"), of("ana")):
        view.log.index.refresh()
        assert (text_of(view, "USER.md"), len(list(view.facts()))) == ("late\n", 1)
        assert "id=one" in (text_of(view, DAY) or "")
    assert not [check for check in inspect(of("ana", "ana", scopes).log) if check.outcome is Outcome.FAIL]


def test_write__in_an_organizations_store_that_another_user_began__refused(gitea, of):
    """One user may begin a store there without a setting. Machines of a second user would begin another one."""
    gitea.make_repo("team/memory", rights={"bot": "write", "eve": "write"})
    bot = of("bot", repository="team/memory")
    bot.write("MEMORY.md", "one\n")
    for _ in range(2):  # the second time from what the first kept
        with pytest.raises(Refused, match="do not count"):
            of("eve", "eve", repository="team/memory").write("MEMORY.md", "two\n")
    of("bot", repository="team/memory").write("MEMORY.md", "three\n")
    assert text_of(bot) == "three\n"
    invitations.invite(bot.log, "eve")
    with pytest.raises(Refused, match="do not count"):  # this machine does not name bot
        of("eve", "eve", repository="team/memory").write("MEMORY.md", "four\n")
    eve = of("eve", "eve", authors=("bot",), repository="team/memory")
    eve.write("MEMORY.md", "five\n")
    assert text_of(bot) == "five\n"


def test_revoke__the_user_then_writes_edits_and_deletes__what_they_wrote_before_counts_as_it_was(gitea, of):
    """On the server the author of a comment or issue may always edit it."""
    owner, ana = of("agent"), of("ana")
    invitations.invite(owner.log, "ana")
    ana.write("MEMORY.md", "of ana\n")
    ana.append(DAY, make_block("one"), HEADER, "one")
    of("ana").append(DAY, make_block("two"), HEADER, "two")
    ana.add_fact(make_fact(1), 100)
    owner.append(DAY, make_block("three"), HEADER, "three")
    before = text_of(owner, DAY)
    member, count = owner.revoke("ana")
    assert (member.state, count >= 3) == ("out", True)
    with pytest.raises(Refused, match="revoked"):
        ana.write("MEMORY.md", "later\n")
    assert owner.revoke("ana") == (member, 0)
    issues = gitea.world.repo(REPO).issues
    mine = [(number, row) for number, one in issues.items() for row in one.rows if row.poster.login == "ana"]
    assert mine
    for place, (number, row) in enumerate(mine):
        if place % 2:
            gitea.delete_comment(REPO, row.id)
        else:
            gitea.edit_comment(REPO, row.id, rewritten(row.body, "evil\n"))
            row.updated += 60
        assert number
    base = marker.fields(gitea.bodies(REPO, max(issues))[-1])
    for number, one in issues.items():
        body = marker.frame("x", "evil\n", id=replay.new_id(), kind="ver", base=base["id"])
        gitea.make_comment(REPO, number, body, poster="ana")
        if one.poster.login == "ana":
            named = marker.line(kind="copy", log="aG9sZGZhc3Q6ZG9jOk1FTU9SWS5tZA")
            gitea.edit_issue(REPO, number, title="holdfast:doc:MEMORY.md", body=named)
    for view in (owner, of("agent"), of("cleo")):
        view.log.index.refresh(whole=True)
        assert text_of(view) == "of ana\n"
        assert text_of(view, DAY) == before
        assert len(list(view.facts())) == 1
        assert view.names() == ["MEMORY.md", DAY]
    assert all(check.outcome is not Outcome.FAIL for check in inspect(of("agent").log))


def test_revoke__interrupted_and_a_record_is_edited_then__corrupt_until_it_is_run_again(gitea, of):
    owner, ana = of("agent"), of("ana")
    invitations.invite(owner.log, "ana")
    ana.append(DAY, make_block("one", "- step"), HEADER, "one")
    number = issue_of(gitea, f"doc:{DAY}")
    invitations.revoke(owner.log, "ana")
    assert any("--revoke" in check.next_step for check in inspect(of("agent").log))
    comment, body = gitea.comments(REPO, number)[0]
    gitea.skew(5)
    gitea.edit_comment(REPO, comment, rewritten(body, marker.framed(body).text.replace("step", "evil")))
    for view in (owner, of("agent")):
        with pytest.raises(Corrupt, match="edited"):
            view.read(DAY)
    gitea.edit_comment(REPO, comment, body)
    gitea.make_comment(REPO, number, replay.ACCEPT)
    owner.revoke("ana")
    assert "step" in (text_of(of("agent"), DAY) or "")


@pytest.mark.parametrize("poster", ["mallory", "ana"])
def test_invitation__written_by_a_reader_or_an_invited_user__has_no_effect(gitea, of, poster):
    for user in ("ana", "mallory"):
        gitea.world.user(user)
    owner = of("agent")
    owner.write("MEMORY.md", "one\n")
    invitations.invite(owner.log, "ana")
    number = issue_of(gitea, "authors")
    row = {"id": gitea.world.user("mallory").id, "login": "mallory", "by": "agent", "state": "joined"}
    text = json.dumps({**row, "spans": [[0, "2020-01-01T00:00:00+00:00", 0, ""]]})
    base = (marker.fields(gitea.bodies(REPO, number)[-1]) or {})["id"]
    body = marker.frame("x", text, language="json", id=replay.new_id(), kind="ver", base=base)
    gitea.make_comment(REPO, number, body, poster=poster)
    own = gitea.make_issue(REPO, "holdfast:authors", poster=poster)
    gitea.make_comment(REPO, own, body.replace(f" base={base}", ""), poster=poster)
    gitea.make_comment(REPO, number, replay.ACCEPT, poster=poster)
    with pytest.raises(Refused):
        of("mallory").write("MEMORY.md", "evil\n")
    for view in (owner, of("agent"), of("cleo")):
        assert text_of(view) == "one\n"
        assert [one.login for one in invitations.listed(view.log)] == ["ana"]
    assert any(f"#{number}" in c.message or f"#{own}" in c.message for c in inspect(of("agent").log))


def test_invitation__edited_by_a_user_with_write_access__corrupt_although_the_checksum_fits(gitea, of):
    gitea.world.user("ana")
    owner = of("agent")
    owner.write("MEMORY.md", "one\n")
    invitations.invite(owner.log, "ana")
    number = issue_of(gitea, "authors")
    comment, body = gitea.comments(REPO, number)[-1]
    evil = marker.framed(body).text.replace(str(gitea.world.user("ana").id), str(gitea.world.user("mallory").id))
    gitea.skew(5)
    gitea.edit_comment(REPO, comment, rewritten(body, evil, language="json"))
    for touch in (lambda view: view.read("MEMORY.md"), lambda view: view.names(), lambda view: len(list(view.facts()))):
        with pytest.raises(Corrupt, match="edited"):
            touch(of("agent"))
    assert any(c.outcome is Outcome.FAIL and "edited" in c.message for c in inspect(of("agent").log))
    # A comment of the owner, edited into an acceptance, does not accept it.
    other = gitea.make_comment(REPO, number, "Hello.")
    gitea.skew(20)
    gitea.edit_comment(REPO, other, replay.ACCEPT)
    with pytest.raises(Corrupt, match="edited"):
        of("agent").read("MEMORY.md")
    gitea.edit_comment(REPO, comment, body)
    gitea.make_comment(REPO, number, replay.ACCEPT)
    assert text_of(of("agent")) == "one\n"
    assert [one.login for one in invitations.listed(of("agent").log)] == ["ana"]


@pytest.mark.parametrize("whole_issue", [True, False])
def test_invitation__deleted__corrupt_until_invited_again_and_nothing_vanishes(gitea, of, whole_issue):
    owner, ana = of("agent"), of("ana")
    owner.write("MEMORY.md", "one\n")
    invitations.invite(owner.log, "ana")
    ana.write("MEMORY.md", "two\n")
    assert text_of(owner) == "two\n"
    number = issue_of(gitea, "authors")
    if whole_issue:
        gitea.delete_issue(REPO, number)
    else:
        gitea.delete_comment(REPO, gitea.comments(REPO, number)[-1][0])
    owner.log.index.refresh(whole=True)
    for view in (owner, of("agent"), of("cleo")):
        with pytest.raises(Corrupt, match="gone from the server"):
            view.read("MEMORY.md")
    if whole_issue:
        invitations.invite(owner.log, "ana")  # this machine knew who was on the list, and since when
        for view in (owner, of("agent"), of("cleo")):
            view.log.index.refresh(whole=True)
            assert text_of(view) == "two\n"


def test_invitation__the_user_gets_another_login_and_another_user_theirs__the_account_keeps_the_right(gitea, of):
    owner, ana = of("agent"), of("ana", "ana")
    owner.write("MEMORY.md", "one\n")
    invitations.invite(owner.log, "ana")
    ana.write("MEMORY.md", "two\n")
    gitea.rename_user("ana", "anna")
    mallory = of("ana", "mallory")  # a new account
    mallory.write("MEMORY.md", "evil\n")
    for view in (owner, of("agent"), of("cleo")):
        assert text_of(view) == "two\n"
    anna = of("anna", "ana")
    anna.write("MEMORY.md", "three\n")
    assert text_of(of("agent")) == "three\n"


def test_authors__a_named_user_gives_up_their_login__the_next_with_it_does_not_count_on_machines_that_knew(gitea, of):
    owner = of("agent", "owner", authors=("ana",))
    of("ana", authors=("ana",)).write("MEMORY.md", "two\n")
    assert text_of(owner) == "two\n"
    with owner.log.sharing():
        pass  # saves the index
    gitea.rename_user("ana", "anna")
    number = issue_of(gitea, "doc:MEMORY.md")
    base = (marker.fields(gitea.bodies(REPO, number)[-1]) or {})["id"]
    body = marker.frame("x", "evil\n", id=replay.new_id(), kind="ver", base=base)
    gitea.make_comment(REPO, number, body, poster="ana")
    for view in (owner, of("agent", "owner", authors=("ana",))):
        assert text_of(view) == "two\n"


def test_invited_user__who_may_only_read_the_repository__writes_all_but_a_deletion(gitea, of):
    """The mark of a deletion is in the issue's body, which only its author and users with write access may edit."""
    owner, ana = of("agent"), of("ana")
    invitations.invite(owner.log, "ana")
    owner.append(DAY, make_block("one"), HEADER, "one")
    with pytest.raises(Closed, match="may not do that"):
        ana.delete(DAY)
    assert text_of(owner, DAY) is not None
    owner.delete(DAY)
    of("ana").append(DAY, make_block("two"), HEADER, "two")
    for view in (owner, ana, of("agent")):
        assert view.names() == [DAY]
        assert (text_of(view, DAY) or "").count("holdfast:block") == 1
    ana.write("USER.md", "of ana\n")
    ana.delete("USER.md")
    assert text_of(of("agent"), "USER.md") is None
    owner.write("USER.md", "one\n")
    ana.write("USER.md", "two\n", sha256("one\n"))
    assert text_of(of("agent"), "USER.md") == "two\n"


def test_start__users_were_invited__costs_one_request_more_once(gitea, of):
    owner = of("agent")
    owner.write("MEMORY.md", "one\n")
    of("ana")
    invitations.invite(owner.log, "ana")
    counts = []
    for _ in range(3):
        view = of("agent", "same")
        gitea.requests.clear()
        view.read("MEMORY.md")
        counts.append(len(gitea.requests))
        with view.log.sharing():
            pass  # saves the index
    assert counts == [3, 2, 2]  # the list of issues, the document, and the first time the list of users


def test_doctor__who_may_write_and_why__is_listed(of):
    owner = of("agent", authors=("carol",))
    of("ana")
    invitations.invite(owner.log, "ana")
    with deadline(30):
        [line] = [c.message for c in access(owner.log) if "records count from" in c.message]
    assert "agent (owner of the repository)" in line
    assert "carol (named in `[storage] authors` on this machine)" in line
    assert "ana (invited by agent on " in line


@pytest.fixture
def command(gitea, project, monkeypatch, capsys) -> Callable[..., Any]:
    """``holdfast gitea ...`` in a project whose store is on the fake server: exit code, and stdout with stderr."""
    address = f'server = "{gitea.url}"\nrepository = "{REPO}"\n'
    (project / "holdfast.toml").write_text(f'[storage]\nbackend = "gitea"\n{address}')
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.token)
    trusted(project)

    def run(*words: str) -> tuple[int, str]:
        code = main(["gitea", *words, "--root", str(project)])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_command__invite_list_and_revoke__says_who_may_write(gitea, of, command):
    ana = of("ana")
    assert command("invite", "ana") == (0, "the records of ana (id 3) count from now on\n")
    ana.write("MEMORY.md", "one\n")
    code, said = command("invite")
    assert (code, said.count("\n")) == (0, 2)
    assert "owner of the repository" in said
    assert "invited by agent on" in said
    code, said = command("invite", "ana", "--revoke", "--json")
    found = json.loads(said)
    assert (code, found["ok"], found["taken_over"], found["user"]["state"]) == (0, True, 1, "revoked")
    found = json.loads(command("invite", "--json")[1])
    assert [one["login"] for one in found["writers"]] == ["agent"]
    assert [(one["login"], one["state"]) for one in found["invited"]] == [("ana", "revoked")]
