"""A line of a new memory, read, with the source units that say most of it. The rules compare the two."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast_app.dream.grounding.blocks import strip_marks
from holdfast_app.dream.grounding.evidence import Evidence, Match
from holdfast_app.dream.grounding.lexicon import NEGATORS
from holdfast_app.dream.grounding.tokens import Reader, Token, is_content, plain
from holdfast_app.dream.grounding.units import Unit

#: A root and the keys that it wants. A word wants none.
Feature = tuple[str, tuple[str, ...]]


class Line:
    """``matches`` are the best units, best first; empty until :meth:`compare` has looked for them."""

    def __init__(self, evidence: Evidence, text: str) -> None:
        self.evidence = evidence
        self.text = text
        self.is_heading = text.lstrip().startswith("#")
        self.body = plain(strip_marks(text))
        self.tokens = Reader().tokens(self.body)
        self.features = [feature(t) for t in self.tokens if t.is_claim or is_content(t)]
        self.matches: list[Match] = []
        self._near: dict[tuple[Feature, ...], list[Match]] = {}

    def compare(self) -> None:
        """Find the units that say most of the line."""
        self.matches = self.evidence.best(self.features)

    def best(self, most: int, share: float) -> list[Match]:
        """At most ``most`` matches, with at least this share of the best score."""
        return [match for match in self.matches[:most] if match.score >= share * self.matches[0].score]

    def near(self, tokens: Iterable[Token]) -> list[Match]:
        """The units that say most of these tokens."""
        features = tuple(map(feature, tokens))
        if features not in self._near:
            self._near[features] = self.evidence.best(features)
        return self._near[features]

    def group(self, token: Token) -> str:
        """The class of tokens that could replace this one; empty for ordinary words."""
        if token.is_claim:
            return token.group if token.group != "entity" else "name" if token.text.isalpha() else "id"
        low = token.text.lower().removesuffix("'s")
        is_name = len(low) > 1 and token.text[:1].isupper() and self.evidence.is_name(low)
        return "name" if is_name else ""


def feature(token: Token) -> Feature:
    """A token in the form that units are searched with."""
    return token.root, token.wants if token.is_claim else ()


def said(unit: Unit, features: Iterable[Feature], *, alone: bool = False) -> set[str]:
    """The roots of a unit's features."""
    return {root for root, wants in features if unit.says(root, wants, alone=alone)}


def is_negator(token: Token) -> bool:
    """Whether a word is a "not"."""
    low = token.text.lower()
    return token.kind == "word" and (low in NEGATORS or low.endswith("n't"))
