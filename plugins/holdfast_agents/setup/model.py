"""The model for facts and dreams is a client's own login, which the user accepts once, for all projects."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from holdfast_agents.setup.clients import CLIENTS
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import can_ask
from holdfast_cli.terminal import home_short

if TYPE_CHECKING:
    from argparse import Namespace

    from holdfast_app.config import Config
    from holdfast_cli.command import Call


class _Login(NamedTuple):
    """A program with a login of its own, the plugin that runs it, and its name for people."""

    program: str
    plugin: str
    shown: str


LOGINS: Final = {
    "claude-code": _Login("claude", "claude_cli", CLIENTS["claude-code"].shown),
    "codex": _Login("codex", "codex_cli", CLIENTS["codex"].shown),
    "opencode": _Login("opencode", "opencode_cli", CLIENTS["opencode"].shown),
    "gemini": _Login("gemini", "gemini_cli", "Gemini CLI"),
}
_QUESTION: Final = """\
{shown} can write down the results of your sessions: facts, decisions and failed approaches. It uses its own login.
  sent: your turns and the agent's, redacted, to the provider that has them already
  calls: about one for each session and each 60,000 characters, at most {most} a day, and one or two for a dream
Use it in all your projects? [Y/n{others}] """


def read(args: Namespace) -> None:
    """Put the client's and the login's name in place: ``--model`` alone means the client's own, and it may come
    before the client's name. Raises: UsageError."""
    if args.client is None and args.model in CLIENTS:
        args.client, args.model = args.model, ""
    if args.client is not None and args.model == "":
        args.model = args.client
    if args.model and args.model not in LOGINS:
        raise UsageError(
            f"--model takes {', '.join(LOGINS)}, not {args.model!a}.",
            next_step='For a model with a key, see docs/facts.md, "Extraction by a model".',
        )


def chosen(call: Call, root: str) -> str:
    """The login to switch on, by ``--model``, or as the user answers on a terminal; otherwise empty."""
    if call.args.model is not None:
        return str(call.args.model)
    login = LOGINS.get(call.args.client)
    is_here = login is not None and shutil.which(login.program) is not None
    return _asked(call.args.client, root) if is_here and can_ask() and not call.json and lacks(call, root) else ""


def lacks(call: Call, root: str) -> bool:
    """Whether no login is switched on, and the user did not decline one."""
    from holdfast.config import resolved

    config = resolved.load(root, lenient=True)
    return not call.args.no_model and not any(config.plugin(one.plugin).enabled for one in LOGINS.values())


def step(client: str) -> str:
    """The manual step that switches a model on."""
    name = client if client in LOGINS else "claude-code"
    return (
        "No model reads your conversations, so memory keeps only statements. "
        f"`holdfast install {client} --model{'' if name == client else f' {name}'}` uses {LOGINS[name].shown}'s own "
        "login for it."
    )


def switch_on(root: str, name: str) -> dict[str, str]:
    """Enable a login in the user's own settings. Raises: like ``holdfast config --user``."""
    from holdfast_app.settings import project

    key = f"plugins.{LOGINS[name].plugin}.enabled"
    return {"key": key, "file": home_short(project.change(root, key, True, user=True))}


def _asked(client: str, root: str) -> str:
    from holdfast.config import resolved

    others = [name for name, one in LOGINS.items() if name != client and shutil.which(one.program)]
    most = cast("Config", resolved.load(root, lenient=True)).extract.calls_a_day
    more = f", or type another: {', '.join(others)}" if others else ""
    question = _QUESTION.format(shown=LOGINS[client].shown, most=most, others=more)
    answers = {"": client, "y": client, "yes": client, "n": "", "no": "", **{name: name for name in others}}
    while True:
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().casefold()
        if not line or answer in answers:
            return answers[answer] if line else ""
