"""Keys for model providers and forges, from the environment or else the system's keyring, never from a file.

A key belongs to the address it was set for, its origin (:mod:`holdfast_keys.origins`), and is sent nowhere else. The
keyring holds one entry for each name, with its keys by origin.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Final

from holdfast.errors import BadValue, ConfigError, HoldfastError, NotFound
from holdfast.text import untrusted
from holdfast_keys import origins

SERVICE: Final = "holdfast"
#: The variables that a provider's own tools read. ``HOLDFAST_<NAME>_KEY`` takes precedence.
USUAL_VARIABLES: Final[Mapping[str, Sequence[str]]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gitea": ("HOLDFAST_GITEA_TOKEN", "GITEA_TOKEN"),
    "github": ("HOLDFAST_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"),
    "postgres": ("HOLDFAST_POSTGRES_PASSWORD",),
}
#: The provider's own address, which its keys belong to unless they were set for another.
OWN_ORIGINS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "github": "https://api.github.com",
}
#: The settings that name an address for a key; those of another name are ``plugins.NAME.base_url``.
ADDRESS_SETTINGS: Final[Mapping[str, Sequence[str]]] = {
    "gitea": ("storage.server", "plugins.gitea_trail.server"),
    "github": ("plugins.github.server",),
    "postgres": ("storage.server",),
}
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


class KeyringUnusable(HoldfastError):
    """This machine has no usable keyring at present."""

    exit_code = 3


class KeyNotSent(ConfigError):
    """There is a key, but not for the address that asks for it."""


class AddressNotTrusted(KeyNotSent):
    """Only the project's own settings name the address, so it gets neither a key nor anything else."""


def check_name(name: str) -> str:
    """Raises: BadValue for a name that cannot be part of a variable's."""
    if not 0 < len(name) <= 64 or name[0] in "_-" or not _NAME_CHARACTERS.issuperset(name):
        raise BadValue("name", f"cannot be {name[:40]!r}", next_step="Use a plugin's name, like `openai`.")
    return name


def variables(name: str) -> tuple[str, ...]:
    """The environment variables that may hold the key, the first one first."""
    own, usual = f"HOLDFAST_{check_name(name).upper().replace('-', '_')}_KEY", USUAL_VARIABLES.get(name, ())
    ours = [variable for variable in usual if variable.startswith("HOLDFAST_")]
    return (*ours, own, *(variable for variable in usual if variable not in ours))


def variable_in_use(name: str) -> str | None:
    """The variable that holds the key, or None."""
    return next((v for v in variables(name) if os.environ.get(v, "").strip()), None)


def address_settings(name: str) -> Sequence[str]:
    """Names of settings that hold an address for this key."""
    return ADDRESS_SETTINGS.get(name, (f"plugins.{name}.base_url",))


def get(
    name: str, *, origin: str = "", root: str | os.PathLike[str] | None = None, settings: Sequence[str] = ()
) -> str | None:
    """The key of ``name`` for ``origin``, or None when there is none. A machine without a keyring has no stored keys.

    ``origin`` is that of the address which gets the key, empty for the provider's own. A key from the environment is
    for any address except one named only by the project in ``root``, in any of ``settings`` (by default
    :func:`address_settings`). A stored key is for its origin alone.
    Raises: AddressNotTrusted for an address that only the project names and that has no stored key; KeyNotSent when
    there is a stored key, but not for this address; KeyringUnusable when there is a keyring and it does not answer
    (locked, say).
    """
    variable = variable_in_use(name)
    distrusted = (
        origin not in ("", OWN_ORIGINS.get(name))
        and root is not None
        and origins.only_project_names(origin, settings or address_settings(name), root)
    )
    if variable is not None and not distrusted:
        return os.environ[variable].strip()
    keys = stored(name) if has_keyring() else {}
    wanted = origin or OWN_ORIGINS.get(name, "")
    if wanted in keys:
        return keys[wanted]
    if distrusted:
        raise AddressNotTrusted(
            f"The key is not sent to {origin}, because only this project's own settings name that address.",
            next_step=f"Review them with `holdfast trust`, or set a key for that address: {command(name, origin)}.",
        )
    if keys:
        others = ", ".join(sorted(keys))
        raise KeyNotSent(
            f"The key for {name} in the keyring is not for {wanted or 'this address'}, but for {others}.",
            next_step=f"Set one for this address: {command(name, origin)}.",
        )
    return None


def command(name: str, origin: str = "") -> str:
    """The command that sets a key for an address, in backticks."""
    return f"`holdfast auth set {name}" + (f" --origin {origin}`" if origin not in ("", OWN_ORIGINS.get(name)) else "`")


def places(name: str, origin: str = "") -> str:
    """Where to set a key, to follow "set": a variable in use comes before the keyring."""
    variable = variable_in_use(name)
    return variable or f"{variables(name)[0]}, or keep one in the keyring: {command(name, origin)}"


def has_keyring() -> bool:
    """Whether keys can be kept on this machine."""
    with suppress(KeyringUnusable):
        _keyring()
        return True
    return False


def stored(name: str) -> dict[str, str]:
    """The keys in the keyring, by origin. Raises: KeyringUnusable."""
    with _talking() as keyring:
        text = keyring.get_password(SERVICE, _entry(name))
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        keys = untrusted.from_json(text or "{}")["keys"]
        return {origin: key for origin, key in keys.items() if isinstance(key, str) and key}
    return {}


def store(name: str, secret: str, origin: str = "") -> None:
    """Store the key for ``origin`` in the keyring, replacing any stored key.

    Raises: BadValue for a blank key; KeyringUnusable.
    """
    if not secret.strip():
        raise BadValue("the key", "is blank", next_step="Type it, or pipe it into the command.")
    _write(name, stored(name) | {origin or OWN_ORIGINS.get(name, ""): secret.strip()})


def remove(name: str, origin: str | None = None) -> list[str]:
    """Remove the key for ``origin`` from the keyring, or all of this name. Returns their origins.

    Raises: NotFound; KeyringUnusable.
    """
    keys = stored(name)
    gone = sorted(keys) if origin is None else [origin] * (origin in keys)
    if not gone:
        what = f"for {name!r}" if origin is None else f"for {name!r} and {origin}"
        raise NotFound(f"The keyring holds no key {what}.", next_step="`holdfast auth status` shows the keys.")
    _write(name, {known: key for known, key in keys.items() if known not in gone})
    return gone


def _write(name: str, keys: Mapping[str, str]) -> None:
    with _talking() as keyring:
        if keys:
            keyring.set_password(SERVICE, _entry(name), json.dumps({"v": 1, "keys": keys}))
        else:
            keyring.delete_password(SERVICE, _entry(name))


def _entry(name: str) -> str:
    """The user name of the keyring's entry."""
    return f"{check_name(name)} by address"


@contextmanager
def _talking() -> Iterator[ModuleType]:
    """The library, when it has a real place to keep things. Raises: KeyringUnusable, also for its errors."""
    keyring = _keyring()
    try:
        yield keyring
    except keyring.errors.KeyringError as error:
        step = "Unlock it, or set the key in the environment as `HOLDFAST_<NAME>_KEY`."
        raise KeyringUnusable(f"The keyring failed ({type(error).__name__}).", next_step=step) from error


def _keyring() -> ModuleType:
    """Imported here: looking for a keyring takes a while."""
    import keyring
    import keyring.errors

    # Backends that keep nothing have no or a negative priority.
    if float(getattr(keyring.get_keyring(), "priority", 0)) <= 0:
        step = "Set the key in the environment instead, as `HOLDFAST_<NAME>_KEY`."
        raise KeyringUnusable("This machine has no keyring to keep a key in.", next_step=step)
    return keyring
