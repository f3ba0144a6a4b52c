"""``holdfast plugin``: write a new plugin from the templates, check an installed one."""

import importlib.util
import keyword
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Final

from holdfast.api import Holdfast, Refused
from holdfast.plugin import discovery
from holdfast_cli.command import Answer, Call, Command, UsageError, argument
from holdfast_memory import DISTRIBUTION

#: The kinds of plugin: folders in ``templates``.
KINDS: Final = ("validator", "extractor", "dreamer", "publisher", "forge", "backend", "model", "feature")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_MAX_NAME = 40
_SUFFIX = ".tmpl"
_TEMPLATES = Path(__file__).with_name("templates")


def create(name: str, kind: str, folder: str = "") -> tuple[str, str, list[str]]:
    """Write the distribution ``holdfast-NAME`` of the given kind into ``folder``, which must not exist. Returns the
    folder, the distribution's name, and its files, relative to the folder and sorted.

    By default the folder is ``holdfast-NAME`` in the working directory. Nothing outside of it is written. Raises:
    UsageError for an unusable name; Refused when the name is taken or the folder exists; OSError.
    """
    short = _short_name(name)
    plugin = short.replace("-", "_")
    values = {
        "distribution": f"holdfast-{short}",
        "module": f"holdfast_{plugin}",
        "plugin": plugin,
        "command": short,
        "variable": plugin.upper(),
        "prefix": "".join(part.capitalize() for part in short.split("-")),
        "requirement": f"{DISTRIBUTION}{'[forges]' if kind == 'forge' else ''}>=0.1,<1",
        "test_requirement": f"{DISTRIBUTION}[testing]>=0.1,<1" if kind in ("backend", "forge") else "pytest>=8.3",
    }
    _check_free(values, kind)
    target = os.path.abspath(folder or values["distribution"])
    try:
        os.mkdir(target)
    except OSError as error:
        raise Refused(
            f"{target!r} could not be made, and nothing was written: {error.strerror or error}.",
            next_step="Choose another folder with `--dir`.",
        ) from error
    written: list[str] = []
    for path, text in _rendered(kind, values):
        full = Path(target, path)
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return target, values["distribution"], sorted(written)


def _short_name(name: str) -> str:
    """The name without ``holdfast-`` in front of it, with hyphens. Raises: UsageError."""
    short = re.sub(r"^holdfast[-_]", "", name)
    if len(short) > _MAX_NAME or not _NAME.fullmatch(short) or keyword.iskeyword(short):
        raise UsageError(
            f"{name[:_MAX_NAME]!a} is not a valid plugin name.",
            next_step=f"Use lower-case letters, digits and single hyphens, at most {_MAX_NAME}, like `acme-rules`.",
        )
    return short.replace("_", "-")


def _check_free(values: Mapping[str, str], kind: str) -> None:
    """Raises: Refused when an installed module, plugin, method or command has the name."""
    plugin, groups = values["plugin"], {discovery.BACKENDS if kind == "backend" else discovery.PLUGINS}
    taken = bool(importlib.util.find_spec(values["module"]))
    if kind == "feature":
        groups |= {discovery.METHODS, discovery.COMMANDS, discovery.CHECKS}
        taken |= hasattr(Holdfast, plugin)
    names = {entry.name for entry in discovery.scan() if entry.group in groups}
    if taken or {plugin, values["command"]} & names:
        raise Refused(f"The name {plugin!r} is taken by an installed package.", next_step="Choose another name.")


def _rendered(kind: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    own = _TEMPLATES / kind
    parts = {
        "summary": (own / "summary.txt").read_text("utf-8").strip(),
        "entry_points": _filled(own / f"entry_points.toml{_SUFFIX}", values),
        "usage": _filled(own / f"usage.md{_SUFFIX}", values),
    }
    folders = (_TEMPLATES / "common", ""), (own / "src", f"src/{values['module']}/"), (own / "tests", "tests/")
    for folder, into in folders:
        for file in folder.glob(f"*{_SUFFIX}"):
            name = file.name.removesuffix(_SUFFIX).replace("gitignore", ".gitignore")
            yield into + name, _filled(file, {**values, **parts})
    yield f"src/{values['module']}/py.typed", ""


def _filled(file: Path, values: Mapping[str, str]) -> str:
    return Template(file.read_text("utf-8")).substitute(values)


plugin = Command(
    "Manage",
    "for authors: write a new plugin, or check an installed one",
    argument("--kind", metavar="KIND", choices=KINDS, help=f"its purpose: {', '.join(KINDS)}", group="new"),
    argument("--dir", metavar="DIR", default="", help="new folder (default: holdfast-NAME)", group="new"),
    argument(
        "--settings", metavar="FILE", default="", help="TOML file with keys for the plugin's table", group="check"
    ),
    examples=(
        "holdfast plugin new acme-rules --kind validator",
        "holdfast plugin check holdfast-acme-rules",
        "holdfast plugin check holdfast-acme-rules --settings acme.toml --json",
    ),
    notes="`holdfast plugins` lists the installed plugins and the hooks of each.",
)


@plugin.action("new NAME", "kind", "dir")
def _new(call: Call) -> Answer:
    if call.args.kind is None:
        raise UsageError(
            "`holdfast plugin new` needs a kind.", next_step=f"Add `--kind` and one of {', '.join(KINDS)}."
        )
    (folder, distribution, files), out = create(call.names[0], call.args.kind, call.args.dir), call.out
    out.say(f"{out.mark('ok')} {out.bold(distribution)} in {out.plain(folder)}")
    for file in files:
        out.say(f"    {file}")
    out.next_step("go there, and run `python -m pip install -e '.[test]' && python -m pytest`")
    return Answer({"folder": folder, "distribution": distribution, "files": files})


@plugin.action("check DISTRIBUTION", "settings")
def _check(call: Call) -> Answer:
    from holdfast_authoring.inspection import inspected

    name, out = call.names[0], call.out
    rows = inspected(name, settings_file=call.args.settings)
    failed = sum(row.outcome == "fail" for row in rows)
    marks = {"ok": "ok", "note": "dot", "fail": "fail"}
    cells = [((row.entry, "bold"), out.mark_cell(marks[row.outcome]), row.check, row.message) for row in rows]
    out.say(out.table(cells, head=("entry point", "", "check", "result")))
    verdict = f"{failed} of {len(rows)} checks failed" if failed else f"{name} follows the specifications"
    out.say(f"\n{out.mark('fail' if failed else 'ok')} {verdict}")
    return Answer({"distribution": name, "checks": [row._asdict() for row in rows]}, ok=not failed)
