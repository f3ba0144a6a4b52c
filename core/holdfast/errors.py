"""The error tree. A message is one sentence; ``next_step`` is the action that resolves it.

Where a requirement names a built-in (``KeyError``, ``ValueError``), the class also derives from it. ``exit_code`` is
the command line's exit status: 1 refused or failed, 2 usage or configuration, 3 plugin or backend unavailable.
"""

from __future__ import annotations

TYPE_CHECKING = False  # same as in typing, without the import
if TYPE_CHECKING:
    from types import UnionType

    from holdfast.models.records import Fact, Finding


class HoldfastError(Exception):
    """Base of every error that holdfast raises on purpose.

    ``message`` is one sentence for a person; ``next_step`` (may be empty) is the action that resolves it.
    """

    exit_code = 1

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".rstrip()


class ConfigError(HoldfastError, ValueError):
    """The configuration is invalid. The message contains the key's path.

    For a mistake in a project's settings file, ``detail`` is that sentence, for people. The file may come from an
    attacker and agents read messages, so the message then only has a code, the file and the line.
    """

    exit_code = 2

    def __init__(self, message: str, *, next_step: str = "", detail: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.detail = detail

    def for_people(self) -> ConfigError:
        """The same error with its detail as the message, for commands that agents do not run."""
        return ConfigError(self.detail, next_step="Correct it there.") if self.detail else self


class NotTrusted(ConfigError):
    """Configuration that came with the project needs the user's trust first: see ``holdfast trust``."""


class SettingsIgnored(UserWarning):
    """Settings that came with the project are not in force. :meth:`holdfast.Holdfast.open` warns with this."""


class BadValue(HoldfastError, ValueError):
    """A caller's value cannot be used; ``field`` names it, and the message begins with the name."""

    exit_code = 2

    def __init__(self, field: str, problem: str, *, next_step: str = "") -> None:
        super().__init__(f"{field} {problem}.", next_step=next_step)
        self.field = field


def must_be(kind: type | UnionType, value: object, field: str) -> None:
    """A check of a caller's value. Raises: BadValue unless it is a ``kind``. A bool is no int."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = "whole number" if kind is int else kind.__name__ if isinstance(kind, type) else str(kind)
        wanted = f"an {wanted}" if wanted[0] in "AEIOi" else f"a {wanted}"
        raise BadValue(field, f"must be {wanted}, not {type(value).__name__}", next_step=f"Give {wanted}.")


def must_be_whole(value: object, field: str, least: int = 0, most: int = 2**53) -> None:
    """Raises: BadValue unless ``value`` is a whole number from ``least`` to ``most``."""
    must_be(int, value, field)
    if not isinstance(value, int) or not least <= value <= most:
        raise BadValue(field, f"is not from {least} to {most}", next_step="Give a number in between.")


class PluginError(HoldfastError):
    """A plugin or backend could not be found, loaded or called."""

    exit_code = 3


class PluginNotFound(PluginError):
    """An enabled plugin, or the configured backend, is not installed."""


class PluginLoadFailed(PluginError):
    """A plugin is installed and cannot be used: import error, duplicate name, unknown hook."""


class HookFailed(PluginError):
    """An implementation raised, ran past its deadline or returned the wrong type.

    ``next_step`` is the plugin's own if it gives one, otherwise to fix or disable the plugin, with the ``place`` in its
    code.
    """

    def __init__(
        self, *, plugin: str, distribution: str, hook: str, reason: str, next_step: str = "", place: str = ""
    ) -> None:
        fix = f"Fix or disable it: set `[plugins.{plugin}] enabled = false` in holdfast.toml."
        if distribution == "this process":  # it was given to `open`, and no setting reaches it
            fix = "Fix it, or open the project without it."
        super().__init__(
            f"Plugin {plugin!r} ({distribution}) failed in {hook}: {reason.rstrip('.')}.",  # it may be a sentence
            next_step=next_step or (f"{fix} It failed at {place}." if place else fix),
        )
        self.plugin = plugin
        self.distribution = distribution
        self.hook = hook
        self.reason = reason


class StorageError(HoldfastError):
    """A storage backend could not complete the operation. It left no partial write."""


class NotFound(StorageError, KeyError):
    """The named object does not exist."""

    def __str__(self) -> str:  # KeyError would print its argument's repr
        return HoldfastError.__str__(self)


class Conflict(StorageError):
    """The stored revision is not the expected one, because another process wrote in between."""


class DuplicateFact(StorageError, ValueError):
    """An update would make two facts equal, so nothing was changed."""


class Unavailable(StorageError):
    """The store cannot be reached or written now, but the same call may succeed later."""

    exit_code = 3


class TryLater(Unavailable):
    """A forge publishes nothing now and requests a pause of ``after_s`` seconds."""

    def __init__(self, message: str, *, next_step: str = "", after_s: float = 0.0) -> None:
        super().__init__(message, next_step=next_step)
        self.after_s = after_s


class Corrupt(StorageError):
    """Stored data is not in the expected format. Never treated as empty, never overwritten.

    ``intact`` are the facts that can be read, where a listing of facts met a damaged one.
    """

    intact: tuple[Fact, ...] = ()


class Unsupported(StorageError):
    """This backend does not have that capability."""


class Refused(HoldfastError):
    """The gate refused the content, and none of it was stored."""

    def __init__(self, message: str, *, next_step: str = "", findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message, next_step=next_step)
        self.findings = findings


class FlushRefused(HoldfastError):
    """Context may not be dropped, because the flush is not durable and verified. The session is UNSAFE.

    ``missing`` lists the absent payload fields; ``target`` is the failed surface or document.
    """

    def __init__(self, message: str, *, next_step: str = "", missing: tuple[str, ...] = (), target: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.missing = missing
        self.target = target


class NothingToFlush(FlushRefused):
    """The session is empty and no payload was stated, so there is nothing to prove. The session is not UNSAFE."""


class AnswerUnusable(HoldfastError):
    """A model's answer has no readable facts, not even an empty list. Memory is unchanged."""


class ModelFailed(HoldfastError):
    """A model could not be reached, or refused. ``status`` is the HTTP status, None without a response.

    ``retry_after_s`` is the delay that the server requests, in seconds. The message never holds a key or a prompt.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        next_step: str = "",
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, next_step=next_step)
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
