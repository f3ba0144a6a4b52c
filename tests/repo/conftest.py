"""What the tests of the repository share: its files, wheels built from it, and environments to install them in.

No test here needs a network: wheels are built with the running environment's hatchling, and the run-time dependencies
of an environment are copies of those that the tests run with.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.support.processes import finished

ROOT = Path(__file__).parents[2]
#: The environment in which a release is built.
RELEASE = {"HOLDFAST_REPOSITORY": "https://git.example.org/team/holdfast/", "SOURCE_DATE_EPOCH": "1767348000"}


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file of the project."""
    return files_of(ROOT)


def files_of(root: Path) -> list[Path]:
    """The files that git knows or would add, or all of an unpacked archive. A virtual environment is no part."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if listed.returncode == 0:
        found = [p for name in listed.stdout.decode().split("\0") if name and (p := root / name).is_file()]
    else:
        found = [p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    environments = {p.parent for p in found if p.name == "pyvenv.cfg"}
    return [p for p in found if environments.isdisjoint(p.parents)]


class Environment:
    """A virtual environment of its own. ``run`` executes a program or ``python`` in it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        self.site = Path(
            self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        )

    def run(
        self, program: str, *arguments: str, cwd: Path | None = None, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; the result holds exit code, output and error text."""
        environ: Mapping[str, str] = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST_", "HOLDFAST_"))
        }
        return finished([self.bin / program, *arguments], cwd=cwd, input=text, env=environ)

    def install(self, *wheels: Path) -> None:
        """Install wheels, without their dependencies."""
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "-q"]
        command += ["--no-index", "--no-deps", "--no-compile"]
        done = subprocess.run([*command, *wheels], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr

    def lend(self, *distributions: str) -> None:
        """Copy distributions of the running environment, with all that they need themselves."""
        for found in needed(*distributions):
            tops = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
            for top in tops - {"__pycache__"}:
                source = Path(str(found.locate_file(top)))
                if source.is_dir():
                    # What is compiled stays so, but for what another process is compiling now.
                    shutil.copytree(source, self.site / top, ignore=shutil.ignore_patterns("*.pyc.*"))
                else:
                    shutil.copy(source, self.site / top)


def needed(*distributions: str) -> Iterator[metadata.Distribution]:
    """Distributions of the running environment, with all that they need themselves."""
    wanted, done = list(distributions), set[str]()
    while wanted:
        name = wanted.pop()
        if name in done:
            continue
        done.add(name)
        found = metadata.distribution(name)
        yield found
        for text in found.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                wanted.append(requirement.name)


def build(source: Path, into: Path) -> Path:
    """The wheel of the project at ``source``."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(into), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(into.glob("*.whl"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """holdfast's wheel, built from a copy of the checkout's sources."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in RELEASE.items():
            patch.setenv(name, value)
        return build(copied(ROOT, tmp_path_factory.mktemp("sources") / "copy"), tmp_path_factory.mktemp("wheel"))


def copied(root: Path, source: Path) -> Path:
    """A copy of what a build needs, in the new folder ``source``."""
    for name in ("core", "plugins", "backends"):
        shutil.copytree(root / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(root / name, source)
    return source


@pytest.fixture(scope="session")
def index(wheel, tmp_path_factory) -> Path:
    """A folder of wheels for an installation: holdfast's, and its dependencies, packed from this environment."""
    folder = tmp_path_factory.mktemp("index")
    shutil.copy(wheel, folder)
    for found in needed("holdfast-memory"):
        if found.name != "holdfast-memory":
            _pack(found, folder)
    return folder


def _pack(found: metadata.Distribution, folder: Path) -> None:
    """An installed distribution as a wheel again."""
    tag = next(line for line in (found.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: "))
    name = re.sub(r"[-_.]+", "_", found.metadata["Name"])
    with zipfile.ZipFile(folder / f"{name}-{found.version}-{tag[5:]}.whl", "w") as file:
        for path in found.files or ():
            if ".." not in path.parts and path.suffix != ".pyc" and path.name not in ("INSTALLER", "REQUESTED"):
                file.write(str(found.locate_file(path)), path.as_posix())


@pytest.fixture(scope="session")
def acme_wheel(tmp_path_factory) -> Path:
    """The wheel of the external distribution in tests/third_party."""
    source = tmp_path_factory.mktemp("acme") / "acme"
    shutil.copytree(ROOT / "tests" / "third_party" / "acme", source, ignore=shutil.ignore_patterns("__pycache__"))
    return build(source, tmp_path_factory.mktemp("acme-wheel"))
