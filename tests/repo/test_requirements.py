"""The generator of docs/requirements.md."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.repo import requirements

LIST = "id,document,section,text\nR001,001,One,first | thing\nR002,001,Two,second\nR003,002,Three,third\n"
TESTS = """
import pytest
req = pytest.mark.req

@pytest.mark.req("R001")
def test_a(): ...

@pytest.mark.req("R002")
class TestB:
    def test_b(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.req("R001"))])
def test_c(x): ...

@pytest.mark.req("R002")
class TestInherited(Suite): ...

@pytest.mark.req("R001")
def no_test(): ...
"""


@pytest.fixture
def checkout(tmp_path) -> Path:
    folder = tmp_path / "tests" / "repo"
    folder.mkdir(parents=True)
    (folder / "requirements.csv").write_text(LIST, encoding="utf-8")
    (folder / "not_yet.toml").write_text('[[not_yet]]\nids = ["R003"]\nreason = "Part 9"\n', encoding="utf-8")
    (tmp_path / "tests" / "test_it.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def check(checkout: Path, capsys: pytest.CaptureFixture[str]) -> str:
    requirements.main(["--root", str(checkout)])
    code = requirements.main(["--root", str(checkout), "--check"])
    printed = capsys.readouterr().out
    assert code == (1 if printed else 0)
    return printed


def test_marks__on_functions_classes_and_parameters__are_all_found(checkout, capsys):
    assert check(checkout, capsys) == ""
    page = (checkout / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert "| R001 | first \\| thing | 001 | `test_it.py::test_a`<br>`test_it.py::test_c` |" in page
    assert "| R002 | second | 001 | `test_it.py::TestB::test_b`<br>`test_it.py::TestInherited` |" in page
    assert "| R003 | third | 002 | not yet: Part 9 |" in page
    assert "Of 3 requirements 2 have a test." in page


def test_this_repository__every_requirement__has_a_test_or_a_reason_and_the_page_says_so(root):
    command = [sys.executable, "-m", "tests.repo.requirements", "--check"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout + done.stderr == ""
