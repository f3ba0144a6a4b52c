"""A private folder's mark: proof that this user created it on this machine.

The file ``owner`` in the folder holds a random number, the folder's inode and a keyed hash of both. The key is in the
user's own folder, so a clone or archive cannot contain a valid mark, and a copied folder has another inode. Agents'
hooks check it at every event, with one small read, one read of the key and one hash.

``HOLDFAST_KEY_FILE`` names a deliberately shared key, for example with a container. Inodes and owners differ there, so
they are not compared.
"""

import errno
import os

from holdfast.errors import ConfigError
from holdfast.fs import durable, safeopen, userdir
from holdfast.fs.safeopen import Folder

try:
    from _blake2 import blake2b  # hashlib.blake2b without the 3 ms of loading OpenSSL
except ImportError:
    from hashlib import blake2b

#: The mark's name in the private folder.
FILE = "owner"
KEY_VARIABLE = "HOLDFAST_KEY_FILE"
_HEAD = "holdfast-state-1"
#: Errors that show that the mark is missing, or is a link, a folder, a pipe or a device.
_NO_MARK = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENXIO)
_MOST = 512  # bytes read of a mark or a key
_KEY_BYTES = 32
_LEAST_SHARED = 16  # bytes
#: The keys that this process made durable.
_durable: set[str] = set()


def write(state: str) -> None:
    """Mark the folder ``state`` as this user's, durably. Creates the key if missing.

    Raises: ConfigError for a key that cannot be used; Unavailable.
    """
    key = secret(make=True)
    with durable.reporting(state, "mark"), Folder(state, syncable=True) as folder:
        status = os.fstat(folder.fd) if folder.fd >= 0 else os.lstat(state)
    # A file system that does not record owners shows another owner from the start.
    owner = "-" if _is_ours(status) else str(status.st_uid)
    text = f"{_HEAD} {os.urandom(16).hex()} {status.st_ino} {owner}"
    durable.replace(os.path.join(state, FILE), f"{text} {digest(text.encode('ascii'), key=key)}\n".encode("ascii"))


def is_valid(state: str) -> bool:
    """Whether the folder has this user's mark. A temporarily unreadable folder does not count as foreign.

    Raises: ConfigError for a key that cannot be used; Unavailable.
    """
    status: os.stat_result | None = None
    try:
        with Folder(state) as folder:
            status = os.fstat(folder.fd) if folder.fd >= 0 else os.lstat(state)
            # The hash proves the file's origin, so its owner does not matter.
            fd = folder.open(FILE, os.O_RDONLY, private=False)
            try:
                line = os.read(fd, _MOST)
            finally:
                os.close(fd)
        head, nonce, inode, owner, proof = line.decode("ascii").split()
    except ValueError:
        return False
    except OSError as error:
        denied = error.errno in (errno.EACCES, errno.EPERM) and status is not None and not _is_ours(status)
        if denied or error.errno in _NO_MARK:
            return False
        raise durable.unavailable(error, state, "check") from error
    key = secret(make=False)
    if not key or head != _HEAD or proof != digest(f"{head} {nonce} {inode} {owner}".encode("ascii"), key=key):
        return False
    if os.environ.get(KEY_VARIABLE):
        return True
    return inode == str(status.st_ino) and (_is_ours(status) if owner == "-" else owner == str(status.st_uid))


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def digest(data: bytes, *, size: int = _KEY_BYTES, key: bytes = b"") -> str:
    """A digest of ``size`` bytes, in hexadecimal digits."""
    return blake2b(data, key=key, digest_size=size).hexdigest()


def away_path(folder: str, state: str) -> str:
    """A project's file in a folder of the user's. It names the project's folder; the private one may change."""
    project = os.path.realpath(os.path.dirname(os.path.dirname(state)))
    return os.path.join(userdir.path(folder), digest(os.fsencode(project), size=12))


def secret(*, make: bool) -> bytes:
    """The user's secret key; empty when it is missing and must not be created."""
    shared = os.environ.get(KEY_VARIABLE)
    if shared:
        return _shared_key(os.path.expanduser(shared))
    path = userdir.path(userdir.KEY_FILE)
    key = _own_key(path)
    if not make:
        return key
    if not key:
        durable.make_private_dir(os.path.dirname(path))
        with durable.lock(f"{path}.lock"):
            if not _own_key(path):
                durable.replace(path, os.urandom(_KEY_BYTES).hex().encode("ascii") + b"\n")
        key = _own_key(path)
    if path not in _durable:  # its writer may have been killed before the flush
        durable.sync(path)
        _durable.add(path)
    return key


def _own_key(path: str) -> bytes:
    try:
        key = bytes.fromhex(safeopen.read(path, _MOST).decode("ascii"))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise durable.unavailable(error, path, "read the key of private state,") from error
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ConfigError(
            "The key of private state is damaged.",
            next_step=f"Remove {path}, which is recreated. Then run `holdfast trust --adopt-state` in your projects.",
        )
    return key


def _shared_key(path: str) -> bytes:
    """The shared key, regardless of its file's owner and of links."""
    try:
        data = safeopen.read(os.path.realpath(path), _MOST, private=False).strip()
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise ConfigError(
            f"The file that {KEY_VARIABLE} names cannot be read: {error.strerror}.",
            next_step="Copy `key` from the user's holdfast folder there, or unset the variable.",
        ) from error
    except OSError as error:
        raise durable.unavailable(error, path, "read the key of private state,") from error
    try:
        key = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        key = blake2b(data, digest_size=_KEY_BYTES).digest() if len(data) >= _LEAST_SHARED else b""
    if not _LEAST_SHARED <= len(key) <= blake2b.MAX_KEY_SIZE:
        raise ConfigError(
            f"The file that {KEY_VARIABLE} names is not a key.",
            next_step=f"It must have at least {_LEAST_SHARED} bytes.",
        )
    return key
