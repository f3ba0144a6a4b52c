"""A table of word vectors, made once from any model of sentence embeddings and then used without it.

A file has, in this order, one line of JSON, ``{"format": "holdfast word vectors", "version": 1, "words": N,
"dims": D}``; N lines with a word each in lower case, the most frequent first; N rows of D signed bytes. A string's
vector is the sum of all its words' rows. Rows of frequent words are short, so they count little. Make a file with
``python -m holdfast_app.search.distil``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import ConfigError
from holdfast.fs import safeopen
from holdfast_app.search import words
from holdfast_memory import extra

if TYPE_CHECKING:
    import numpy as np

_FORMAT: Final = "holdfast word vectors"
_VERSION: Final = 1
#: A word's weight is A / (A + its frequency). Source: Arora et al., "A simple but tough-to-beat baseline", 2017.
_A: Final = 1e-3
#: Frequency of the word at a rank: Zipf's law, with its constant for English.
_ZIPF: Final = 0.1
_TOGETHER: Final = 256


class Table:
    """A table in memory. ``digest`` identifies its content."""

    def __init__(self, found: Sequence[str], rows: np.ndarray[Any, Any], digest: str) -> None:
        self._row = {word: number for number, word in enumerate(found)}
        self._rows = rows
        self.digest = digest

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """A vector for each string, all zeros if none of its words is known."""
        import numpy as np

        made = np.zeros((len(texts), self._rows.shape[1]), dtype=np.float32)
        for number, text in enumerate(texts):
            known = [self._row[word] for word in words.written(text) if word in self._row]
            if known:
                made[number] = self._rows[known].sum(axis=0, dtype=np.float32)
        return made


def read(path: str) -> Table:
    """Raises: ConfigError when the file or numpy is missing, or the file is not a table."""
    try:
        import numpy as np
    except ImportError as error:
        raise ConfigError("numpy is not installed.", next_step=f"`{extra('recall')}`.") from error
    try:
        data = safeopen.read(os.path.realpath(path), private=False)
        head, _, rest = data.partition(b"\n")
        said = json.loads(head)
        if (said["format"], said["version"]) != (_FORMAT, _VERSION):
            raise ValueError(head)
        count, dims = int(said["words"]), int(said["dims"])
        *found, body = rest.split(b"\n", count)
        rows = np.frombuffer(body, dtype=np.int8).reshape(count, dims)
        return Table([word.decode() for word in found], rows, blake2s(data, digest_size=8).hexdigest())
    except OSError as error:
        raise ConfigError(
            f"The word vectors {path!r} cannot be read: {error.strerror}.", next_step="Check `path`."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path!r} is not a table of word vectors.",
            next_step="Make one: `python -m holdfast_app.search.distil --help`.",
        ) from error


def made(found: Iterable[str], embed: Callable[[Sequence[str]], Any], dims: int) -> bytes:
    """A file's bytes from words, the most frequent first, and a model's vector of each alone, reduced to its ``dims``
    main components."""
    import numpy as np

    chosen = list(dict.fromkeys(word.strip().lower() for word in found if word.strip()))
    parts = [chosen[start : start + _TOGETHER] for start in range(0, len(chosen), _TOGETHER)]
    whole = np.concatenate([np.asarray(embed(part), dtype=np.float32) for part in parts])
    whole /= np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-9)
    whole -= whole.mean(axis=0)
    _, axes = np.linalg.eigh(whole.T @ whole)  # by growing share of the variance
    reduced = whole @ axes[:, ::-1][:, :dims]
    reduced /= np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), 1e-9)
    frequency = _ZIPF / np.arange(1, len(chosen) + 1, dtype=np.float32)
    weighed = reduced * (_A / (_A + frequency))[:, None]
    rows = np.round(weighed * (127 / np.abs(weighed).max())).astype(np.int8)
    head = {"format": _FORMAT, "version": _VERSION, "words": len(chosen), "dims": rows.shape[1]}
    whole_file: bytes = (
        json.dumps(head).encode() + b"\n" + "".join(f"{word}\n" for word in chosen).encode() + rows.tobytes()
    )
    return whole_file
