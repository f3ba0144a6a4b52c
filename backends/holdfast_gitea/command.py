"""``holdfast gitea``: who may write the memory in a store on a Gitea server."""

from holdfast.errors import ConfigError
from holdfast.storage import deadline
from holdfast_cli.command import SILENT_S, Answer, Call, Command, UsageError, argument, flag
from holdfast_gitea import invitations
from holdfast_gitea.authors import Member
from holdfast_gitea.backend import GiteaBackend

gitea = Command(
    "Manage",
    "manage a store on a Gitea server: invite users whose records count, revoke, list",
    flag("--revoke", "end that user's invitation"),
    argument("--id", metavar="N", type=int, default=0, help="the user's id, if the token may not ask for it"),
    examples=("holdfast gitea invite", "holdfast gitea invite ana", "holdfast gitea invite ana --revoke"),
    notes="Without a user it lists who may write.",
)


@gitea.action("invite [USER]")
def _invite(call: Call) -> Answer:
    args, user = call.args, call.names[0] if call.names else ""
    if not user and (args.revoke or args.id):
        raise UsageError("Whose invitation?", next_step="Name the user: `holdfast gitea invite ana --revoke`.")
    if args.id < 0 or (args.id and args.revoke):
        message = "--id takes a user's number and excludes --revoke."
        raise UsageError(message, next_step="See `holdfast gitea invite --help`.")
    backend = call.memory.store.backend
    if not isinstance(backend, GiteaBackend):
        raise ConfigError(
            f"This project's store is {call.memory.config.storage.backend!r}, which is not on a Gitea server.",
            next_step='Run this in a project with `[storage] backend = "gitea"`; see docs/forges.md.',
        )
    if args.revoke:
        return _revoke(backend, user)
    with deadline(SILENT_S):
        if not user:
            return _list(backend)
        member = invitations.invite(backend.log, user, args.id)
    return Answer({"user": _row(member)}, f"the records of {member.login} (id {member.id}) count from now on")


def _revoke(backend: GiteaBackend, login: str) -> Answer:
    member, count = backend.revoke(login)
    text = f"further records of {member.login} do not count; earlier ones still do"
    if count:
        text += f"\ndocuments and logs of facts with them that are now in issues of the token's user: {count}"
    return Answer({"user": _row(member), "taken_over": count}, text)


def _list(backend: GiteaBackend) -> Answer:
    members = invitations.listed(backend.log)
    writers = invitations.writers(backend.log)
    lines = [f"{login}: {why}" for login, why in writers]
    for member in members:
        if member.state != "joined":
            state = "revoked" if member.state == "out" else "interrupted while revoking; run it again"
            lines.append(f"{member.login}: {state}")
    rows = [{"login": login, "because": why} for login, why in writers]
    return Answer({"writers": rows, "invited": [_row(member) for member in members]}, "\n".join(lines))


def _row(member: Member) -> dict[str, object]:
    last = member.spans[-1]
    until = last.until_at.isoformat() if last.until_at else None
    return {
        "login": member.login,
        "id": member.id,
        "by": member.by,
        "state": {"joined": "joined", "left": "revoking", "out": "revoked"}[member.state],
        "since": last.since_at.isoformat(),
        "until": until,
    }
