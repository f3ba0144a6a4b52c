"""A second opinion: secret scanners that others wrote look at what every way of writing left behind."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.leaks import Tells, secret_text, write_everything

from holdfast.api import Holdfast, StorageConfig
from holdfast_app.config import Config

#: A store is full of digests and ids, which are random and no secrets: entropy alone says nothing here.
NOT_ENTROPY = ("--disable-plugin", "HexHighEntropyString", "--disable-plugin", "Base64HighEntropyString")
DIGEST = re.compile("[0-9a-f]{64}")


def detect_secrets(folder: Path) -> list[str]:
    if importlib.util.find_spec("detect_secrets") is None:
        pytest.skip("detect-secrets is not installed; it is in the extra `dev`")
    command = [sys.executable, "-m", "detect_secrets", "scan", "--all-files", "--no-verify", *NOT_ENTROPY, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=60, check=True)
    found = json.loads(done.stdout)["results"]
    return [f"{name}:{hit['line_number']}: {hit['type']}" for name, hits in found.items() for hit in hits]


def gitleaks(folder: Path) -> list[str]:
    program = shutil.which("gitleaks")
    if program is None:
        pytest.skip("no gitleaks on PATH")
    command = [program, "dir", ".", "--report-format", "json", "--report-path", "-", "--no-banner", "--exit-code", "0"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=60, check=True)
    # A journal's `"key"` is a flush's digest, which looks like a key to a rule of names and entropy.
    hits = [hit for hit in json.loads(done.stdout or "[]") if not DIGEST.fullmatch(hit["Secret"])]
    return [f"{hit['File']}:{hit['StartLine']}: {hit['RuleID']}" for hit in hits]


def kingfisher(folder: Path) -> list[str]:
    """Without asking the services whether a secret is in use, and without the history of a repository around."""
    program = shutil.which("kingfisher")
    if program is None:
        pytest.skip("no kingfisher on PATH")
    command = [program, "scan", ".", "--format", "json", "--no-validate", "--no-update-check", "--git-history", "none"]
    # it compiles its rules when it first runs, which takes some ten seconds of a core
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode in (0, 200), done.stderr  # 200: something was found
    hits = json.loads(done.stdout.splitlines()[0])["findings"]
    return [f"{hit['finding']['path']}:{hit['finding']['line']}: {hit['rule']['id']}" for hit in hits]


@pytest.mark.req("R240")
@pytest.mark.parametrize("scan", [detect_secrets, gitleaks, kingfisher], ids=lambda f: f.__name__)
def test_store__written_in_every_way__a_scanner_of_others_finds_nothing(project, tmp_path, scan):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "note.md").write_text(secret_text("raw").replace(" and ", "\n").replace("; ", "\n") + "\n")
    assert scan(raw), "the scanner does not even find the secrets as they were given"
    for backend in ("file", "sqlite"):
        config = Config(zone="UTC", storage=StorageConfig(backend=backend))
        with Holdfast.open(project, config=config, plugins=[("tells", Tells())]) as memory:
            write_everything(memory)
    assert any(path.is_file() for path in project.rglob("*"))
    assert scan(project) == []
