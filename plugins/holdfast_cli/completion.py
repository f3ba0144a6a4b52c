"""``holdfast completion SHELL``, and the words that its script asks for at TAB.

The script runs ``holdfast completion words WORD ...``, whose last word is the one to complete. Names can come with a
clone, and a shell may expand them, so only names of plain characters are offered. They are read from plain files and
SQLite, never from a server.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from holdfast.config import settings, statefolder
from holdfast.text.lazy import Lazy
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.table import known, other_owner
from holdfast_cli.usage import parser_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PLAIN = Lazy(r"[^\W_][\w./:-]*")
_FACT = Lazy(r'"id": ?"(fact_[0-9a-f]+)"')
#: The layouts' document folders under the project, each with its documents' name prefix.
_PLACES = (
    (".holdfast", ""),
    (".opencode/holdfast", "holdfast/"),
    (".opencode/context/01_memory", "context/01_memory/"),
    ("timmy-config", "timmy-config/"),
    ("timmy-home", "timmy-home/"),
)
#: The most files to look at, and the largest one to read, in bytes.
_MOST, _LARGEST = 5_000, 1 << 24
#: Commands whose words are stored names, with the kind.
_KINDS: Final = {
    **dict.fromkeys(("show", "validate", "why"), "documents"),
    **dict.fromkeys(("sessions", "work"), "sessions"),
    "facts": "facts",
}
_SCRIPTS: Final = {
    "bash": """_holdfast() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    "${COMP_WORDS[0]}" completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _holdfast holdfast
""",
    "zsh": """#compdef holdfast
_holdfast() {
  local -a found
  found=(${(f)"$("${(Q)words[1]}" completion words "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
if (( $+functions[compdef] )); then compdef _holdfast holdfast; fi
""",
    "fish": """function __holdfast_words
  set -l words (commandline -opc)
  set -g __holdfast_found ($words[1] completion words $words[2..-1] "$(commandline -ct)" 2>/dev/null)
  test (count $__holdfast_found) -gt 0
end
complete -c holdfast -n __holdfast_words -f -a '$__holdfast_found'
""",
}


@Command(
    "Manage",
    "print a completion script for your shell",
    argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help=", ".join(_SCRIPTS)),
    examples=(
        'eval "$(holdfast completion bash)"        # in ~/.bashrc (or zsh in ~/.zshrc)',
        "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
    ),
    notes="It offers commands, options, session ids, facts, documents, clients and settings."
    "\nServers are not asked, so facts and documents are offered only from files and SQLite.",
    json=False,
)
def completion(call: Call) -> Answer:
    """The script."""
    return Answer({}, lambda out: out.exact(_SCRIPTS[call.args.shell]))


def offered(typed: list[str], current: str, root: str | None) -> list[str]:
    """The words that may stand in the place of ``current``, after ``typed``. Raises: any HoldfastError."""
    return sorted({word for word in _offered(typed, current, root) if word.startswith(current)})


def _offered(typed: list[str], current: str, root: str | None) -> Iterable[str]:
    if not typed:
        return (*known(), "--root", "--help", "--version")
    command, *given = typed
    if command not in known() or other_owner(command):
        return ()  # another distribution's module is imported only when its command is called
    # argparse offers no public list of a parser's options. This attribute has always existed.
    actions = parser_for(command)._actions  # noqa: SLF001
    asked = next((one for one in actions if given and given[-1] in one.option_strings and one.nargs != 0), None)
    if asked is not None:
        return _stored("sessions", root) if asked.dest == "session" else map(str, asked.choices or ())
    if current.startswith("-"):
        return (name for one in actions for name in one.option_strings if name.startswith("--"))
    first = next((one for one in actions if not one.option_strings), None)
    if not given and command == "config":
        from holdfast_app.settings import project

        return (one.key for one in project.effective(settings.find_root(root)))
    if not given and first is not None and first.choices:
        return map(str, first.choices)
    return _stored(_KINDS.get(command, ""), root)


def _stored(kind: str, root: str | None) -> Iterator[str]:
    """The plain names of ``sessions``, ``facts`` or ``documents`` of a store in files. Raises: ConfigError."""
    folder = settings.find_root(root)
    if kind == "sessions":
        names = _listed(os.path.join(statefolder.of_files(folder), "sessions"))
        yield from (stem for stem, end in map(os.path.splitext, names) if end == ".jsonl" and _PLAIN.fullmatch(stem))
    elif kind:
        yield from filter(_PLAIN.fullmatch, _in_files(kind, folder))


def _in_files(kind: str, root: str) -> Iterator[str]:
    for place, prefix in _PLACES:
        top = os.path.join(root, place)
        for folder, folders, names in os.walk(top):
            folders[:] = [one for one in folders if one != "state" or folder != top]
            inside = "" if folder == top else os.path.relpath(folder, top).replace(os.sep, "/") + "/"
            for name in names[:_MOST]:
                if name.endswith(".db"):
                    yield from _in_database(kind, os.path.join(folder, name))
                elif kind == "documents" and name.endswith(".md"):
                    yield prefix + inside + name
                elif kind == "facts" and name.endswith(".jsonl"):
                    yield from _FACT.findall(_text(os.path.join(folder, name)))


def _in_database(kind: str, path: str) -> list[str]:
    import sqlite3

    column = {"facts": "id FROM facts", "documents": "name FROM documents"}[kind]
    try:
        database = sqlite3.connect(f"file:{path.replace('?', '%3f').replace('#', '%23')}?mode=ro&immutable=1", uri=True)
        try:
            return [str(row[0]) for row in database.execute(f"SELECT {column} LIMIT {_MOST}")]
        finally:
            database.close()
    except sqlite3.Error:
        return []


def _text(path: str) -> str:
    try:
        about = os.lstat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
