"""Fit the recogniser of lasting statements: ``python -m benchmarks.quality.fit_statements [MORE.jsonl ...]``.

The sentences in statements.tsv were written for it, each with its label, act and language. ``MORE`` are rows with the
same keys: the package's table was also fitted on sentences that users of public repositories typed, which are not here.
Needs scikit-learn. The same rows give the same table.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from holdfast_app.sentences import lasting, linear

OUT = Path(lasting.__file__).with_suffix(".tsv")
ASKS = ("request", "question", "report")
_LEAST = 2  # sentences with a feature
_STRENGTH = 1.0  # of the fit against its regularisation
_FEATURES = 15_000  # kept of the first fit, and fitted again


def rows(paths: list[str]) -> list[dict[str, str]]:
    """The labelled sentences."""
    keys = ("label", "act", "lang", "text")
    own = Path(__file__).with_name("statements.tsv").read_text(encoding="utf-8").splitlines()
    found = [dict(zip(keys, line.split("\t"), strict=True)) for line in own]
    return found + [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines()]


def fit(examples: list[dict[str, str]]) -> dict[str, list[int]]:
    """The weights of the features that matter most."""
    sets = [linear.features(one["text"]) for one in examples]
    counts = Counter(feature for one in sets for feature in one)
    names = sorted(feature for feature, count in counts.items() if count >= _LEAST)
    weights = _fit(examples, sets, names)
    often = np.sqrt([counts[name] for name in names])
    best = sorted(np.argsort(-np.abs(weights).max(axis=0) * often, kind="stable")[:_FEATURES])
    names = [names[number] for number in best]
    return dict(zip(names, np.rint(linear.SCALE * _fit(examples, sets, names)).astype(int).T.tolist(), strict=True))


def _fit(examples: list[dict[str, str]], sets: list[set[str]], names: list[str]) -> np.ndarray:
    """A row for each of :data:`lasting.LABELS`, a column for each feature."""
    place = {name: number for number, name in enumerate(names)}
    at = [(row, place[feature]) for row, one in enumerate(sets) for feature in sorted(one) if feature in place]
    table = csr_matrix((np.ones(len(at)), tuple(zip(*at, strict=True))), shape=(len(sets), len(names)))
    kinds, asks = (LogisticRegression(C=_STRENGTH, max_iter=3_000, fit_intercept=False) for _ in range(2))
    kinds.fit(table, [one["label"] for one in examples])
    asks.fit(table, [one["act"] in ASKS for one in examples])
    order = [list(kinds.classes_).index(label) for label in lasting.LABELS[:-1]]
    return np.vstack([kinds.coef_[order], asks.coef_])


def main() -> None:
    found = fit(rows(sys.argv[1:]))
    lines = ("\t".join([name, *map(str, row)]) for name, row in sorted(found.items()))
    OUT.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{len(found)} features\n")


if __name__ == "__main__":
    main()
