"""Read a possibly hostile repository with git, which sees none of its settings.

A repository's settings can name programs (pagers, filters, signature checkers, monitors, hooks). No list of such keys
stays complete, so git runs on a *view* of the repository, a temporary folder with its references, logs and HEAD, the
real objects and index, and settings written here. Of the repository's own settings only :data:`_KEPT` are taken over.
User and system settings are not read either, except where :func:`own_setting` asks for one.
"""

import errno
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from stat import S_ISDIR, S_ISREG
from typing import Final

from holdfast.fs import paths, safeopen
from holdfast.fs.checkout import git_folders, is_linked, pointer

_VIEW: Final = (
    "[core]\nbare = false\nautocrlf = input\nfsmonitor = false\nuntrackedCache = false\n"
    f"hooksPath = {os.devnull}\nattributesFile = {os.devnull}\n"
)
_KEPT: Final = re.compile(
    rb"(?im)^\s*(filemode|ignorecase|symlinks|precomposeunicode|objectformat|refstorage)\s*="
    rb"\s*(true|false|sha1|sha256|files|reftable)\s*(?:[#;].*)?$"
)
_EXTENSIONS: Final = ("objectformat", "refstorage")
_LINKED: Final = ("refs", "packed-refs", "shallow", "info", "reftable", os.path.join("logs", "refs"))
_SHARED_INDEX: Final = "sharedindex."
#: Where git usually is, for a client whose own search path lacks it.
_USUAL: Final = (
    (r"C:\Program Files\Git\cmd",) if os.name == "nt" else ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
)

_SETTINGS: Final = 1 << 20
_INDEX: Final = 256 << 20
#: A repository where a call took so long is left alone for a while, because every further call may wait too.
_TOO_LONG_S: Final = 5.0
_REST_S: Final = 60.0
#: When each such work tree may be read again.
_resting: dict[str, float] = {}


def repositories(path: str) -> list[str]:
    """The folders with ``.git`` at or above ``path``, nearest first."""
    return [folder for folder in paths.upwards(path) if os.path.lexists(os.path.join(folder, ".git"))]


def top(root: str) -> str:
    """The folder with ``.git`` at or above ``root``; empty when there is none."""
    return next(iter(repositories(root)), "")


def run(root: str, *words: str, timeout_s: float) -> bytes | None:
    """The output of ``git`` in ``root``, a repository folder, empty when it answers "no" (1); None when it fails, is
    missing or times out, for a minute after that, where it would follow a link or wait for a pipe, in a repository that
    is not the work tree's, and in another user's that ``safe.directory`` does not name."""
    work_tree = top(root)
    program = _program(work_tree)
    if not work_tree or not program:
        return None
    import tempfile  # here, because agents' hooks import modules that use this one

    own, common = git_folders(work_tree)
    if time.monotonic() < _resting.get(work_tree, 0.0) or not _may_read(work_tree, own):
        return None
    with tempfile.TemporaryDirectory(prefix="holdfast-git-") as view, suppress(OSError):
        shared = [name for name in os.listdir(own) if name.startswith(_SHARED_INDEX)]
        opened = [os.path.join(own, name) for name in ("index", "logs", *shared)]
        opened += [os.path.join(common, name) for name in ("objects", "objects/info/alternates", *_LINKED)]
        if not _is_plain(opened):
            return None
        _make_view(view, own, common, shared)
        places = {
            "GIT_DIR": view,
            "GIT_WORK_TREE": work_tree,
            "GIT_OBJECT_DIRECTORY": os.path.join(common, "objects"),
            "GIT_INDEX_FILE": os.path.join(own, "index"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        return _started(program, root, places, words, timeout_s)
    return None


def own_setting(root: str, key: str) -> list[str]:
    """Values of a git setting in the user's and the system's files, with ``~`` as the home folder. Never runs a program
    that is inside the repository of ``root``."""
    words = ("config", "-z", "--path", "--get-all", key)
    return [value.decode("utf-8", "replace") for value in _asked(root, words).split(b"\0") if value]


def setting(root: str, key: str) -> bool:
    """Whether the repository's own file, or a file of the user, has a value for ``key``. Nothing is run for it."""
    return bool((top(root) and _asked(root, (*_in_file(root), "--get", key))) or own_setting(root, key))


def configure(root: str, key: str, value: str) -> bool:
    """Set ``key`` in the repository's own file, which must be a regular file with one name. False when git cannot.
    Raises: OSError for another kind of file, and where ``.git`` leads to another repository."""
    if not _is_its_own(top(root)):
        raise PermissionError(errno.EPERM, "It leads to another repository", os.path.join(top(root), ".git"))
    os.close(safeopen.open_fd(_settings_file(root), os.O_RDWR))
    _asked(root, (*_in_file(root), key, value))
    return setting(root, key)


def merge_file(root: str, base: str, ours: str, theirs: str) -> bool:
    """Merge into ``ours`` as git does. False with a conflict, which ``ours`` then shows, or without git."""
    program, labels = _program(root), ("-L", "ours", "-L", "base", "-L", "theirs")
    words = ("merge-file", *labels, ours, base, theirs)
    return bool(program) and _started(program, os.path.dirname(program), {}, words, 60.0, no=0) is not None


def _is_its_own(work_tree: str) -> bool:
    """Whether ``.git`` is this work tree's, which is a folder in it, a linked work tree's that names it, or a
    submodule's."""
    named = os.path.join(work_tree, ".git")
    own, common = git_folders(work_tree)
    if os.path.isdir(named):
        return not os.path.islink(named) and own == common
    if own != common:
        return is_linked(work_tree, own, common)
    above = filter(_is_its_own, repositories(os.path.dirname(work_tree)))
    return any(own.startswith(os.path.join(path, "modules", "")) for folder in above for path in git_folders(folder))


def _asked(root: str, words: tuple[str, ...]) -> bytes:
    """The output of ``git`` run outside of any repository. Its program is never one inside ``root``."""
    if program := _program(root):
        with suppress(OSError):
            return _started(program, os.path.dirname(program), {"GIT_DIR": os.devnull}, words, 5.0) or b""
    return b""


def _in_file(root: str) -> tuple[str, ...]:
    return ("config", "--file", _settings_file(root), "--no-includes")


def _settings_file(root: str) -> str:
    return os.path.join(git_folders(top(root))[1], "config")


def tracked(work_tree: str) -> Iterator[tuple[str, str]]:
    """The tracked names with their objects, read from the index without git.

    Raises: OSError, ValueError for a damaged index.
    """
    own, common = git_folders(work_tree)
    if not os.path.isdir(own):
        return
    size = 32 if _kept(common).get("objectformat") == "sha256" else 20
    for name in os.listdir(own):
        if name == "index" or name.startswith(_SHARED_INDEX):
            data = safeopen.read(os.path.join(own, name), _INDEX, private=False)
            try:
                yield from ((os.fsdecode(entry), object_id) for entry, object_id in _names(data, size))
            except IndexError as error:
                raise ValueError("the index ends early") from error


def _names(data: bytes, hash_bytes: int) -> Iterator[tuple[bytes, str]]:
    """The names, with their objects in hexadecimal, in an index of version 2, 3 or 4."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("this is not an index of git")
    entry, name = 12, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = entry + 40 + hash_bytes
        at = flags + (4 if data[flags] & 0x40 else 2)
        if version == 4:
            cut = data[at] & 0x7F
            while data[at] & 0x80:
                at += 1
                cut = (cut + 1 << 7) | data[at] & 0x7F
            at += 1
            name = name[: len(name) - cut]
        else:
            name = b""
        end = data.index(b"\0", at)
        name += data[at:end]
        object_id = data[entry + 40 : flags].hex()
        entry = end + 1 if version == 4 else entry + ((end - entry) // 8 + 1) * 8
        yield name, object_id


def _make_view(view: str, own: str, common: str, shared: Iterable[str]) -> None:
    settings = _kept(common)
    if own != common and settings.get("refstorage") == "reftable":
        raise OSError("a linked work tree with reftable has two sets of references")
    extensions = "".join(f"{key} = {settings[key]}\n" for key in _EXTENSIONS if key in settings)
    core = "".join(f"{key} = {value}\n" for key, value in settings.items() if key not in _EXTENSIONS)
    text = f"{_VIEW}{core}repositoryformatversion = {int(bool(extensions))}\n[extensions]\n{extensions}"
    for name, content in (("config", text), ("HEAD", pointer(os.path.join(own, "HEAD")) + "\n")):
        with open(os.path.join(view, name), "w", encoding="utf-8") as file:
            file.write(content)
    os.mkdir(os.path.join(view, "logs"))
    links = [(common, name) for name in _LINKED]
    for folder, name in (*links, (own, os.path.join("logs", "HEAD")), *((own, name) for name in shared)):
        source = os.path.join(folder, name)
        if os.path.isdir(source) or os.path.isfile(source):
            _link(source, os.path.join(view, name))


def _is_plain(paths: Iterable[str]) -> bool:
    """Whether ``paths``, and what is below, are folders and regular files, and no list of object folders is huge. A
    link could lead git to another repository, and it would wait for a pipe."""
    waiting = list(paths)
    while waiting:
        with suppress(OSError):
            path = waiting.pop()
            status = os.lstat(path)
            if S_ISDIR(status.st_mode):
                with os.scandir(path) as entries:
                    waiting += [entry.path for entry in entries if not entry.is_file(follow_symlinks=False)]
            elif not S_ISREG(status.st_mode) or (path.endswith("alternates") and status.st_size > _SETTINGS):
                return False
    return True


def _link(source: str, target: str) -> None:
    try:
        os.symlink(source, target)
    except OSError:  # Windows, without the right to make links
        import shutil

        (shutil.copytree if os.path.isdir(source) else shutil.copyfile)(source, target)


def _kept(common: str) -> dict[str, str]:
    """The settings taken over from the repository: properties of its format and of its file system."""
    with suppress(OSError):
        data = safeopen.read(os.path.join(common, "config"), _SETTINGS, private=False)
        return {key.decode().lower(): value.decode() for key, value in _KEPT.findall(data)}
    return {}


def _may_read(work_tree: str, own: str) -> bool:
    """Whether the repository is this user's, or is named by the user's own ``safe.directory``, as in git. One that is
    not this work tree's is not read, because an archive can name it."""
    if not _is_its_own(work_tree):
        return False
    if not hasattr(os, "geteuid"):
        return True
    try:
        if all(os.stat(path).st_uid == os.geteuid() for path in (work_tree, own)):
            return True
    except OSError:
        return False
    named = own_setting(work_tree, "safe.directory")
    return any(
        value == "*" or value.rstrip("/") == work_tree or (value.endswith("/*") and work_tree.startswith(value[:-1]))
        for value in named
    )


def _started(
    program: str, folder: str, places: Mapping[str, str], words: tuple[str, ...], limit: float, *, no: int = 1
) -> bytes | None:
    import subprocess

    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    env |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_ATTR_NOSYSTEM": "1", **places}
    env["PATH"] = os.pathsep.join(search_path(places.get("GIT_WORK_TREE", "")))  # git starts `gpg` from there
    try:
        done = subprocess.run(  # noqa: S603 - holdfast chooses the arguments
            [program, "--no-pager", *words],
            cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=limit,
        )  # fmt: skip
    except subprocess.SubprocessError:
        if limit >= _TOO_LONG_S:
            _resting[places.get("GIT_WORK_TREE", "")] = time.monotonic() + _REST_S
        return None
    return done.stdout if done.returncode in (0, no) else None


def _program(root: str) -> str:
    """Git's path; empty when there is none outside of the repositories around ``root``."""
    for folder in search_path(root):
        path = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def search_path(root: str) -> list[str]:
    """The absolute folders of the search path, and the usual ones, outside of ``root`` and its repositories."""
    outermost = (repositories(os.path.realpath(root)) or [os.path.realpath(root)])[-1] if root else ""
    inside = os.path.join(outermost, "") if root else "\0"
    folders = filter(os.path.isabs, (*os.get_exec_path(), *_USUAL))
    return [folder for folder in folders if not os.path.realpath(os.path.join(folder, "git")).startswith(inside)]
