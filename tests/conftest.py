"""Shared fixtures. Nothing here reads the user's own home, zone or environment."""

import contextlib
import itertools
import os
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import hypothesis
import pytest

#: Nothing may depend on how busy the machine is. A fixture's folder is shared by the examples of a test.
_CALM = hypothesis.settings(
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
#: ``--hypothesis-profile thorough``: as many examples as a change to a backend is worth, see CONTRIBUTING.md.
hypothesis.settings.register_profile("thorough", _CALM, max_examples=2_000)
#: Without that option: half of Hypothesis's own number.
hypothesis.settings.register_profile("few", _CALM, max_examples=50)
hypothesis.settings.load_profile("few")

#: What the fixture itself sets and undoes.
RESTORED = {"HOME", "USERPROFILE", "TZ", "COLUMNS", "PYTEST_CURRENT_TEST"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screenshots", metavar="DIR", help="write a picture of each view of `holdfast web` to this folder"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """More than processors, because the tests wait for disks and other processes a third of their time."""
    return 1 + (os.cpu_count() or 1)


def pytest_sessionstart() -> None:
    """Plugins, commands and methods are found through installed entry points: those of another version of the sources
    would make most tests fail for no reason that they name."""
    table = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    written = {(g, n, v) for g, table in table["project"]["entry-points"].items() for n, v in table.items()}
    try:
        entries = metadata.distribution(table["project"]["name"]).entry_points
    except metadata.PackageNotFoundError:
        entries = metadata.EntryPoints()
    if not written <= {(e.group, e.name, e.value) for e in entries}:
        command = "pip install --no-deps --no-build-isolation -e ."
        pytest.exit(f"pyproject.toml has entry points that are not installed. Run `{command}`.", returncode=3)


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def tick(self, **delta: float) -> None:
        self.now += timedelta(**delta)


@pytest.fixture
def clock() -> FakeClock:
    """Half past two on a Saturday, UTC."""
    return FakeClock(datetime(2026, 11, 21, 14, 30, tzinfo=UTC))


@pytest.fixture(scope="session")
def homes(tmp_path_factory) -> Iterator[Path]:
    """The next home folder. pytest's own numbering lists all folders of the run for each test."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_environment(homes, monkeypatch) -> Iterator[None]:
    """A home of its own, UTC, no HOLDFAST_* variables; and whatever a test sets is gone afterwards."""
    for name in list(os.environ):
        if name.startswith("HOLDFAST_"):
            monkeypatch.delenv(name)
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("CLAUDECODE", "OPENCODE"):  # an agent may run the tests
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("holdfast_app.background.start", lambda *_: None)  # no process that outlives its test
    before = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    yield
    monkeypatch.undo()
    leaked = {k for k, v in os.environ.items() if before.get(k, v) != v and k not in RESTORED}
    assert not leaked, f"the test changed the environment: {sorted(leaked)}"


@pytest.fixture
def shared_key(tmp_path_factory, monkeypatch) -> Path:
    """A key file that is shared on purpose: private state stays valid where a test copies a project."""
    path = tmp_path_factory.mktemp("shared") / "key"
    path.write_text("5e" * 32)
    monkeypatch.setenv("HOLDFAST_KEY_FILE", str(path))
    return path


@pytest.fixture
def closing() -> Iterator[Callable[[Any], Any]]:
    """``closing(one)`` gives it back, and closes it when the test has ended."""
    with contextlib.ExitStack() as stack:
        yield lambda one: stack.enter_context(contextlib.closing(one))


@pytest.fixture
def project(tmp_path) -> Path:
    """An empty project folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def state(project) -> Path:
    """The project's private folder."""
    return project / ".holdfast" / "state"
