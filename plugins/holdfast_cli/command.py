"""How a command is stated: its help, arguments and examples in one declaration, and a function that answers::

    @Command(
        "Manage",
        "count the listed words in MEMORY.md",
        argument("--least", metavar="N", type=int, default=1, help="leave out words that occur less often"),
        examples=("holdfast words", "holdfast words --least 2 --json"),
    )
    def words(call: Call) -> Answer:
        found = count_words(call.memory, call.args.least)
        call.out.say(call.out.table(found.items()))
        return Answer({"words": found})

The entry point ``words = "acme.words:words"`` in the group ``holdfast.commands`` adds it to the command line. What it
prints on ``call.out`` is for people. With ``--json`` that is silent, and the answer's data is printed. A command with
several actions has a function for each, see :meth:`Command.action`.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from holdfast.errors import HoldfastError
from holdfast_app.progress import watched
from holdfast_cli.problem import UsageError as UsageError  # noqa: PLC0414 - for other distributions
from holdfast_cli.problem import as_table, caution, show_error
from holdfast_cli.stdin import can_ask, confirmed, is_agent
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast

Handler: TypeAlias = Callable[["Call"], "Answer | int"]
DEFAULT_SESSION = "default"
_MAX_ID = 200
#: How long a command that shows no progress waits for servers in all, in seconds.
SILENT_S = 50.0
#: Work that ends sooner, in seconds, shows no bar; and the bar's length.
_PATIENCE_S, _BAR = 0.4, 25


class Argument(NamedTuple):
    """An argument as :meth:`argparse.ArgumentParser.add_argument` takes it, and its heading in the help. ``rivals``
    are the names of the arguments that exclude each other, and ``required`` one of them."""

    names: tuple[str, ...]
    options: Mapping[str, Any]
    group: str
    rivals: tuple[str, ...] = ()
    required: bool = False

    @property
    def dest(self) -> str:
        """The parsed arguments' attribute."""
        return str(self.options.get("dest", self.names[0].lstrip("-").replace("-", "_")))

    @property
    def default(self) -> object:
        """The value when it is not given."""
        return self.options.get("default", False if self.options.get("action") == "store_true" else None)


class Answer(NamedTuple):
    """A command's answer: ``data`` for ``--json``, which may hold values of attrs classes, and ``text``, the last lines
    for people.

    Not ``ok`` is exit code 1. An ``error`` left a part undone and is reported after the rest."""

    data: Mapping[str, object]
    text: str = ""
    ok: bool = True
    error: HoldfastError | None = None


class _Action(NamedTuple):
    """An action's function, its usage, and the options that it takes."""

    function: Handler
    usage: str
    takes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The words after the action's name, without the dots that allow more of them."""
        return tuple(name for name in self.usage.split()[1:] if name != "...")


def session_id(text: str) -> str:
    """A session id from the command line. Raises: UsageError for an id that is blank, over 200 characters long or has
    characters that cannot be shown (control characters, bytes that are not UTF-8)."""
    if not text.strip() or len(text) > _MAX_ID or not text.isprintable():
        raise UsageError(
            f"{text[:40]!a} is not a session id.",
            next_step=f"Use 1 to {_MAX_ID} printable characters, like `fix-login`.",
        )
    return text


def at_least(least: int) -> Callable[[str], int]:
    """An argument type for whole numbers from ``least`` on. Raises: ArgumentTypeError."""

    def whole(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(f"takes a whole number from {least} up, like 7, not {text!a}")
        return int(text)

    return whole


positive = at_least(1)


def argument(*names: str, group: str = "", **options: Any) -> Argument:
    """An argument; ``options`` are those of ``add_argument``."""
    return Argument(names, options, group)


def flag(name: str, help: str, *, group: str = "") -> Argument:  # noqa: A002 - as argparse calls it
    """An option without a value."""
    return Argument((name,), {"action": "store_true", "help": help}, group)


def one_of(*arguments: Argument, required: bool = False) -> list[Argument]:
    """Arguments that exclude each other, all with the first one's heading."""
    rivals = tuple(argument.names[0] for argument in arguments)
    return [argument._replace(group=arguments[0].group, rivals=rivals, required=required) for argument in arguments]


SESSION = argument("--session", metavar="ID", type=session_id, help=f"session id (default: {DEFAULT_SESSION})")
DRY_RUN = flag("--dry-run", "show the changes without making them")
#: For changes that cannot be undone; see :meth:`Call.require_person`.
CONFIRMED = (flag("--yes", "do it without asking"), DRY_RUN)


class Command:
    """A command of the command line.

    ``heading`` is the section of ``holdfast --help`` that lists it with ``summary``. ``notes`` follow the examples in
    its own help. ``caution`` warns on stderr about settings that are not in force, for commands that store something.
    ``progress`` shows the progress of long work on stderr.
    """

    def __init__(
        self,
        heading: str,
        summary: str,
        *arguments: Argument,
        examples: Sequence[str],
        notes: str = "",
        usage: str = "",
        json: bool = True,
        caution: bool = False,
        progress: bool = False,
    ) -> None:
        self.HEADING = heading
        self.SUMMARY = summary
        self._caution = caution
        self._progress = progress
        self._arguments = arguments
        self._epilog = "\n".join(["examples:", *(f"  {line}" for line in examples), *(["", notes] if notes else [])])
        self._usage = usage
        self._json = json
        self._default = ""
        self._actions: dict[str, _Action] = {}
        self._function: Handler | None = None

    def __call__(self, function: Handler) -> Command:
        """Take the command's only function."""
        self._function = function
        return self

    def action(self, usage: str, *takes: str, default: bool = False) -> Callable[[Handler], Handler]:
        """Declare an action by its usage: its name and the words after it, like ``keep ID``, ``forget ID ...`` or
        ``status [NAME]``, which are ``call.names``. An argument that an action ``takes`` is an error with others."""

        def declared(function: Handler) -> Handler:
            name = usage.partition(" ")[0]
            self._actions[name] = _Action(function, usage, takes)
            self._default = name if default else self._default
            return function

        return declared

    def configure(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        if self._actions:
            optional: dict[str, Any] = {"nargs": "?", "default": self._default} if self._default else {}
            usages = (f"{a.usage} (default)" if name == self._default else a.usage for name, a in self._actions.items())
            parser.add_argument("action", choices=tuple(self._actions), help=", ".join(usages), **optional)
            if names := dict.fromkeys(name.strip("[]") for action in self._actions.values() for name in action.names):
                parser.add_argument("names", nargs="*", metavar=" or ".join(names), help="what the action is about")
        groups: dict[object, Any] = {"": parser}
        for argument in self._arguments:
            if argument.group not in groups:
                groups[argument.group] = parser.add_argument_group(argument.group)
            if (rivals := argument.rivals) and rivals not in groups:
                groups[rivals] = groups[argument.group].add_mutually_exclusive_group(required=argument.required)
            groups[rivals or argument.group].add_argument(*argument.names, **argument.options)
        if self._json:
            parser.add_argument("--json", action="store_true", help="print JSON, errors too")
        parser.set_defaults(command=parser.prog)
        parser.usage = self._usage or None
        parser.epilog = self._epilog

    def run(self, args: Namespace) -> int:
        """Do it and return the exit code."""
        function = self._actions[args.action].function if self._actions else self._function
        assert function is not None
        if self._actions:
            self._check(args)
        with Call(args, caution=self._caution, progress=self._progress) as call:
            answer = function(call)
            return answer if isinstance(answer, int) else call.give(answer)

    def _check(self, args: Namespace) -> None:
        """Refuse arguments that the action does not take. Raises: UsageError."""
        action, step = self._actions[args.action], f"See `{args.command} --help`."
        names = [name for name in getattr(args, "names", ()) if name.strip()]
        least = sum(not name.startswith("[") for name in action.names)
        if len(names) < least or (len(names) > len(action.names) and "..." not in action.usage):
            raise UsageError(f"The usage is `{args.command} {action.usage}`.", next_step=step)
        others = {name for other in self._actions.values() for name in other.takes} - {*action.takes}
        for argument in self._arguments:
            if argument.dest in others and getattr(args, argument.dest) != argument.default:
                raise UsageError(f"`{args.command} {args.action}` takes no {argument.names[0]}.", next_step=step)


def picked(one: object, *names: str) -> dict[str, Any]:
    """An object's attributes of these names, for ``--json``."""
    return {name: getattr(one, name) for name in names}


class _Bar:
    """The progress of long work on one line of a terminal, which disappears at the end."""

    def __init__(self) -> None:
        self._out = Term(sys.stderr)
        self._shown: tuple[int, str] | None = None
        self._from = time.monotonic() + _PATIENCE_S

    def __call__(self, done: int, total: int, activity: str = "") -> None:
        # An unknown total is redrawn for each item, a known one for each percent.
        step = 100 * done // total if total else done
        if (step, activity) != self._shown and time.monotonic() >= self._from:
            self._shown = step, activity
            drawn = f"{self._out.bar(min(done, total), total, _BAR):<{_BAR}} {done:,} of {total:,}"
            self._out.progress(f"  {drawn if total else f'{done:,}'}  {activity}".rstrip())

    def clear(self) -> None:
        if self._shown is not None:
            self._out.progress("")
            self._shown = None


class Call(ExitStack):
    """A command's call: the parsed arguments, the output, and the project, opened at first use."""

    def __init__(self, args: Namespace, *, caution: bool = False, progress: bool = False) -> None:
        super().__init__()
        self.args = args
        self.json: bool = getattr(args, "json", False)
        self._out = Term(StringIO() if self.json else None)
        self.names: list[str] = getattr(args, "names", [])
        self.bar = _Bar()
        self._caution = caution
        self.callback(self.bar.clear)
        if progress and not self.json and sys.stderr.isatty():
            self.enter_context(watched(self.bar))

    @property
    def out(self) -> Term:
        """The output for people; silent with ``--json``."""
        self.bar.clear()
        return self._out

    @cached_property
    def root(self) -> str:
        """The project's folder. Raises: UsageError."""
        from holdfast_app.project_settings import files

        return files.find_root(self.args.root)

    @cached_property
    def memory(self) -> Holdfast:
        """The opened project. Raises: ConfigError; PluginError; Unavailable."""
        from holdfast import Holdfast

        memory = self.enter_context(Holdfast.open(self.args.root))
        if self._caution:
            caution(memory.services.notices)
        return memory

    @property
    def session(self) -> str:
        """The id of ``--session``, or the default session's."""
        return self.args.session or DEFAULT_SESSION

    def check_words(self, *texts: str | None) -> None:
        """Refuse what a page or a tool may have said, where an agent's shell passes it on. Raises: Refused."""
        if is_agent():
            from holdfast_app.authorship import witness

            witness.check(self.memory.services, filter(None, texts), "the memory")

    def require_own_terminal(self, what: str) -> None:
        """Raises: UsageError in an agent's shell."""
        if is_agent():
            raise UsageError(f"An agent may not {what}.", next_step="Run this in a terminal of your own.")

    def require_person(self, what: str) -> None:
        """Raises: UsageError when ``--yes`` or ``--dry-run`` is missing and stdin is not a terminal."""
        if not (self.args.yes or self.args.dry_run or can_ask()):
            raise UsageError(
                f"{what} cannot be undone, and stdin is not a terminal, so holdfast cannot ask.",
                next_step="Check with --dry-run first, then pass --yes.",
            )

    def agrees(self, question: str) -> bool:
        """Whether ``--yes`` is given, or a person at the terminal answers yes. Does not ask with ``--json``."""
        return self.args.yes or (not self.json and can_ask() and confirmed(question))

    def give(self, answer: Answer) -> int:
        """Print the answer and return the exit code."""
        ok = answer.ok and answer.error is None
        if self.json:
            from holdfast.config.serde import unstructure

            problem = {"error": as_table(answer.error)} if answer.error else {}
            Term().json({"ok": ok, **unstructure(answer.data), **problem})
        elif answer.text:
            self.out.say(answer.text)
        return 0 if ok else show_error(answer.error, as_json=False) if answer.error else 1
