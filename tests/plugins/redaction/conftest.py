"""The labelled texts lie with the benchmark, which prints the rates that the tests bound."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def corpus() -> ModuleType:
    """benchmarks/redaction_corpus.py."""
    path = Path(__file__).parents[3] / "benchmarks" / "redaction_corpus.py"
    spec = importlib.util.spec_from_file_location("redaction_corpus", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["redaction_corpus"] = module
    spec.loader.exec_module(module)
    return module
