"""Fit the models of sentences: ``python -m benchmarks.quality.fit_statements NAME [MORE.jsonl ...]``. NAME is one of
``lasting``, ``planted``, ``answers``, ``messages`` and ``succession``.

``lasting`` is fitted on statements.tsv, sentences of users with label, act and language, ``planted`` on planted.tsv,
lines of memory with label, family and language, and on statements.tsv as honest ones; ``answers`` and ``messages`` on
endings.tsv, ends of agents' answers and users' messages with speaker, label and language; ``succession`` on pairs.tsv,
whether an older statement holds after a newer one, with language. All were written for it.
``MORE`` are rows with the keys of statements.tsv: the package's tables were also fitted on texts of users and agents in
public repositories, which are not here. Needs scikit-learn. The same rows give the same table.

With ``--onto N``, not for ``planted``, the table's weights move only as far as its last N rows and the labelled ones
of ``MORE`` ask for, and the other texts of ``MORE`` keep the table's judgement. What is common in English keeps its
weights, unless some of the N are in English. All were last fitted this way: to 562 plain facts and orders in
statements.tsv, then to the 1,690 rows after them, in other languages, and 660 labelled ones of public users, and then
to the last row and ordinary.jsonl, 2,232 sentences of ordinary sessions, with the texts of statements.tsv and
pairs.tsv as those that keep their judgement; in endings.tsv to 85 answers, which are short, on 7,421 others, and then
to the last 552, which tell in detail what is done and what is not, on those before them; to 138 messages of users,
which withdraw, wait or report, on 5,590 others, and then to the last 362, which name what is next, on those before
them and every fourth sentence of statements.tsv.
"""

from __future__ import annotations

import argparse
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
from holdfast_app.sentences import endings, lasting, linear, succession

OUT = Path(linear.__file__).parent
ASKS = ("request", "question", "report")
_LEAST = 2  # sentences with a feature
_COMMON = 20  # sentences with a feature that is common in a language
_MOVED = 20  # least weight of a feature that is new to a table
_STRENGTH = 1.0  # of the fit against its regularisation
_PAIRED = 0.3  # the same for pairs, which are fewer
#: How much a text to fit a table to counts next to one that keeps its judgement.
_NEW = {"lasting": 2.0, "answers": 4.0, "messages": 4.0}
#: Number of features kept of the first fit, and fitted again.
_FEATURES = {"lasting": 15_000, "planted": 6_000, "answers": 12_000, "messages": 5_000, "succession": 6_000}
#: How much a sentence of others counts next to a line written for ``planted``.
_OTHERS = 0.25

Row = dict[str, str]


def rows(name: str, paths: list[str]) -> list[Row]:
    """The labelled sentences of a file next to this one, and of ``paths``."""
    lines = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    found = [dict(zip(("label", "act", "lang", "text"), line.split("\t"), strict=True)) for line in lines]
    return found + _given(paths)


def _given(paths: list[str]) -> list[Row]:
    return [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines()]


class Table:
    """Texts' features, of which the fits share the rows."""

    def __init__(self, sets: list[set[str]]) -> None:
        self.sets = sets
        self.counts = Counter(feature for one in sets for feature in one)

    def matrix(self, names: list[str]) -> csr_matrix:
        place = {name: number for number, name in enumerate(names)}
        at = [(row, place[feature]) for row, one in enumerate(self.sets) for feature in sorted(one) if feature in place]
        return csr_matrix((np.ones(len(at)), tuple(zip(*at, strict=True))), shape=(len(self.sets), len(names)))


def _model(strength: float = _STRENGTH) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=3_000, fit_intercept=False)


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


def fit_succession(paths: list[str]) -> tuple[Table, Callable[[list[str]], np.ndarray]]:
    """The same for :mod:`holdfast_app.sentences.succession`: one row. ``paths`` are further pairs, as in pairs.tsv."""
    files = [Path(__file__).with_name("pairs.tsv"), *map(Path, paths)]
    pairs = [line.split("\t") for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    table = Table([succession.features(new, old) for _, _, old, new in pairs])
    labels = [label == "ends" for label, *_ in pairs]

    def weights(names: list[str]) -> np.ndarray:
        return _model(_PAIRED).fit(table.matrix(names), labels).coef_

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


def fit_onto(name: str, count: int, paths: list[str]) -> dict[str, list[int]]:
    """The present weights of a table, and what the last ``count`` of its rows change in them."""
    lines = [line.split("\t") for line in (OUT / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
    before = {feature: np.array(weights, dtype=float) / linear.SCALE for feature, *weights in lines}
    who = {"answers": "agent", "messages": "user"}.get(name)
    given = _given(paths)
    all_rows = [one for one in rows("endings" if who else "statements", []) if who in (None, one["label"])]
    written = all_rows[-count:]
    is_english = any(one["lang"] == "en" for one in written)
    written += [one for one in given if "label" in one]
    texts = [one["text"] for one in (*written, *(one for one in given if "label" not in one))]
    split = {
        "answers": lambda text: endings.features(ending.last_sentences(text)),
        "messages": lambda text: endings.message_features(asked.sentences(text)),
        "lasting": linear.features,
    }[name]
    table = Table([split(text.replace("\\n", "\n")) for text in texts])
    ours = Table(table.sets[: len(written)])
    english = Table([] if is_english else [split(one["text"]) for one in all_rows if one["lang"] == "en"]).counts
    changing = (one for one in table.counts if english[one] < _COMMON)
    names = sorted(one for one in changing if one in before or ours.counts[one] >= _LEAST)
    matrix, width = table.matrix(names), len(next(iter(before.values())))
    known = np.array([sum((before[one] for one in found if one in before), np.zeros(width)) for found in table.sets])
    if name == "answers":
        heads = [(0, np.array([one["act"] == "open" for one in written]))]
    elif name == "messages":
        heads = [(slice(0, width), np.array([[one["act"] == kind for kind in endings.KINDS] for one in written]))]
    else:  # what a sentence asks for keeps its weights
        labels = np.array([[one["label"] == label for label in lasting.LABELS[:-1]] for one in written])
        heads = [(slice(0, width - 1), labels)]
    change = np.zeros((len(names), width))
    for columns, labels in heads:
        change[:, columns] = _change(matrix, known[:, columns], labels, _NEW[name])
    after = before | {one: before.get(one, np.zeros(width)) + change[at] for at, one in enumerate(names)}
    rounded = {one: np.rint(linear.SCALE * weights).astype(int) for one, weights in after.items()}
    return {one: weights.tolist() for one, weights in rounded.items() if one in before or abs(weights).max() >= _MOVED}


def _change(matrix: csr_matrix, known: np.ndarray, labels: np.ndarray, new: float) -> np.ndarray:
    """The change of the weights for the first texts' ``labels``, when the other texts keep the ``known`` odds."""

    def shares(odds: np.ndarray) -> np.ndarray:
        odds = odds if odds.ndim > 1 else np.stack([odds, np.zeros(len(odds))], axis=1)
        powers = np.exp(odds - odds.max(axis=1, keepdims=True))
        found = powers / powers.sum(axis=1, keepdims=True)
        return found if known.ndim > 1 else found[:, 0]

    wanted = np.concatenate([labels, shares(known)[len(labels) :]])
    counts = np.where(np.arange(len(known)) < len(labels), new, 1.0).reshape(-1, *[1] * (known.ndim - 1))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        change = flat.reshape(matrix.shape[1], *known.shape[1:])
        found = np.clip(shares(known + matrix @ change), 1e-12, 1 - 1e-12)
        missed = wanted * np.log(found) + (0 if known.ndim > 1 else (1 - wanted) * np.log(1 - found))
        return flat @ flat / 2 - (counts * missed).sum(), (matrix.T @ (counts * (found - wanted)) + change).ravel()

    start = np.zeros(matrix.shape[1] * (known.shape[1] if known.ndim > 1 else 1))
    return minimize(loss, start, jac=True, method="L-BFGS-B").x.reshape(matrix.shape[1], *known.shape[1:])


def fit(name: str, paths: list[str]) -> dict[str, list[int]]:
    """The weights of the features that matter most."""
    fits = {"lasting": fit_lasting, "planted": fit_planted, "succession": fit_succession}
    table, weights = fits.get(name, partial(fit_endings, name))(paths)
    names = sorted(feature for feature, count in table.counts.items() if count >= _LEAST)
    often = np.sqrt([table.counts[one] for one in names])
    best = sorted(np.argsort(-np.abs(weights(names)).max(axis=0) * often, kind="stable")[: _FEATURES[name]])
    names = [names[number] for number in best]
    return dict(zip(names, np.rint(linear.SCALE * weights(names)).astype(int).T.tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--onto", type=int, metavar="N")
    call = parser.parse_args()
    name, paths = call.name, call.paths
    found = fit_onto(name, call.onto, paths) if call.onto else fit(name, paths)
    lines = ("\t".join([feature, *map(str, row)]) for feature, row in sorted(found.items()))
    (OUT / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{len(found)} features\n")


if __name__ == "__main__":
    main()
