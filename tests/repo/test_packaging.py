"""The distribution: what the wheel holds, what installs with it, and what an import costs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from tests.repo.conftest import RELEASE, Environment, build, copied
from tests.support.trusting import trusted

from holdfast.plugin import discovery


def packages(root: Path) -> list[str]:
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return list(table["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def test_wheel__contents__every_package_typed_with_the_demo_and_without_tests(root, wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for package in packages(root):
        assert f"{Path(package).name}/py.typed" in names
        assert f"{Path(package).name}/__init__.py" in names
    assert "holdfast_cli/demo/session.jsonl" in names
    tops = {name.split("/")[0] for name in names}
    info = f"holdfast_memory-{metadata.version('holdfast-memory')}.dist-info"
    assert tops == {Path(p).name for p in packages(root)} | {info}


def test_wheel__built_again_elsewhere__has_the_same_bytes_and_absolute_links(root, wheel, tmp_path, monkeypatch):
    """As the release builds it, which names the repository."""
    for name, value in RELEASE.items():
        monkeypatch.setenv(name, value)
    assert build(copied(root, tmp_path / "copy"), tmp_path / "out").read_bytes() == wheel.read_bytes()
    file = zipfile.ZipFile(wheel)
    [name] = (one for one in file.namelist() if one.endswith("/METADATA"))
    head, _, text = file.read(name).decode().partition("\n\n")
    address = "https://git.example.org/team/holdfast"
    assert f"Project-URL: Homepage, {address}\n" in head
    assert "Author: " in head
    assert f"]({address}/raw/v{metadata.version('holdfast-memory')}/docs/images/flow.svg)" in text
    targets = re.findall(r"\]\(([^)\s]+)", text)
    assert len(targets) > 20
    assert [one for one in targets if not one.startswith(("https://", "#"))] == []


def test_packages__of_the_wheel__are_those_that_are_typed_and_held_apart(root):
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    names = {Path(package).name for package in packages(root)}
    found = (p for folder in ("core", "plugins", "backends") for p in (root / folder).glob("*/__init__.py"))
    assert {path.parent.relative_to(root).as_posix() for path in found} == set(packages(root))
    contracts = {c["name"]: c for c in table["tool"]["importlinter"]["contracts"]}
    assert set(table["tool"]["mypy"]["packages"]) == names
    assert set(table["tool"]["importlinter"]["root_packages"]) == names
    kernel = {"holdfast", "holdfast_memory"}
    assert set(contracts["core imports no plugin and no backend"]["forbidden_modules"]) == names - kernel
    layered = contracts["the application stands on the kernel in layers, and above the plugins"]["layers"]
    # The trail of holdfast_gitea is a forge of the application.
    assert {name for layer in layered for name in layer.split(" | ")} == names - kernel - {"holdfast_gitea"}


STATED = """
lists = ('facts', 'decisions', 'blockers', 'artifacts', 'follow_ups', 'state_mutations')
stated = {'objective': 'Fix the login', 'next_step': 'none', 'curated': 'none', **dict.fromkeys(lists, ())}
"""
SCRIPT = """
from holdfast import Holdfast
with Holdfast.open() as memory:
    with memory.session('s') as session:
        session.add('user', 'Fix the login')
        session.flush(stated)
    [note] = (one.name for one in session.last_receipt.written if one.surface == 'daily')
    assert 'Fix the login' in memory.store.read(note).text
    print(*sorted(s.name for s in memory.plugin_statuses() if s.status == 'loaded'))
"""


@pytest.fixture(scope="module")
def kernel(root, tmp_path_factory) -> Environment:
    """Core and the file backend in an environment of their own."""
    made = Environment(tmp_path_factory.mktemp("kernel") / "environment")
    made.lend("attrs", "markdown-it-py", "mdurl", "pluggy", "tomli-w", "tomlkit")
    for name in ("holdfast", "holdfast_memory"):
        shutil.copytree(root / "core" / name, made.site / name)
    shutil.copytree(root / "backends" / "holdfast_file", made.site / "holdfast_file")
    info = made.site / "holdfast_memory-0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[holdfast.backends]\nfile = holdfast_file\n", encoding="utf-8")
    return made


@pytest.fixture
def core_alone(kernel, project) -> Environment:
    """The kernel, and a project that enables no plugin."""
    settings = "".join(f"[plugins.{name}]\nenabled = false\n" for name in discovery.defaults())
    trusted(project, settings)
    return kernel


def test_core__with_no_plugin_installed__opens_and_flushes(core_alone, project):
    done = core_alone.run("python", "-I", "-c", STATED + SCRIPT, cwd=project)
    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", ["file"])
    (project / ".holdfast" / "USER.md").write_text("Written elsewhere", encoding="utf-8")
    done = core_alone.run("python", "-I", "-c", STATED + FLUSH, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    warning = "No facts were stored or queued: the kernel alone keeps none."
    assert done.stdout == f"Holdfast False\n{warning}\nWritten elsewhere\n", "the kernel alone trusts its folder"
    [note] = (project / ".holdfast" / "memory").glob("2*.md")
    assert "The token expires after 60 s" in note.read_text(encoding="utf-8")
    assert not (project / ".holdfast" / "facts.jsonl").exists()


def test_core__an_application_of_ones_own__gives_what_the_kernel_asks_for(core_alone, project):
    done = core_alone.run("python", "-I", "-c", STATED + OWN_APPLICATION, cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "flushed, 3 pending\n", "")


#: An application with an outbox of its own, in which something waits.
OWN_APPLICATION = """
import os
from holdfast.project import Project
from holdfast.services.services import Services

class Outbox:
    def send_due(self, *, limit_s=None):
        return 3

class Mine(Services):
    @property
    def outbox(self):
        return Outbox()

class Application(Project):
    services_type = Mine

with Application.open() as memory:
    session = memory.session('w')
    session.add('user', 'Fix the logout')
    with open(os.path.join(memory.services.state, 'outbox.jsonl'), 'w') as file:
        file.write('{}')
    print(f'flushed, {session.flush(stated).pending} pending')
    os.unlink(file.name)
"""

FLUSH = """
from holdfast import Holdfast
with Holdfast.open() as memory:
    print('Holdfast', hasattr(memory, 'deep_dream'))
    with memory.session('s') as session:
        session.add('user', 'Fix the login')
        receipt = session.flush({**stated, 'facts': ['The token expires after 60 s']})
        assert receipt.written and not session.unflushed
    print(*receipt.warnings)
    print(memory.store.for_agents(memory.store.read('USER.md')))
"""


def test_import__holdfast__reads_only_its_own_file_and_imports_nothing_else_of_it():
    script = """
import sys
opened = []
# site has already imported what it wants; from here on every opened file is ours.
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import holdfast
print(*sorted(m for m in sys.modules if m.startswith("holdfast")))
print(*sorted({path for path in opened if "holdfast" not in path}))
print(*(name for name in ("pluggy", "attr", "tomllib", "importlib.metadata") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    modules, elsewhere, heavy = done.stdout.split("\n")[:3]
    assert modules.split() in (["holdfast"], ["__editable___holdfast", "holdfast"])
    assert (elsewhere, heavy) == ("", "")


def test_dependencies__have_lower_bounds__and_upper_ones_by_the_policy(root):
    """CONTRIBUTING.md names those with an upper bound."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    bounds = [re.split(r"(?=[<>=;])", one, maxsplit=1) for one in listed if not one.startswith("holdfast-memory[")]
    assert [name for name, bound in bounds if not bound.startswith(">=")] == []
    assert {name for name, bound in bounds if "<" in bound} == {"pluggy", "httpcore2", "mcp", "portable-memory"}
    pinned = {
        line.partition("==")[0]
        for file in ("constraints.txt", "tools.txt")
        for line in (root / ".ci" / file).read_text(encoding="utf-8").splitlines()
    }
    needed = {
        re.split(r"[\[>]", one)[0] for extra in ("dev", "docs") for one in project["optional-dependencies"][extra]
    }
    assert needed <= pinned
    assert {*(root / ".ci" / "tools.in").read_text(encoding="utf-8").split()} <= pinned


@pytest.mark.req("R231", "R232")
def test_project__patterns_and_run_time_dependencies__are_the_reviewed_ones(root):
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert table["tool"]["mypy"]["strict"]
    assert table["tool"]["ruff"]["lint"]["select"]
    names = {re.split(r"[<>=;\[ ]", one, maxsplit=1)[0] for one in table["project"]["dependencies"]}
    assert names == {"attrs", "keyring", "markdown-it-py", "pluggy", "tomli-w", "tomlkit", "tzdata"}


@pytest.mark.skipif(not shutil.which("ssh-keygen") or not shutil.which("bash"), reason="needs bash and ssh-keygen")
def test_release__tag__is_signed_or_refused(root, tmp_path):
    project, key = tmp_path / "project", tmp_path / "key"
    (project / ".ci").mkdir(parents=True)
    for name in (".ci/release", "pyproject.toml", "CHANGELOG.md"):
        shutil.copy(root / name, project / name)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**kept, "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    (tmp_path / "gitconfig").write_text("[user]\n\tname = m\n\temail = m@example.org\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=project, env=env, capture_output=True, text=True, check=False)

    for words in ("init -q", "add -A", "commit -q -m Release"):
        assert run("git", *words.split()).returncode == 0
    refused = run(".ci/release", "--tag-only")
    assert (refused.returncode, "user.signingkey" in refused.stderr) == (1, True)
    assert run("git", "tag").stdout == ""

    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "signers").write_text(f"m@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingkey", key),
        ("gpg.ssh.allowedSignersFile", tmp_path / "signers"),
    ):
        run("git", "config", name, str(value))
    assert run(".ci/release", "--tag-only").returncode == 0
    tag = run("git", "tag").stdout.strip()
    assert run("git", "verify-tag", tag).returncode == 0

    run("git", "tag", "-d", tag)
    run("git", "tag", "-a", tag, "-m", "no signature", "--no-sign")
    assert "has no signature" in run(".ci/release").stderr
