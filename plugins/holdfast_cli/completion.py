"""``holdfast completion SHELL``, and the words that its script asks for at TAB.

The script runs ``holdfast completion words WORD ...``, whose last word is the one to complete. Names can come with a
clone, and a shell may expand them, so only names of plain characters are offered. No server is asked.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast import Holdfast
from holdfast.fs import private
from holdfast.text.lazy import Lazy
from holdfast_app.project_settings import files, resolved
from holdfast_app.settings import project
from holdfast_app.trust import statefolders
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.table import known, other_owner
from holdfast_cli.usage import parser_for

_PLAIN = Lazy(r"(?:--)?[^\W_][\w./:-]*")
#: Stores that are read without a server.
_LOCAL: Final = ("file", "sqlite")
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
    call.out.exact(_SCRIPTS[call.args.shell])
    return Answer({})


def offered(typed: list[str], current: str, root: str | None) -> list[str]:
    """The plain words that may stand in the place of ``current``, after ``typed``. Raises: any HoldfastError."""
    found = (word for word in _offered(typed, current, root) if word.startswith(current))
    return sorted(set(filter(_PLAIN.fullmatch, found)))


def _offered(typed: list[str], current: str, root: str | None) -> Iterable[str]:
    if not typed:
        return (*known(), "--root", "--help", "--version")
    command, *words = typed
    if command not in known() or other_owner(command):
        return ()  # another distribution's module is imported only when its command is called
    # argparse offers no public list of a parser's options. This attribute has always existed.
    actions = parser_for(command)._actions  # noqa: SLF001
    options = {name: action for action in actions for name in action.option_strings}
    asked = options.get(words[-1]) if words else None
    if asked is not None and asked.nargs != 0:
        return _stored("sessions", root) if asked.dest == "session" else map(str, asked.choices or ())
    if current.startswith("-"):
        return (name for name in options if name.startswith("--"))
    first = next((action for action in actions if not action.option_strings), None)
    if not words and command == "config":
        return (setting.key for setting in project.effective(files.find_root(root)))
    if not words and first is not None and first.choices:
        return map(str, first.choices)
    return _stored(_KINDS.get(command, ""), root)


def _stored(kind: str, root: str | None) -> Iterator[str]:
    """The names of ``sessions``, or of ``facts`` or ``documents`` in a local store. Raises: any HoldfastError."""
    folder = files.find_root(root)
    if kind == "sessions":
        names = private.names(os.path.join(statefolders.of_files(folder), "sessions"))
        yield from (stem for stem, end in map(os.path.splitext, names) if end == ".jsonl")
    elif kind:
        storage = resolved.load(folder, lenient=True).storage
        if storage.backend in _LOCAL and os.path.isdir(os.path.join(folder, storage.path)):
            with Holdfast.open(folder) as memory:
                yield from memory.store.names() if kind == "documents" else (fact.id for fact in memory.facts.list())
