"""Base class for the four plugins that run the user's own program as a model, in an empty folder.

The program gets no tools, no hooks, no MCP servers and no memory of its own, and holdfast started inside it does
nothing (:mod:`holdfast_memory.nested`). The conversation goes to its stdin, never onto its command line.
"""

import os
import shutil
import tempfile
import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from holdfast.errors import ModelFailed
from holdfast.fs import durable, userdir
from holdfast_memory import nested
from holdfast_models.base import ModelPlugin
from holdfast_models.cli import programs
from holdfast_models.retry import Completion

#: The model's name when the program chooses it.
_OWN_CHOICE = "default"
#: Variables that a client sets for its child processes. With them the program would join the client's session.
_SESSION_OF = ("CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "PWD", "OLDPWD")
_SESSION_PREFIXES = ("CLAUDE_PLUGIN_", "HOLDFAST_")
#: Minimum age, in seconds, of a call folder left by a killed call.
_STALE_S = 86_400.0
#: The file with the model's instructions, in the call folder.
SYSTEM_FILE = "system.md"

#: How to start the program: arguments after its path, and variables to add to its environment.
Start: TypeAlias = tuple[tuple[str, ...], Mapping[str, str]]


class CliModel(ModelPlugin):
    """A program as a model. Raises: ConfigError for an unknown or unusable setting."""

    #: The program's name on PATH.
    program: ClassVar[str]
    #: Session variables of this client, in addition to the common ones.
    session_variables: ClassVar[tuple[str, ...]] = ()
    known_settings: ClassVar[tuple[str, ...]] = (
        "model", "program", "timeout_s", "max_retries", "budget_s", "dream_timeout_s", "dream_budget_s"
    )  # fmt: skip
    #: Shorter than the 60 s of ``on_extract``, so that the program is ended before the call is abandoned.
    defaults: ClassVar[Mapping[str, object]] = {
        "model": _OWN_CHOICE, "timeout_s": 50.0, "budget_s": 55.0, "max_retries": 0, "dream_timeout_s": 300.0
    }  # fmt: skip

    @abstractmethod
    def start(self, program: str, folder: str, system: str, env: Mapping[str, str]) -> Start:
        """How to start ``program`` in ``folder``, whose file :data:`SYSTEM_FILE` holds ``system``. May write into the
        folder and run the program to ask for its settings. Raises: ModelFailed, OSError."""

    @abstractmethod
    def parse(self, ended: programs.Ended) -> Completion:
        """Parse the answer from the program's output. Raises: ModelFailed."""

    def clean(self, folder: str, env: Mapping[str, str]) -> None:
        """Remove the program's records of the conversation outside of ``folder``. Never raises."""

    def complete(self, system: str, user: str, *, max_tokens: int, timeout_s: float) -> Completion:
        """Run the program once. ``max_tokens`` is not used, because no program takes it. Raises: ModelFailed."""
        if nested.inside():
            raise ModelFailed("holdfast runs inside a model that holdfast started, so it asks no model.")
        program = programs.find(self.program, self._name, self._root)
        # Letters and digits only, because programs name folders of their own after it.
        folder = os.path.join(self._outside(), f"holdfast-model-{os.urandom(8).hex()}")
        os.mkdir(folder, 0o700)
        # The user's environment without a client's session and holdfast's own settings. Temporary files go into the
        # folder, because some programs write the conversation into their error reports.
        left_out = (*_SESSION_OF, *self.session_variables)
        env = {k: v for k, v in os.environ.items() if k not in left_out and not k.startswith(_SESSION_PREFIXES)}
        env |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), folder)
        env |= {"PATH": programs.safe_path(self._root), nested.MARK: "1"}
        try:
            with open(os.path.join(folder, SYSTEM_FILE), "w", encoding="utf-8") as file:
                file.write(system)
            arguments, more = self.start(program, folder, system, env)
            argv = (program, *arguments)
            ended = programs.run(argv, user, folder=folder, env={**env, **more}, timeout_s=timeout_s)
        except OSError as error:
            raise ModelFailed(
                f"`{self.program}` could not be started: {error.strerror}.",
                next_step=f"Run `{self.program}` in a terminal to see why.",
            ) from error
        finally:
            self.clean(folder, env)
            shutil.rmtree(folder, ignore_errors=True)
        if ended.late:
            raise programs.killed(self.program, timeout_s)
        return self.parse(ended)

    def failed(self, report: str, status: int | None = None, *, code: int = 0) -> ModelFailed:
        """The error for the program's report, see :func:`holdfast_models.cli.programs.failed`."""
        return programs.failed(self.program, self._name, report, status, code=code)

    @property
    def model_arguments(self) -> tuple[str, ...]:
        """``--model NAME``, or nothing for the program's own choice."""
        model = self.settings.model
        return () if model == _OWN_CHOICE else (f"--model={model}",)

    def _outside(self) -> str:
        """A private folder outside of the project for the folders of single calls. The user's own is the first choice:
        programs read settings in the folders above, and other users can write into the system's temporary folder.

        Raises: ModelFailed when both are inside the project; Unavailable.
        """
        own = userdir.path("models")
        if not programs.inside(own, self._root):
            durable.make_private_dir(own)
            for old in (entry for entry in os.scandir(own) if entry.is_dir(follow_symlinks=False)):
                if time.time() - old.stat(follow_symlinks=False).st_mtime > _STALE_S:  # its process was killed
                    shutil.rmtree(old.path, ignore_errors=True)
            return own
        if programs.inside(tempfile.gettempdir(), self._root):
            raise ModelFailed(
                "The folder for temporary files is inside the project.",
                next_step="Set TMPDIR to a folder outside of it.",
            )
        return tempfile.gettempdir()
