"""The labelled texts lie with the benchmark, which prints the rates that the tests bound."""

import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def corpus() -> ModuleType:
    """benchmarks/redaction_corpus.py."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    import redaction_corpus

    return redaction_corpus
