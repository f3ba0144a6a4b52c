"""Test, build, lint, deploy and commit commands in a shell line, when the line's exit status is theirs.

``pytest -q | tail`` ends with the status of ``tail``, and ``pytest; echo done`` with that of ``echo``. Neither shows
whether the tests passed, so neither counts. Lines with loops, substitutions or background jobs do not count.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

TEST, BUILD, LINT, DEPLOY, COMMIT = "test", "build", "lint", "deploy", "commit"

#: Program -> kind.
_PROGRAMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        [
            "pytest",
            "py.test",
            "tox",
            "nox",
            "trial",
            "behave",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "ctest",
            "rspec",
            "phpunit",
            "bats",
            "busted",
        ],
        TEST,
    ),
    **dict.fromkeys(["ninja", "webpack", "tsc"], BUILD),
    **dict.fromkeys(
        [
            "ruff",
            "mypy",
            "pyright",
            "flake8",
            "pylint",
            "eslint",
            "golangci-lint",
            "shellcheck",
            "hadolint",
            "pre-commit",
            "lint-imports",
            "prettier",
            "stylelint",
            "biome",
            "oxlint",
            "rubocop",
            "ktlint",
            "swiftlint",
            "pyrefly",
            "ty",
            "vue-tsc",
            "svelte-check",
        ],
        LINT,
    ),
}
#: Program -> first argument (empty: none) -> kind.
_SCRIPTS: Final = {
    "test": TEST,
    "t": TEST,
    "build": BUILD,
    "lint": LINT,
    "typecheck": LINT,
    "type": LINT,
    "types": LINT,
    "tsc": LINT,
    "check": LINT,
    "deploy": DEPLOY,
    "publish": DEPLOY,
    "release": DEPLOY,
}
_GRADLE: Final = {"test": TEST, "check": TEST, "build": BUILD, "assemble": BUILD}
_SUBCOMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(["npm", "pnpm", "yarn", "bun"], _SCRIPTS),
    "cargo": {"test": TEST, "nextest": TEST, "build": BUILD, "check": BUILD, "clippy": LINT, "publish": DEPLOY},
    "git": {"commit": COMMIT, "push": COMMIT},
    "kubectl": {"apply": DEPLOY},
    "helm": {"install": DEPLOY, "upgrade": DEPLOY},
    **{name: {"validate": LINT, "apply": DEPLOY} for name in ["terraform", "tofu"]},
    "docker": {"build": BUILD, "push": DEPLOY},
    **{
        name: {"deploy": DEPLOY}
        for name in ["vercel", "netlify", "fly", "flyctl", "wrangler", "firebase", "serverless", "sls", "cdk"]
    },
    "twine": {"check": LINT, "upload": DEPLOY},
    "go": {"test": TEST, "build": BUILD, "vet": LINT},
    **{name: {**_SCRIPTS, "check": TEST, "all": BUILD, "": BUILD} for name in ("make", "gmake", "just")},
    "mvn": {"test": TEST, "verify": TEST, "package": BUILD, "compile": BUILD, "install": BUILD},
    **dict.fromkeys(["gradle", "gradlew"], _GRADLE),
    **{
        name: {"test": TEST, "build": BUILD}
        for name in [
            "dotnet",
            "swift",
            "bazel",
            "deno",
            "mix",
            "rake",
            "hatch",
            "composer",
            "sbt",
            "cabal",
            "stack",
            "dart",
            "flutter",
        ]
    },
    "cmake": {"--build": BUILD},
    "node": {"--test": TEST},
}
_MODULES: Final[Mapping[str, str]] = {"unittest": TEST, "build": BUILD}
_WRAPPERS: Final = frozenset({"env", "time", "sudo", "nice", "command", "exec", "xvfb-run", "npx", "pnpx", "bunx"})
_RUN: Final = frozenset({"uv", "poetry", "pipenv", "hatch", "pdm", "rye", "npm", "pnpm", "yarn", "bun"})
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})
#: First words of a command that make a line not plain.
_KEYWORDS: Final = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "select",
        "{",
        "}",
        "!",
        "trap",
        "eval",
        "source",
        ".",
    ]
)
#: Words that stop a command from running a check.
_NO_RUN: Final = frozenset(
    [
        "--version",
        "-V",
        "--help",
        "-h",
        "--collect-only",
        "--co",
        "--list",
        "--dry-run",
        "--if-present",
        "--no-run",
        "--setup-plan",
    ]
)
#: Flags that change the output but not the check.
_PRINTING: Final = frozenset(["-q", "-qq", "-v", "-vv", "-vvv", "-s", "-x", "--quiet", "--verbose", "--silent"])
#: A message read from a here-document, as agents pass it to ``git commit -m``. It does not change the exit status.
_MESSAGE: Final = re.compile(r"""\"\$\(cat <<-?[ \t]*(['\"]?)(\w+)\1\n.*?\n[ \t]*\2[ \t]*\n?[ \t]*\)\"""", re.DOTALL)
#: Here-documents in one line. Each unclosed one costs a pass over the remaining line.
_MOST_MESSAGES: Final = 8
_OPERATORS: Final = "();<>|&\n"
_ENDS: Final = frozenset(";\n")


class Part(NamedTuple):
    """One check in a line: its kind, its words without wrappers (``uv run``) and output-only flags, and the folder the
    line changes to before it."""

    kind: str
    words: tuple[str, ...]
    folder: str = ""

    def covers(self, other: Part) -> bool:
        """Whether a pass of this check proves that the failure in ``other`` is fixed, as the same or a more
        inclusive check."""
        if self == other:
            return True
        if (self.folder, self.words[: self._own]) != (other.folder, other.words[: other._own]):
            return False
        mine, theirs = self.words[self._own :], other.words[other._own :]
        if any(word.startswith("-") for word in mine):
            return False  # a flag may skip some checks
        named = [word for word in theirs if not word.startswith("-")]
        return not mine or (bool(named) and all(_is_within(word, mine) for word in named))

    @property
    def _own(self) -> int:
        """The number of words that name the check itself."""
        return 1 if self.words[0] in _PROGRAMS else 2


def _is_within(word: str, others: Sequence[str]) -> bool:
    return any(word == o or word.startswith((f"{o.rstrip('/')}/", f"{o}::")) for o in others)


def parts(line: str, more: Collection[str] = ()) -> tuple[Part, ...]:
    """The checks whose exit status is that of the shell line ``line``; empty when there are none. ``more`` lists the
    beginnings of additional test commands."""
    return tuple(_parts(line, more, depth=0))


def _parts(line: str, more: Collection[str], depth: int) -> list[Part]:
    commands = _last_chain(line)
    if commands is None or depth > 2:
        return []
    found: list[Part] = []
    folder = ""
    for words in commands:
        plain = _unwrapped(words)
        if plain[:1] == ["cd"]:
            folder = plain[-1]
        elif plain and os.path.basename(plain[0]) in _SHELLS:
            flags = [n for n, word in enumerate(plain) if word in ("-c", "-lc", "-ec")]
            inner = plain[flags[0] + 1 :][:1] if flags else []
            found += [p._replace(folder=p.folder or folder) for p in _parts(inner[0], more, depth + 1)] if inner else []
        elif plain and (kind := _kind(plain, more)):
            found.append(Part(kind, tuple(w for w in _named(plain) if w not in _PRINTING), folder))
    return found


def _last_chain(line: str) -> list[list[str]] | None:
    """The commands joined by ``&&`` that end the line, which all passed if the status is 0. None when the status
    belongs to another command or is unclear."""
    if line.count("<<") <= _MOST_MESSAGES:
        line = _MESSAGE.sub("message", line)
    if "`" in line or "$(" in line or "<<" in line:
        return None
    lexer = shlex.shlex(line.replace("\\\n", " ").strip(), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        words = list(lexer)
    except ValueError:
        return None
    while words and set(words[-1]) <= _ENDS:
        words.pop()
    chain: list[list[str]] = [[]]
    piped = safe = False  # ``safe``: with pipefail a successful pipe has no failed part
    redirecting = False
    for word in words:
        operator = set(word) <= set(_OPERATORS)
        if redirecting:
            redirecting = False
        elif not operator:
            chain[-1].append(word)
        elif word == "&&":
            chain.append([])
        elif set(word) <= _ENDS:
            safe = safe or _has_pipefail(chain)
            chain, piped = [[]], False
        elif word == "|":
            piped = True
            chain.append([])
        elif word[0] in "<>" or word == "&>":
            redirecting = True
            if chain[-1] and chain[-1][-1].isdigit():
                chain[-1].pop()  # a descriptor: 2>
        else:
            return None  # ||, a background job, a subshell
    chain = [command for command in chain if command]
    if (piped and not (safe or _has_pipefail(chain))) or any(command[0] in _KEYWORDS for command in chain):
        return None
    return chain


def _has_pipefail(chain: Sequence[Sequence[str]]) -> bool:
    return any(command[:1] == ["set"] and "pipefail" in command for command in chain)


def _unwrapped(words: list[str]) -> list[str]:
    """The command without variables, and without wrappers that run another program and return its status."""
    while words:
        first, second = os.path.basename(words[0]), words[1] if len(words) > 1 else ""
        if first.partition("=")[0].isidentifier() and "=" in first:
            words = words[1:]  # a variable
        elif first in _WRAPPERS:
            words = words[1:]
        elif first == "timeout" and len(words) > 2:
            words = words[2:]
            while words and words[0].startswith("-"):
                words = words[1:]
        elif (first in _RUN and second in ("run", "exec") and len(words) > 2 and not _script(first, words[2])) or (
            first == "bundle" and second == "exec"
        ):
            words = words[2:]
        elif words[0].startswith("-") and len(words) > 1:
            words = words[1:]  # a flag of the removed wrapper
        else:
            return words
    return words


def _script(program: str, name: str) -> bool:
    """Whether ``PROGRAM run NAME`` runs a script of the project."""
    return program in ("npm", "pnpm", "yarn", "bun") and name.partition(":")[0].partition("-")[0] in _SCRIPTS


def _named(words: Sequence[str]) -> list[str]:
    """The words with the plain program name: ``python -m pytest`` and ``.venv/bin/pytest`` become ``pytest``, and
    ``npm run test`` is ``npm test``."""
    first = os.path.basename(words[0]).removesuffix(".exe").removesuffix(".cmd")
    if first.startswith("python") and list(words[1:2]) == ["-m"] and len(words) > 2:
        return list(words[2:]) if words[2] in _PROGRAMS else ["python -m", *words[2:]]
    rest = list(words[1:])
    if first in ("npm", "pnpm", "yarn", "bun") and rest[:1] == ["run"]:
        rest = rest[1:]
    if first == "npm" and rest[:1] == ["t"]:
        rest[0] = "test"
    return [first, *rest]


def _kind(words: Sequence[str], more: Collection[str]) -> str:
    if any(word.partition("=")[0] in _NO_RUN for word in words[1:]):
        return ""
    if any(_begins(words, shlex.split(one)) for one in more if one.strip()):
        return TEST
    named = _named(words)
    if named[0] == "python -m":
        return _MODULES.get(named[1], "")
    if named[0] in _PROGRAMS:
        return _PROGRAMS[named[0]]
    table = _SUBCOMMANDS.get(named[0])
    if table is None or (named[0] in ("make", "gmake") and "-n" in named):
        return ""
    second = next((w for w in named[1:] if (not w.startswith("-") and "=" not in w) or w in table), "")
    return table.get(second, "") or table.get(second.partition(":")[0].partition("-")[0], "")


def _begins(words: Sequence[str], beginning: Sequence[str]) -> bool:
    return bool(beginning) and list(words[: len(beginning)]) == list(beginning)
