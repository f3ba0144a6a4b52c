"""Find the project and read its settings file, without attrs. What of it counts is decided in
:mod:`holdfast_app.project_settings.resolved`."""

import os
from typing import Any

from holdfast.config.settings import STATE_FOLDERS, parsed
from holdfast.errors import ConfigError
from holdfast.fs import paths, safeopen, userdir

#: Possible settings files in search order. The first existing file wins.
CONFIG_FILES = ("holdfast.toml", ".opencode/holdfast.toml", "pyproject.toml")
_MARKS = ("holdfast.toml", ".holdfast", ".opencode/holdfast.toml")

#: Maximum size of a settings file, in bytes, because a clone may hold anything under that name.
MAX_BYTES = 1 << 17


def find_root(start: str | None = None) -> str:
    """The project folder, absolute and without symbolic links. From here on, nothing below it may be a symbolic link.

    This is ``start`` when given (it must exist), otherwise ``HOLDFAST_ROOT``, otherwise the nearest folder at or above
    the working directory with holdfast.toml, ``.holdfast`` or ``.git``, otherwise the working directory. The search
    stops at the repository's top (a ``.git`` file or folder). A git worktree belongs to its main checkout's project,
    unless it has a private folder of its own, which git never brings. The home folder, and the file system's top, are
    projects for the folders below them only with a settings file. Another user's settings make no folder a project,
    see :func:`foreign_file`. Raises: ConfigError when a named folder does not exist, or its name is empty (a script's
    unset variable).
    """
    if start == "":
        raise ConfigError("The project folder's name is empty.", next_step="Name a folder, or leave out `--root`.")
    if named := start or os.environ.get("HOLDFAST_ROOT"):
        root = os.path.realpath(os.path.expanduser(named))
        if not os.path.isdir(root):
            raise ConfigError(f"There is no folder {named!r}.", next_step="Name a folder that exists.")
        return root
    try:
        here, home = os.path.realpath(os.getcwd()), os.path.realpath(os.path.expanduser("~"))
    except FileNotFoundError:
        raise ConfigError("The current folder is gone.", next_step="Change to a folder that exists.") from None
    for folder in paths.upwards(here):
        is_above_all = folder != here and folder in (home, os.path.dirname(folder))
        if is_marked(folder) and (not is_above_all or config_file(folder)):
            return _in_main_checkout(folder)
        if _is_repository(folder):
            is_own = _obeyed(os.path.join(folder, ".git"), folder)
            return _in_main_checkout(folder) if is_own else here
    return here


def _in_main_checkout(folder: str) -> str:
    """The same folder in the main checkout, for one in a git worktree and a project there; otherwise ``folder``.

    Both checkouts must name each other, as git does, because an unpacked archive could name an unrelated repository,
    also by a link to another work tree's file.
    """
    top = next(filter(_is_repository, paths.upwards(folder)), "")
    git = os.path.join(top, ".git")
    if not top or os.path.isdir(git) or os.path.islink(git):
        return folder
    if any(os.path.isdir(os.path.join(folder, *name.split("/"))) for name in STATE_FOLDERS.values()):
        return folder
    from holdfast.fs import checkout  # here, because few projects are in a work tree

    own, common = checkout.git_folders(top)
    if not checkout.is_linked(top, own, common) or os.path.basename(common) != ".git":  # a submodule, say
        return folder
    same = os.path.normpath(os.path.join(os.path.dirname(common), os.path.relpath(folder, top)))
    return same if is_marked(same) else folder


def foreign_file(root: str) -> str:
    """The path of another user's settings file or private folder that would count at ``root`` or above it; ``""`` when
    there is none.

    Otherwise any user with write access to a parent folder could control this project (compare git's CVE-2022-24765).
    Such a file is used when the user trusts its folder.
    """
    for folder in paths.upwards(root):
        marks = (*_MARKS, "pyproject.toml") if folder == root else _MARKS
        for path in (os.path.join(folder, mark) for mark in marks):
            counts = not path.endswith("pyproject.toml") or _has_table(root)
            if counts and os.path.lexists(path) and not _obeyed(path, folder):
                return path
        if _is_repository(folder) or is_marked(folder):
            break  # parent folders do not count
    return ""


def is_marked(folder: str) -> bool:
    """Whether usable settings or a usable private folder make ``folder`` a project."""
    return any(_obeyed(os.path.join(folder, mark), folder) for mark in _MARKS)


def repository(start: str) -> str:
    """The top folder of ``start``'s git repository or worktree; empty without one, or when another user owns it."""
    top = next(filter(_is_repository, paths.upwards(start)), "")
    return top if top and _obeyed(os.path.join(top, ".git"), top) else ""


def _is_repository(folder: str) -> bool:
    """Whether ``folder`` has a ``.git`` file or folder. Sandboxes make an empty one where there is none."""
    git = os.path.join(folder, ".git")
    try:
        return bool(os.listdir(git))
    except OSError:
        return os.path.lexists(git)


def _obeyed(path: str, folder: str) -> bool:
    """Whether ``path`` exists and belongs to this user, or is in a project that the user trusts."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return False
    return _is_ours(owner, folder)


def _is_ours(owner: int, root: str) -> bool:
    if not hasattr(os, "geteuid") or owner == os.geteuid():  # Windows has no such owner
        return True
    from holdfast_app.project_settings import trust

    return trust.record_of(root) is not None


def config_file(root: str) -> str | None:
    """The settings file, or None when the defaults apply."""
    for name in CONFIG_FILES:
        path = os.path.join(root, name)
        if os.path.lexists(path) and (name != "pyproject.toml" or _has_table(root)):
            return path
    return None


def _has_table(root: str) -> bool:
    try:
        return b"tool.holdfast" in _content(root, "pyproject.toml", 8 * MAX_BYTES)[0]
    except (OSError, ConfigError):
        return False


def _content(root: str, name: str, most: int = MAX_BYTES) -> tuple[bytes, int]:
    """A project's settings file as bytes, and its owner's id. Raises: OSError for anything except a regular file;
    ConfigError for a file that is outside of the project or larger than ``most``."""
    path = os.path.join(root, *name.split("/"))
    if os.path.islink(path) or "/" in name:  # a link may only lead to another file in the project
        path, inside = os.path.realpath(path), os.path.realpath(root)
        if os.path.commonpath((path, inside)) != inside:
            raise ConfigError(f"{name} is a link that leads out of the project.", next_step="Replace it with a file.")
    with safeopen.reader(path, private=False) as file:
        data, owner = file.read(most + 1), os.fstat(file.fileno()).st_uid
    if len(data) > most:
        raise ConfigError(f"{name} is larger than {most:,} bytes.", next_step="Move it away, or shorten it.")
    return data, owner


def raw(root: str, *, obey_others: bool = False) -> tuple[dict[str, Any], str]:
    """The project's settings as written, and their file's name. Another user's file counts as empty unless
    ``obey_others``, see :func:`foreign_file`. Raises: ConfigError."""
    path = config_file(root)
    if path is None:
        return {}, "The default configuration"
    name = os.path.relpath(path, root).replace(os.sep, "/")
    try:
        data, owner = _content(root, name)
    except OSError as error:
        raise mistake(name, "unreadable", f"{name} cannot be read: {error.strerror}.") from None
    if not obey_others and not _is_ours(owner, root):
        return {}, "The default configuration"
    try:
        table = parsed(data, name)
    except ConfigError as error:
        import re

        code = "not-utf-8" if isinstance(error.__cause__, UnicodeDecodeError) else "bad-toml"
        at = re.search(r"\(at line (\d+), column \d+\)\.$", error.message)
        end = data.count(b"\n") + 1 if "(at end of document)" in error.message else 0
        raise mistake(name, code, error.message, line=int(at[1]) if at else end) from None
    if name == "pyproject.toml":
        tool = table.get("tool")
        table = tool.get("holdfast", {}) if isinstance(tool, dict) else {}
        name = "[tool.holdfast] in pyproject.toml"
        if not isinstance(table, dict):
            raise mistake(name, "bad-value", f"{name} is not a table.")
    return table, name


def line_of(root: str, detail: str) -> int:
    """The first line of the settings file that sets a key named in ``detail``; 0 when none is found."""
    import re

    path, table, named = config_file(root), "", set(re.findall(r"[\w.-]+", detail))
    data = _content(root, os.path.relpath(path, root).replace(os.sep, "/"))[0] if path else b""
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if header := re.match(r"\s*\[([\w.-]+)\]", line):
            table = f"{header[1]}.".removeprefix("tool.holdfast.")
        elif (pair := re.match(r"\s*([\w.-]+)\s*=", line)) and table + pair[1] in named:
            return number
    return 0


def mistake(source: str, code: str, detail: str, *, line: int = 0) -> ConfigError:
    """The error for a mistake in a project's file. Agents read the message, without quotations; people ``detail``."""
    where = f"line {line} of {source}" if line else source
    return ConfigError(
        f"There is a mistake in {where} ({code}).", next_step="Run `holdfast config` to see it.", detail=detail
    )


def user_file_shown() -> str:
    """The user's settings file with the home folder as ``~``."""
    return paths.rewrite(userdir.path(userdir.CONFIG_FILE), os.sep)
