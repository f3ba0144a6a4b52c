"""``doctor`` and ``validate`` check, and say what to do. ``plugins`` lists them. git runs ``merge-driver``."""

import os

from holdfast.errors import Corrupt
from holdfast.fs import durable, safeopen
from holdfast.plugin.discovery import BACKENDS
from holdfast.storage import snapshot
from holdfast.text.humanize import count
from holdfast_app.checkup import threeway
from holdfast_app.checkup.examine import examine, inventory
from holdfast_app.checkup.verify import TAMPERED, verify_all
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, UsageError, argument, flag, picked
from holdfast_file import gitrun

_STYLES = {"loaded": "green", "off": "dim", "failed": "red", "missing": "red"}


@Command(
    "Manage",
    "check that everything works, and repair what can be repaired",
    argument("--fix", "--repair", dest="repair", action="store_true", help="repair files, without losing data"),
    examples=("holdfast doctor", "holdfast doctor --fix", "holdfast doctor --json"),
)
def doctor(call: Call) -> Answer:
    checks, out = examine(call.root, repair=call.args.repair), call.out
    width = max(len(c.name) for c in checks)
    for check in checks:
        message = f"{check.message} (repaired)" if check.repaired else check.message
        out.fill(message, f"{out.mark(check.outcome.value)} {check.name.ljust(width)}  ", " " * (width + 4))
        if check.next_step:
            out.next_step(check.next_step, indent=" " * (width + 4))
    failed, warned = (sum(c.outcome == outcome for c in checks) for outcome in ("fail", "warn"))
    out.say(f"\n{count(failed, 'problem')} to solve, {count(warned, 'warning')}")
    return Answer({"checks": checks}, ok=not failed)


@Command(
    "Inspect",
    "compare journals, notes, memory and facts with their receipts; edits by hand are shown as such",
    examples=("holdfast verify", "holdfast verify --json"),
    notes="Exit code 1 when a journal was tampered with. Documents and facts are yours to edit; what holdfast did not"
    "\nwrite is listed. Rows since a session's last receipt have only checksums.",
    progress=True,
)
def verify(call: Call) -> Answer:
    out = call.out
    with snapshot():  # each receipt reads its documents
        done = verify_all(call.memory.services)
    findings = Project(call.memory).cleaned(done.findings, "name", "what")
    for finding in findings:
        mark, label = ("fail", TAMPERED) if finding.state == TAMPERED else ("dot", "edited by hand, merged or purged")
        out.fill(f"{label}: {finding.what}", f"{out.mark(mark)} {finding.name}  ", "    ")
    compared = f"{count(done.journals, 'journal')} and {count(done.proofs, 'saved document')} compared with receipts"
    out.say(f"{out.mark('dot' if findings else 'ok')} {compared}; {count(len(findings), 'difference')}")
    if findings:
        out.next_step("Nothing for your own edits and purges. Restore a file that you did not edit from git or a copy.")
    table = {"journals": done.journals, "proofs": done.proofs, "findings": findings}
    return Answer(table, ok=not any(finding.state == TAMPERED for finding in findings))


@Command(
    "Manage",
    "list plugins and backends, each with its state and the reason",
    examples=("holdfast plugins", "holdfast plugins --json"),
    notes="A table `[plugins.NAME]` in holdfast.toml enables a plugin. Installing it is not enough.",
)
def plugins(call: Call) -> Answer:
    out, statuses = call.out, [(s, "backend" if s.group == BACKENDS else "plugin") for s in inventory(call.root)]
    rows = [
        (
            (s.name, "bold"),
            kind,
            f"{s.distribution} {s.version}",
            (s.status, _STYLES.get(s.status, "")),
            ", ".join(s.hooks),
        )
        for s, kind in statuses
    ]
    out.say(out.table(rows, head=("name", "kind", "from", "status", "hooks")))
    for s, _ in statuses:
        if s.status in ("failed", "missing"):
            out.fill(s.reason, f"\n{out.mark('fail')} {out.plain(s.name)}: ", "  ")
    keys = ("distribution", "version", "hooks", "status", "reason")
    return Answer({"plugins": [{"name": s.name, "kind": kind, **picked(s, *keys)} for s, kind in statuses]})


@Command(
    "Manage",
    "merge a memory file for git; `holdfast init --git` sets it up",
    argument("base", metavar="BASE", help="the common ancestor; git's %%O"),
    argument("ours", metavar="OURS", help="our version, replaced by the result; git's %%A"),
    argument("theirs", metavar="THEIRS", help="their version; git's %%B"),
    argument("name", metavar="NAME", help="the file's name in the repository; git's %%P"),
    examples=("holdfast merge-driver base ours theirs .holdfast/facts.jsonl",),
    notes="git runs this, and people rarely do. `holdfast init --git` sets it up.",
    json=False,
)
def merge_driver(call: Call) -> int:
    """Merge the files. Raises: Corrupt when a version is damaged; UsageError."""
    args, name = call.args, call.args.name
    paths = [os.path.join(os.path.realpath(os.path.dirname(p)), os.path.basename(p)) for p in (
        args.base, args.ours, args.theirs
    )]  # fmt: skip
    try:
        data = [safeopen.read(path, private=False) for path in paths]
    except OSError as error:
        raise UsageError(
            f"{error.filename!r} cannot be read: {error.strerror or error}.",
            next_step="Pass the three files that git made; `holdfast init --git` lets git do so.",
        ) from error
    if ".holdfast" not in name.split("/")[:-1]:  # a pulled .gitattributes can name this driver for any file
        return 0 if gitrun.merge_file(call.root, *paths) else 1
    base, *sides = [version.decode("utf-8", "replace") for version in data]
    foreign = f"{name} is not UTF-8 text on one side of the merge."
    problems = [
        threeway.damage(base, text, name) if text.encode() == raw else foreign
        for text, raw in zip(sides, data[1:], strict=True)
    ]
    if not any(problems):
        durable.replace(paths[1], threeway.merge(base, sides[0], sides[1], name).encode())
        return 0
    if not problems[1]:
        durable.replace(paths[1], data[2])  # so that even `git commit -am` does not take the damaged version
    hint = "The intact version is in the file now" if not all(problems) else "Restore the file from an earlier commit"
    step = f"{hint}. Check it, then run `git add {name}` and `git commit`."
    raise Corrupt(problems[0] or problems[1], next_step=step)


@Command(
    "Manage",
    "check every stored document; exit code 1 for errors",
    argument("documents", metavar="NAME", nargs="*", help="a document or its path (default: check all)"),
    flag("--strict", "warnings count as errors"),
    flag("--fix", "create missing files of the three and add missing anchors, as init --three-files does"),
    examples=("holdfast validate", "holdfast validate --strict --json", "holdfast validate --fix"),
)
def validate(call: Call) -> Answer:
    args, memory = call.args, call.memory
    where = memory.store.backend.where
    # Hooks and editors pass a document's path instead of its name.
    paths = [name.replace("\\", "/").removeprefix("./") for name in args.documents]
    known = {where(name): name for name in memory.store.names()}
    names = [known.get(path, path.removeprefix(f"{memory.config.storage.path.strip('/')}/")) for path in paths]
    result, fixed = memory.validate(names), []
    if args.fix and not {"document/missing", "anchors/missing"}.isdisjoint(finding.rule for finding in result.findings):
        fixed = memory.create_three_files()[0]
        result = memory.validate(names)
    keys, out = ("line", "rule", "severity", "message", "fix"), call.out
    rows = [{"file": where(finding.name), **picked(finding, *keys)} for finding in result.findings]
    for row in rows:
        place = f"{row['file']}:{row['line']}" if row["line"] else row["file"]
        out.note("fail" if row["severity"] == "error" else "warn", f"{place}: {row['message']} ({row['rule']})")
        if row["fix"]:
            out.next_step(row["fix"], indent="    ")
    errors, warnings = len(result.errors), len(result.warnings)
    checked = (
        f"{count(len(result.checked), 'document')} checked: {count(errors, 'error')}, {count(warnings, 'warning')}"
    )
    out.say(f"{out.mark('fail' if errors else 'warn' if warnings else 'ok')} {checked}")
    ok = result.ok and not (args.strict and rows)
    return Answer({"checked": result.checked, "findings": rows, "fixed": fixed, "strict": args.strict}, ok=ok)
