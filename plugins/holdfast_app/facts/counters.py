"""Token counters by name, either the offline estimate or tiktoken with an encoding file already on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from holdfast.errors import ConfigError
from holdfast.text.humanize import tokens
from holdfast_memory import extra

Counter: TypeAlias = Callable[[str], int]

_loading = threading.Lock()


def counter(name: str) -> Counter:
    """``estimate``, or ``tiktoken:ENCODING`` (like ``tiktoken:o200k_base``). Source: reading A17.

    Raises: ConfigError when the name is unknown, tiktoken is not installed, or its encoding would have to be
    downloaded. Nothing is downloaded here.
    """
    if name == "estimate":
        return tokens
    kind, _, encoding = name.partition(":")
    if kind != "tiktoken" or not encoding:
        raise ConfigError(
            f"prompt.counter {name!r} is unknown.",
            next_step="Use `estimate`, or `tiktoken:` followed by an encoding's name.",
        )
    return _tiktoken(encoding)


def _tiktoken(name: str) -> Counter:
    try:
        import tiktoken
        import tiktoken.load
    except ImportError as error:
        raise ConfigError(
            "The counter tiktoken is not installed.", next_step=f"Install it with `{extra('tiktoken')}`."
        ) from error

    def refuse(path: str) -> bytes:
        raise ConfigError(
            f"tiktoken's encoding {name!r} is not on this machine, and holdfast does not download it.",
            next_step=f'Download it once yourself: `python -c "import tiktoken; tiktoken.get_encoding({name!r})"`.',
        )

    with _loading:
        # tiktoken reads its cache, and otherwise downloads through this function.
        module: Any = tiktoken.load
        download, module.read_file = module.read_file, refuse
        try:
            encoding = tiktoken.get_encoding(name)
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"tiktoken has no encoding {name!r}.", next_step="Try `o200k_base`.") from error
        finally:
            module.read_file = download
    return lambda text: len(encoding.encode(text, disallowed_special=()))
