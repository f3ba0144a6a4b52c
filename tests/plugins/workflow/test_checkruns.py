"""Which lines of shell show by their exit status that tests, a build or a linter passed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_app.message_formats.leaves import call_text
from holdfast_app.workflow.checkruns import BUILD, COMMIT, DEPLOY, LINT, TEST, parts
from holdfast_app.workflow.observed import command_of

TESTS = (
    "pytest",
    "pytest -q 2>&1",
    "pytest > out.txt 2>&1",
    "cd web && npm test",
    "echo start; pytest tests/a.py",
    "cd a\npytest -q",
    "FOO=1 .venv/bin/pytest -x",
    "timeout 60 uv run pytest",
    "python3 -m pytest -q",
    "python -m unittest",
    "bash -lc 'cd a && pytest -q'",
    "set -o pipefail; pytest | tee log",
    "npm run test:unit",
    "npx jest --ci",
    "cargo test --all",
    "go test ./...",
    "make test",
    "./gradlew test",
    "tox -e py311",
    "pytest -k 'a or (b)'",
    "pytest && echo ok",
)
NOTHING = (
    "pytest -q | tail -5",
    "pytest; echo done",
    "pytest -q\necho done",
    "pytest || true",
    "pytest &",
    "! pytest",
    "(cd x && pytest)",
    "for i in 1 2; do pytest; done",
    "pytest --version",
    "pytest --collect-only",
    "make -n test",
    "npm test --if-present",
    "echo pytest",
    "cat pytest.ini",
    "grep -r pytest .",
    "pytest 'unclosed",
    "",
)


@pytest.mark.parametrize("line", TESTS)
def test_parts__status_is_that_of_tests__is_a_test(line: str) -> None:
    assert [part.kind for part in parts(line)] == [TEST]


@pytest.mark.parametrize("line", NOTHING)
def test_parts__status_is_another_ones_or_nothing_runs__is_nothing(line: str) -> None:
    assert parts(line) == ()


def test_parts__several_checks_in_one_line__are_all_named() -> None:
    assert [part.kind for part in parts("ruff check . && npm run build && pytest")] == [LINT, BUILD, TEST]


def test_parts__command_of_the_settings__is_a_test_by_its_beginning() -> None:
    assert parts("./run-checks --fast", ["./run-checks"])
    assert not parts("./run-checks-not", ["./run-checks"])
    assert not parts("./run-checks --help", ["./run-checks"])


@pytest.mark.parametrize(
    ("later", "earlier", "covered"),
    [
        ("pytest", "pytest tests/test_a.py::test_b -x", True),
        ("pytest tests", "pytest tests/test_a.py", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py::test_b", True),
        ("pytest -q", "pytest -v", True),
        ("pytest tests/test_a.py", "pytest", False),
        ("pytest --lf", "pytest", False),
        ("pytest -k other", "pytest tests/test_a.py", False),
        ("pytest tests/test_a.py", "pytest tests/test_ab.py", False),
        ("cd b && pytest", "cd a && pytest", False),
        ("npm test", "npm run build", False),
        ("cargo test", "pytest", False),
    ],
)
def test_covers__a_later_run__mends_only_what_it_ran(later: str, earlier: str, covered: bool) -> None:
    (mine,), (theirs,) = parts(later), parts(earlier)
    assert mine.covers(theirs) is covered


@given(st.text(max_size=80))
def test_parts__any_line__gives_an_answer(line: str) -> None:
    assert all(part.words and part.covers(part) for part in parts(line))


@given(st.lists(st.sampled_from(["pytest", "npm test", "true", "cd a", "tail", "make"]), min_size=1, max_size=4))
def test_parts__a_pipe_or_an_alternative_at_the_end__is_nothing(commands: list[str]) -> None:
    line = " && ".join(commands)
    for end in (" | cat", " || true", " &", "; true", "\necho"):
        assert parts(line + end) == ()


@pytest.mark.parametrize(
    "command", ["pytest -q", "pytest -q\necho done", "cd a && \\\n  pytest", "x" * 500 + "\npytest"]
)
def test_command_of__a_journalled_call__keeps_the_line_breaks(command: str) -> None:
    told = call_text("Bash", {"command": command, "description": "Run it", "timeout": 5})
    assert command_of(told) == command


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("git commit -m 'pytest passes'", COMMIT),
        ("git commit -m \"$(cat <<'EOF'\nMend it\n\nSee `a.py`.\nEOF\n)\"", COMMIT),
        ("git push origin main", COMMIT),
        ("npm run deploy", DEPLOY),
        ("kubectl apply -f k8s/", DEPLOY),
        ("docker push registry/app:1", DEPLOY),
        ("npm run type-check", LINT),
        ("npx vue-tsc --noEmit", LINT),
    ],
)
def test_parts__commit_deployment_or_type_check__has_its_own_kind(line: str, kind: str) -> None:
    assert [part.kind for part in parts(line)] == [kind]


@pytest.mark.parametrize(
    "line", ["kubectl apply --dry-run=client -f k8s/", "git status", 'git commit -m "$(date)"', "terraform plan"]
)
def test_parts__nothing_is_deployed_or_committed_for_sure__is_nothing(line: str) -> None:
    assert parts(line) == ()
