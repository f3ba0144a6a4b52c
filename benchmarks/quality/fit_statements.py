"""Fit the models of sentences: ``python -m benchmarks.quality.fit_statements NAME [MORE.jsonl ...]``. NAME is one of
``lasting``, ``planted``, ``answers``, ``messages`` and ``onto``.

``lasting`` is fitted on statements.tsv, sentences of users with label, act and language, ``planted`` on planted.tsv,
lines of memory with label, family and language, and on statements.tsv as honest ones; ``answers`` and ``messages`` on
endings.tsv, ends of agents' answers and users' messages with speaker, label and language. All were written for it.
``MORE`` are rows with the keys of statements.tsv: the package's tables were also fitted on texts of users and agents in
public repositories, which are not here. Needs scikit-learn. The same rows give the same table.

``onto`` as NAME moves the weights of ``answers`` only as far as its rows ask for. Its ``MORE`` are answers as the table
judged them before, so that those stay: their ``act`` is the probability that work is left. The table was fitted so at
last, on 3,281 answers.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from holdfast_app.authorship import hostile
from holdfast_app.offline import asked, ending
from holdfast_app.sentences import endings, lasting, linear

OUT = Path(linear.__file__).parent
ASKS = ("request", "question", "report")
_LEAST = 2  # sentences with a feature
_MOVED = 20  # least weight of a feature that is new to a table
_STRENGTH = 1.0  # of the fit against its regularisation
#: Number of features kept of the first fit, and fitted again.
_FEATURES = {"lasting": 15_000, "planted": 6_000, "answers": 12_000, "messages": 5_000}
#: How much a sentence of others counts next to a line written for ``planted``.
_OTHERS = 0.25

Row = dict[str, str]


def rows(name: str, paths: list[str]) -> list[Row]:
    """The labelled sentences of a file next to this one, and of ``paths``."""
    lines = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    found = [dict(zip(("label", "act", "lang", "text"), line.split("\t"), strict=True)) for line in lines]
    return found + [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines()]


class Table:
    """Texts' features, of which the fits share the rows."""

    def __init__(self, sets: list[set[str]]) -> None:
        self._sets = sets
        self.counts = Counter(feature for one in self._sets for feature in one)

    def matrix(self, names: list[str]) -> csr_matrix:
        place = {name: number for number, name in enumerate(names)}
        at = [
            (row, place[feature]) for row, one in enumerate(self._sets) for feature in sorted(one) if feature in place
        ]
        return csr_matrix((np.ones(len(at)), tuple(zip(*at, strict=True))), shape=(len(self._sets), len(names)))


def _model() -> LogisticRegression:
    return LogisticRegression(C=_STRENGTH, max_iter=3_000, fit_intercept=False)


def fit_lasting(paths: list[str]) -> tuple[Table, Callable[[list[str]], np.ndarray]]:
    """The sentences, and a function from features to weights: a row for each of :data:`lasting.LABELS`."""
    found = rows("statements", paths)
    table = Table([linear.features(one["text"]) for one in found])

    def weights(names: list[str]) -> np.ndarray:
        matrix = table.matrix(names)
        kinds = _model().fit(matrix, [one["label"] for one in found])
        asks = _model().fit(matrix, [one["act"] in ASKS for one in found])
        order = [list(kinds.classes_).index(label) for label in lasting.LABELS[:-1]]
        return np.vstack([kinds.coef_[order], asks.coef_])

    return table, weights


def fit_planted(paths: list[str]) -> tuple[Table, Callable[[list[str]], np.ndarray]]:
    """The same for :mod:`holdfast_app.sentences.planted`: one row."""
    lines, others = rows("planted", []), rows("statements", paths)
    table = Table([linear.features(hostile.fold(one["text"])) for one in (*lines, *others)])
    labels = [one["label"] == "hostile" for one in lines] + [False] * len(others)
    importance = [1.0] * len(lines) + [_OTHERS] * len(others)

    def weights(names: list[str]) -> np.ndarray:
        return _model().fit(table.matrix(names), labels, sample_weight=importance).coef_

    return table, weights


def fit_endings(name: str, paths: list[str]) -> tuple[Table, Callable[[list[str]], np.ndarray]]:
    """The same for :mod:`holdfast_app.sentences.endings`: a row for ``answers``, and for ``messages`` one for each of
    :data:`endings.KINDS`."""
    who, split, features, labels = {
        "answers": ("agent", ending.last_sentences, endings.features, ("open",)),
        "messages": ("user", asked.sentences, endings.message_features, endings.KINDS),
    }[name]
    found = [one for one in rows("endings", paths) if one["label"] == who]
    table = Table([features(split(one["text"].replace("\\n", "\n"))) for one in found])

    def weights(names: list[str]) -> np.ndarray:
        acts = [one["act"] for one in found]
        model = _model().fit(table.matrix(names), [act == labels[0] for act in acts] if len(labels) == 1 else acts)
        return model.coef_[[list(model.classes_).index(label) for label in labels]] if len(labels) > 1 else model.coef_

    return table, weights


def fit_onto(paths: list[str]) -> dict[str, list[int]]:
    """The present weights of ``answers``, and what rows in ``paths`` and those of endings.tsv change in them."""
    lines = (OUT / "answers.tsv").read_text(encoding="utf-8").splitlines()
    before = {feature: int(weight) / linear.SCALE for feature, weight in (line.split("\t") for line in lines)}
    found = [one for one in rows("endings", paths) if one["label"] == "agent"]
    sets = [endings.features(ending.last_sentences(one["text"].replace("\\n", "\n"))) for one in found]
    table = Table(sets)
    names = sorted(feature for feature, count in table.counts.items() if count >= _LEAST or feature in before)
    matrix = table.matrix(names)
    known = np.array([sum(before.get(feature, 0) for feature in one) for one in sets])
    acts = {"open": 1.0, "closed": 0.0}
    is_open = np.array([acts[one["act"]] if one["act"] in acts else float(one["act"]) for one in found])

    def loss(change: np.ndarray) -> tuple[float, np.ndarray]:
        odds = known + matrix @ change
        wrong = 1 / (1 + np.exp(-odds)) - is_open
        return np.sum(np.logaddexp(0, odds) - is_open * odds) + change @ change / 2, matrix.T @ wrong + change

    change = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x
    after = before | {name: before.get(name, 0) + one for name, one in zip(names, change, strict=True)}
    rounded = {name: round(linear.SCALE * float(weight)) for name, weight in after.items()}
    return {name: [weight] for name, weight in rounded.items() if name in before or abs(weight) >= _MOVED}


def fit(name: str, paths: list[str]) -> dict[str, list[int]]:
    """The weights of the features that matter most."""
    fits = {"lasting": fit_lasting, "planted": fit_planted}
    table, weights = fits.get(name, partial(fit_endings, name))(paths)
    names = sorted(feature for feature, count in table.counts.items() if count >= _LEAST)
    often = np.sqrt([table.counts[one] for one in names])
    best = sorted(np.argsort(-np.abs(weights(names)).max(axis=0) * often, kind="stable")[: _FEATURES[name]])
    names = [names[number] for number in best]
    return dict(zip(names, np.rint(linear.SCALE * weights(names)).astype(int).T.tolist(), strict=True))


def main() -> None:
    name, *paths = sys.argv[1:]
    found = fit_onto(paths) if name == "onto" else fit(name, paths)
    name = "answers" if name == "onto" else name
    lines = ("\t".join([feature, *map(str, row)]) for feature, row in sorted(found.items()))
    (OUT / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{len(found)} features\n")


if __name__ == "__main__":
    main()
