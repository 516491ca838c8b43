"""Where the files go: a local folder, or any file system that fsspec knows. A file appears whole or not at all.

Locally a hidden temporary file is written, synced and renamed. Object stores make an object visible when its upload is
complete. Other file systems (SFTP, HDFS, …) get a hidden temporary name and a rename; how atomic that is, they say.
What fails may be put again: the content is kept until it is in the store.

A file that another has written since is never overwritten with other contents: a task that was suspended, and wakes
when its successor has gone on, would lose what only that file holds. Locally a lock of the folder guards the
comparison; S3 compares itself (If-None-Match, If-Match; of files in parts only the first), and so do other object
stores where their fsspec driver can. Elsewhere it is looked at before the rename, which leaves a moment.
"""

from __future__ import annotations

import errno
import fcntl
import filecmp
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import fsspec

from caudal.connect.connectors.local_paths import allowed_path
from caudal.connect.errors import ConfigError, ConnectError, RetriableError

# A put of these is one atomic step.
_ATOMIC = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "adl", "az", "oci", "oss", "memory"}
# These only wrap another file system, the local one too, which would get around the allowed folders.
_WRAPPERS = {
    "asynclocal", "async_wrapper", "blockcache", "cached", "data", "dir", "filecache", "generic", "git", "libarchive",
    "reference", "simplecache", "tar", "zip",
}  # fmt: skip
_LOCK_SECONDS = 10.0
_ONE_PUT = 32 << 20  # an object up to this size is sent in one request


class Storage(Protocol):
    def probe(self) -> None:
        """Raises ConnectError when the store cannot be used."""

    def names(self, folder: str) -> dict[str, Any]:
        """The files directly in a folder, with their versions; none when there is no such folder."""

    def put(self, path: str, content: BinaryIO, replaces: Any = None) -> None:
        """All of `content` (from its beginning) under this path, in place of the version that was seen there. Raises
        ConnectError when there is another by now, unless it has the same content."""

    def sweep(self, folder: str, prefix: str) -> None:
        """Removes what a run that died has left of files whose names begin so. A run that still lives fails by it."""


def open_storage(url: str, options: Mapping[str, Any], config: Mapping[str, Any], key: str = "url") -> Storage:
    """The store at this URL. Raises ConfigError that names `key`."""
    protocol, _, rest = url.partition("://") if "://" in url else ("file", "", url)
    if "::" in url or protocol in _WRAPPERS:
        raise ConfigError(f"{key}: {url} wraps another file system; name the store itself, such as s3://bucket.", key)
    if protocol in ("file", "local"):
        return LocalStorage(allowed_path(rest, config, key), config)
    if protocol in ("http", "https"):
        raise ConfigError(f"{key}: nothing can be written to {protocol}://; the HTTP sink sends requests.", key)
    try:
        # Listings must be the store's own, not those of this process some time ago.
        system, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except ImportError as error:
        raise ConfigError(f"{key}: {protocol}:// needs a package that is not installed ({error}).", key) from None
    except (ValueError, TypeError, OSError) as error:
        raise ConfigError(f"{key}: {url} cannot be opened: {error}.", key) from None
    return FileSystemStorage(system, root.rstrip("/"), protocol in _ATOMIC)


class LocalStorage:
    def __init__(self, root: Path, config: Mapping[str, Any]) -> None:
        self._root = root
        self._config = config

    def probe(self) -> None:
        with _translated(str(self._root)):
            self._root.mkdir(parents=True, exist_ok=True)
            if not os.access(self._root, os.W_OK):
                raise PermissionError("it is not writable")

    def names(self, folder: str) -> dict[str, Any]:
        with _translated(folder):
            try:
                found = os.listdir(self._root / folder)
            except FileNotFoundError:
                return {}
            versions = {name: _version(self._root / folder / name) for name in found}
            return {name: version for name, version in versions.items() if version is not None}

    def put(self, path: str, content: BinaryIO, replaces: Any = None) -> None:
        with _translated(path):
            target = self._root / path
            made = _make_folders(target.parent)
            allowed_path(str(target.parent), self._config, "url")  # a link may have been planted since the start
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            try:
                with temporary.open("xb") as file:
                    content.seek(0)
                    shutil.copyfileobj(content, file, 1 << 20)
                    file.flush()
                    os.fsync(file.fileno())
                with _locked(target.parent):
                    if _version(target) == replaces:
                        os.replace(temporary, target)
                    elif not filecmp.cmp(temporary, target, shallow=False):
                        raise _overtaken(path)
            finally:
                temporary.unlink(missing_ok=True)
            for each in [target.parent, *made]:
                _sync_folder(each)

    def sweep(self, folder: str, prefix: str) -> None:
        with _translated(folder):
            for name in self.names(folder):
                if name.startswith(f".{prefix}") and name.endswith(".tmp"):
                    (self._root / folder / name).unlink(missing_ok=True)


class FileSystemStorage:
    def __init__(self, system: Any, root: str, is_atomic: bool) -> None:
        self._system = system
        self._root = root
        self._is_atomic = is_atomic

    def probe(self) -> None:
        with _translated(self._root):
            if self._is_atomic:
                # Object stores have no folders, but the bucket must be there.
                bucket = self._root.lstrip("/").split("/", 1)[0]
                if bucket and not self._system.exists(bucket) and "memory" not in self._system.protocol:
                    with suppress(FileNotFoundError):
                        self._system.ls(bucket)  # raises where it is there, but not for us
                    raise FileNotFoundError(f"there is no bucket {bucket}")
            else:
                self._system.makedirs(self._root, exist_ok=True)

    def names(self, folder: str) -> dict[str, Any]:
        with _translated(folder):
            try:
                found = self._system.ls(f"{self._root}/{folder}", detail=True)
            except FileNotFoundError:
                return {}
            return {str(one["name"]).rstrip("/").rsplit("/", 1)[-1]: one.get("ETag") or True for one in found}

    def put(self, path: str, content: BinaryIO, replaces: Any = None) -> None:
        with _translated(path):
            target = f"{self._root}/{path}"
            try:
                if self._is_atomic:
                    self._write(target, content, replaces)
                else:
                    self._rename(target, content, replaces)
            except FileExistsError:
                if not self._holds(target, content):
                    raise _overtaken(path) from None

    def _rename(self, target: str, content: BinaryIO, replaces: Any) -> None:
        folder, name = target.rsplit("/", 1)
        temporary = f"{folder}/.{name}.{secrets.token_hex(4)}.tmp"
        self._system.makedirs(folder, exist_ok=True)
        self._write(temporary, content, True)
        if replaces is None and self._system.exists(target):
            self._system.rm_file(temporary)
            raise FileExistsError(target)
        self._system.mv(temporary, target)

    def _write(self, target: str, content: BinaryIO, replaces: Any) -> None:
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        is_s3 = "s3" in self._system.protocol
        if size > _ONE_PUT:
            if replaces is None and not is_s3 and self._system.exists(target):
                raise FileExistsError(target)
            mode = "xb" if replaces is None and is_s3 else "wb"
            with self._system.open(target, mode) as file:  # parts; nothing is visible before the last
                shutil.copyfileobj(content, file, 8 << 20)
        elif isinstance(replaces, str) and is_s3:
            bucket, key, _ = self._system.split_path(target)
            try:
                self._system.call_s3("put_object", Bucket=bucket, Key=key, Body=content.read(), IfMatch=replaces)
            except OSError as error:
                raise _as_exists(error) from error
        else:
            try:
                mode = "create" if replaces is None else "overwrite"
                self._system.pipe_file(target, content.read(), mode=mode)
            except OSError as error:
                raise _as_exists(error) from error

    def _holds(self, target: str, content: BinaryIO) -> bool:
        content.seek(0)
        with self._system.open(target, "rb") as file:
            while piece := file.read(1 << 20):
                if piece != content.read(len(piece)):
                    return False
        return not content.read(1)

    def sweep(self, folder: str, prefix: str) -> None:
        if self._is_atomic:
            return
        for name in self.names(folder):
            if name.startswith(f".{prefix}") and name.endswith(".tmp"):
                with _translated(name):
                    self._system.rm_file(f"{self._root}/{folder}/{name}")


def _overtaken(path: str) -> ConnectError:
    return ConnectError(
        f"{path} was written by another task in the meantime, with other records: this one goes on from the offsets "
        "that are committed when it is started again."
    )


def _as_exists(error: OSError) -> OSError:
    """S3's answer to a condition that does not hold."""
    cause: Any = error.__cause__
    status = getattr(cause, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode")
    return FileExistsError(str(error)) if status in (409, 412) else error


def _version(path: Path) -> tuple[int, int, int] | None:
    """None when there is no such file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """For a comparison and a rename. Who is suspended in between holds it: then it is tried again later."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):  # a file system without locks
                    raise
                break
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _make_folders(folder: Path) -> list[Path]:
    """Makes it; the folders whose entries have changed by that, which a sync must reach too."""
    changed = []
    missing = folder
    while not missing.exists():
        missing = missing.parent
        changed.append(missing)
    folder.mkdir(parents=True, exist_ok=True)
    return changed


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Errors of file systems as ours: what cannot get better by itself fails the task, the rest is tried again."""
    try:
        yield
    except ConnectError:
        raise
    except (
        PermissionError, FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, ValueError,
    ) as error:  # fmt: skip
        raise ConnectError(f"The store refuses {what}: {str(error).rstrip('.')}.") from error
    except Exception as error:  # drivers raise their own: no connection, time-out, throttling, a full disk
        raise RetriableError(
            f"The store did not take {what}: {type(error).__name__}: {str(error).rstrip('.')}."
        ) from error
