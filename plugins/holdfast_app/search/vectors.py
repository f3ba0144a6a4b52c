"""Vectors from a plugin for the indexed content, stored in the index and compared with the question's vector."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import HoldfastError, ModelFailed
from holdfast_app.progress import report
from holdfast_app.search import index
from holdfast_app.search.embedders import Embeddings
from holdfast_app.search.rank import NOTHING_SIMILAR, Similar
from holdfast_memory import extra

if TYPE_CHECKING:
    import numpy as np

    from holdfast import Holdfast


#: Strings per plugin call, and seconds after which a search stops making vectors. The next search continues.
_BATCH: Final = 64
BUDGET_S: Final = 20.0
#: Maximum number of characters that go into a vector.
_CHARS: Final = 2_000
#: Number of similarities passed to the ranking.
_NEAREST: Final = 2_000


def similar(memory: Holdfast, db: sqlite3.Connection, question: str) -> tuple[Similar, str]:
    """The content nearest to the question, after making missing vectors.

    Empty without a plugin or when the plugin fails. A failure also returns a sentence for the user.
    """
    embedder = next(iter(memory.services.plugins.implementations_of(Embeddings).values()), None)
    if embedder is None:
        return NOTHING_SIMILAR, ""
    try:
        (asked,) = _normal(embedder.embed(_masked(memory, [question])))
        _update(memory, db, embedder, f"{embedder.identity} {len(asked)}")
        return Similar(_compared(db, asked), embedder.weight), ""
    except ImportError:
        why = f"numpy is not installed. `{extra('recall')}`."
    except HoldfastError as error:
        why = f"{error.message} {error.next_step}"
    return NOTHING_SIMILAR, f"Searched by words alone: {why}"


def _update(memory: Holdfast, db: sqlite3.Connection, embedder: Embeddings, identity: str) -> None:
    """Make missing vectors in the time budget, or all for another ``identity``. Raises: HoldfastError; ImportError."""
    if db.execute("SELECT identity FROM vector_of").fetchone() != (identity,):
        db.executescript("BEGIN; DELETE FROM vector; DELETE FROM vector_of; COMMIT;")
        db.execute("INSERT INTO vector_of VALUES (?)", (identity,))
    until = time.monotonic() + BUDGET_S
    missing = "FROM entry LEFT JOIN vector ON vector.id = entry.id WHERE vector.id IS NULL"
    (total,) = db.execute(f"SELECT count(*) {missing}").fetchone()
    for done in range(0, total, _BATCH):
        if time.monotonic() > until:
            break
        report(done, total, "Embedding")
        rows = index.bodies(db, [row for (row,) in db.execute(f"SELECT entry.id {missing} LIMIT ?", (_BATCH,))])
        made = _normal(embedder.embed(_masked(memory, list(rows.values()))))
        packed = (made * 127).round().astype("int8")
        db.executemany(
            "INSERT INTO vector VALUES (?, ?)", ((row, data.tobytes()) for row, data in zip(rows, packed, strict=True))
        )


def _masked(memory: Holdfast, strings: list[str]) -> list[str]:
    """Strings masked for output, then cut, because a cut could go through a secret. Servers refuse empty ones."""
    return [text[:_CHARS] or " " for text in memory.services.gate.outgoing_all(strings, surface="journal")]


def _normal(vectors: Any) -> np.ndarray[Any, Any]:
    """The vectors with length 1. Raises: ModelFailed when they are not finite numbers."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        made = np.asarray(vectors, dtype=np.float32)
        finite = np.isfinite(np.linalg.norm(made, axis=1)).all()
    if not finite:
        raise ModelFailed("The model's vectors are not finite numbers.", next_step="Check `model`.")
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)
    return made


def _compared(db: sqlite3.Connection, asked: np.ndarray[Any, Any]) -> dict[int, float]:
    import numpy as np

    stored = db.execute("SELECT id, data FROM vector").fetchall()
    if not stored:
        return {}
    ids = [entry_id for entry_id, _ in stored]
    rows = np.frombuffer(b"".join(data for _, data in stored), dtype=np.int8).reshape(len(ids), -1)
    near = rows.astype(np.float32) @ asked
    middle, top = float(np.median(near)), float(near.max())
    best = np.argsort(-near)[:_NEAREST]
    spread = max(top - middle, 1e-9)
    return {ids[n]: float(near[n] - middle) / spread for n in best.tolist() if near[n] > middle}
