"""Keys of model providers and forges: from the environment, else from the system's keyring, never from a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from holdfast.errors import BadValue, HoldfastError, NotFound

if TYPE_CHECKING:
    from types import ModuleType

SERVICE: Final = "holdfast"
#: The variables that a provider's own tools read, beside ``HOLDFAST_<NAME>_KEY``, which comes first.
USUAL_VARIABLES: Final[Mapping[str, Sequence[str]]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gitea": ("HOLDFAST_GITEA_TOKEN", "GITEA_TOKEN"),
}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class KeyringUnusable(HoldfastError):
    """This machine has no keyring that can be used now."""

    exit_code = 3


def check_name(name: str) -> str:
    """Raises: BadValue for a name that cannot be part of a variable's."""
    if not _NAME.fullmatch(name):
        raise BadValue("name", f"cannot be {name[:40]!r}", next_step="Use the name of a plugin, like `openai`.")
    return name


def variables(name: str) -> tuple[str, ...]:
    """The environment variables that may hold the key, the first one first."""
    return (f"HOLDFAST_{check_name(name).upper().replace('-', '_')}_KEY", *USUAL_VARIABLES.get(name, ()))


def variable_in_use(name: str, env: Mapping[str, str] | None = None) -> str | None:
    """The variable that holds the key, or None."""
    env = os.environ if env is None else env
    return next((v for v in variables(name) if env.get(v, "").strip()), None)


def get(name: str, env: Mapping[str, str] | None = None) -> str | None:
    """The key of ``name``, or None when there is none. A machine without a keyring counts as one without a key.

    Raises: KeyringUnusable when there is a keyring and it does not answer (locked, say).
    """
    env = os.environ if env is None else env
    variable = variable_in_use(name, env)
    if variable is not None:
        return env[variable].strip()
    return stored(name) if has_keyring() else None


def has_keyring() -> bool:
    """Whether keys can be kept on this machine."""
    try:
        _keyring()
    except KeyringUnusable:
        return False
    return True


def stored(name: str) -> str | None:
    """The key in the keyring, or None. Raises: KeyringUnusable."""
    keyring = _keyring()
    try:
        value: str | None = keyring.get_password(SERVICE, check_name(name))
    except keyring.errors.KeyringError as error:
        raise _silent(error) from error
    return value or None


def store(name: str, secret: str) -> None:
    """Keep the key in the keyring. Raises: BadValue for a blank one; KeyringUnusable."""
    if not secret.strip():
        raise BadValue("the key", "is blank")
    keyring = _keyring()
    try:
        keyring.set_password(SERVICE, check_name(name), secret.strip())
    except keyring.errors.KeyringError as error:
        raise _silent(error) from error


def remove(name: str) -> None:
    """Take the key out of the keyring. Raises: NotFound; KeyringUnusable."""
    if stored(name) is None:
        raise NotFound(f"The keyring holds no key for {name!r}.", next_step="`holdfast auth status` tells what is set.")
    keyring = _keyring()
    try:
        keyring.delete_password(SERVICE, name)
    except keyring.errors.KeyringError as error:
        raise _silent(error) from error


def _keyring() -> ModuleType:
    """The library, when it has a real place to keep things. Imported here: looking for one takes a while."""
    try:
        import keyring
        import keyring.errors
    except ImportError as error:
        raise KeyringUnusable(
            "The keyring library is not installed.",
            next_step="Install it with `pip install 'holdfast[auth]'`, or set the key in the environment.",
        ) from error
    # Backends that keep nothing have no or a negative priority.
    if float(getattr(keyring.get_keyring(), "priority", 0)) <= 0:
        raise KeyringUnusable(
            "This machine has no keyring to keep a key in.",
            next_step="Set the key in the environment instead, as `HOLDFAST_<NAME>_KEY`.",
        )
    return keyring


def _silent(error: Exception) -> KeyringUnusable:
    return KeyringUnusable(
        f"The keyring did not do what was asked ({type(error).__name__}).",
        next_step="Unlock it, or set the key in the environment as `HOLDFAST_<NAME>_KEY`.",
    )
