"""Fit the ranking's weights for turns: ``python -m benchmarks.recall.fit OUT SET ...``. Each run gives the same.

Every set counts the same. The evidence's scores are pushed above the other candidates' (softmax over a question's
candidates, by gradient descent). Needs numpy. The weights in the package are from LoCoMo 1 to 5 and BEAM-100K 1 to 10:
``fit plugins/holdfast_app/search/weights.json locomo:FILE:1-5 beam:FOLDER:1-10``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.recall.sets import Talk, talks

from holdfast import Holdfast
from holdfast_app.search import index, rank

_STEPS, _RATE, _DECAY = 200, 0.15, 1e-3
#: Weight 0 for turns: it helps on neither set next to ``near``.
_LEFT_OUT = {"words"}


def examples(talk: Talk) -> list[tuple[Any, Any]]:
    """Of each question the candidates' features, and each candidate's share of the evidence."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "holdfast.toml").touch()
        with Holdfast.open(folder) as memory:
            talk.fill(memory)

            def ask(text: str, opened: index.Index) -> list[tuple[index.Entry, rank.Features]]:
                matches = rank.Matches(opened.db, text)
                return list(rank.candidates(opened.db, matches))

            for asked in talk.questions:
                rows = index.search(memory, partial(ask, asked.text), index.MOST)
                right = np.array([row.place in asked.evidence for row, _ in rows], dtype=np.float32)
                if right.any():
                    found.append((np.array([values for _, values in rows], dtype=np.float32), right / right.sum()))
    return found


def gradient(weights: Any, features: Any, wanted: Any, starts: Any, counts: Any) -> Any:
    scores = features @ weights
    scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), counts))
    share = scores / np.repeat(np.add.reduceat(scores, starts), counts)
    return features.T @ (share - wanted) / len(starts)


def fit(sets: list[list[tuple[Any, Any]]]) -> Any:
    """Weights by Adam, from zero."""
    joined = []
    for rows in sets:
        counts = np.array([len(wanted) for _, wanted in rows])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        joined.append((np.vstack([one for one, _ in rows]), np.concatenate([one for _, one in rows]), starts, counts))
    kept = np.array([name not in _LEFT_OUT for name in rank.Features._fields], dtype=np.float32)
    weights, mean, square = np.zeros((3, len(kept)), dtype=np.float32)
    for step in range(1, _STEPS + 1):
        slope = (_DECAY * weights + sum(gradient(weights, *one) for one in joined)) * kept
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights = weights - _RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def main() -> None:
    out = Path(sys.argv[1])
    weights = fit([[one for talk in talks(given) for one in examples(talk)] for given in sys.argv[2:]])
    table = json.loads(out.read_text(encoding="utf-8"))
    turn = {name: round(float(one), 2) for name, one in zip(rank.Features._fields, weights, strict=True)}
    table["turn"] = {name: one for name, one in turn.items() if one}
    lines = ",\n".join(f"  {json.dumps(kind)}: {json.dumps(one)}" for kind, one in table.items())
    out.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(lines)


if __name__ == "__main__":
    main()
