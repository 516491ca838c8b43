"""The data folder: can it be used, is there room, whose is it, and in which state was it left."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble
from caudal.cli.output import bytes_text

LOW_BYTES = 1024**3
LOW_SHARE = 0.05
LOW_INODES = 10_000
NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "virtiofs"})
OTHER = "choose another with --data"


@check("data folder")
def check_folder(situation: Situation) -> Iterator[Answer]:
    folder, existing = situation.data, nearest_existing(situation.data)
    if not existing.is_dir():
        yield trouble(f"{existing} is not a folder", OTHER)
        return
    try:
        with tempfile.NamedTemporaryFile(dir=existing, prefix=".caudal-doctor-"):
            pass
    except OSError as error:
        yield _unwritable(existing, error)
        return
    strangers = list(_files_of_others(folder))
    if strangers:
        yield trouble(
            f"{strangers[0]} belongs to {_owner(strangers[0])}: a broker of yours cannot write it",
            f"sudo chown -R {_user(os.geteuid())} {folder}",
        )
        return
    yield ok(f"{folder} {'is writable' if folder.exists() else 'can be made'}")


@check("disk")
def check_disk(situation: Situation) -> Iterator[Answer]:
    existing = nearest_existing(situation.data)
    usage = shutil.disk_usage(existing)
    inodes = os.statvfs(existing)
    fix = "make room, or keep less: caudal topic alter TOPIC -c retention.bytes=1073741824"
    if usage.free < LOW_BYTES or usage.free < usage.total * LOW_SHARE:
        matters = trouble if usage.free < LOW_BYTES else note
        yield matters(f"only {bytes_text(usage.free)} of {bytes_text(usage.total)} free at {existing}", fix)
    elif inodes.f_files and inodes.f_favail < LOW_INODES:
        yield trouble(f"only {inodes.f_favail} files more can be made at {existing} (inodes)", "delete small files")
    else:
        yield ok(f"{bytes_text(usage.free)} free")
    kind = _file_system(existing)
    if kind in NETWORK_FILE_SYSTEMS:
        yield note(f"{existing} is on a network ({kind}): locks and flushes are not what they should be", OTHER)


@check("lock")
def check_lock(situation: Situation) -> Iterator[Answer]:
    for folder in _broker_folders(situation.data):
        lock = folder / ".lock"
        if not lock.exists():
            continue
        if is_locked(lock):
            holder = _holder(lock)
            yield ok(f"{folder} is in use by {holder or 'a running broker'}; a second broker needs another --data")
        elif (folder / "meta.properties").exists() and not (folder / ".kafka_cleanshutdown").exists():
            yield note(
                f"{folder} was not closed in good order; the next start checks its logs, which may take a while",
                "stop brokers with Ctrl-C or SIGTERM, not with kill -9",
            )


@check("data's cluster")
def check_cluster(situation: Situation) -> Iterator[Answer]:
    """A folder under one cluster's broker and an address of another: what is produced is not where one looks."""
    running = situation.cluster.id
    for folder in _broker_folders(situation.data):
        try:
            own = _properties(folder / "meta.properties").get("cluster.id")
        except OSError:
            continue
        if own is None:
            yield trouble(f"{folder / 'meta.properties'} has no cluster.id: no broker starts there", OTHER)
        elif running is not None and own != running:
            yield note(
                f"{folder} is of the cluster {own}, and {situation.bootstrap} is of {running}",
                "give the folder of that cluster with --data, or its address with --bootstrap",
            )
        elif running is not None:
            yield ok(f"{folder} is of the cluster at {situation.bootstrap}")


@check("leftovers")
def check_leftovers(situation: Situation) -> Iterator[Answer]:
    """What processes that were killed have left behind."""
    import psutil

    from caudal import jars

    places = [Path("/dev/shm"), Path(tempfile.gettempdir())]
    dead = []
    for place in places:
        for found in place.glob("caudal-checkpoint-*-*"):
            pid = found.name.split("-")[2]
            if pid.isdigit() and not psutil.pid_exists(int(pid)):
                dead.append(found)
    dead += jars.folder().glob(".fetching-*") if not _is_fetching() else []
    dead += [path for folder in _broker_folders(situation.data) for path in folder.glob(".caudal-doctor-*")]
    if dead:
        yield note(
            f"{len(dead)} folder{'s' * (len(dead) > 1)} of processes that are gone, such as {dead[0]}",
            f"rm -r {' '.join(map(str, dead[:5]))}",
        )


def nearest_existing(folder: Path) -> Path:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return existing


def is_locked(lock: Path) -> bool:
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _unwritable(folder: Path, error: OSError) -> Answer:
    if error.errno == errno.EROFS:
        return trouble(f"{folder} is on a file system that is read-only", OTHER)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return trouble(f"{folder} cannot be written: the disk is full", f"make room, or {OTHER}")
    return trouble(
        f"{folder} cannot be written: {error.strerror} (it belongs to {_owner(folder)})",
        f"sudo chown -R {_user(os.geteuid())} {folder}, or {OTHER}",
    )


def _files_of_others(folder: Path) -> Iterator[Path]:
    """What root left there, as a rule: a broker that was once started with sudo."""
    if os.geteuid() == 0 or not folder.is_dir():
        return
    for place in (folder, *_broker_folders(folder)):
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if not os.access(entry.path, os.W_OK):
                        yield Path(entry.path)
        except OSError:
            yield place


def _broker_folders(folder: Path) -> list[Path]:
    """The folder of a broker alone, and the one that `caudal up` gives its broker."""
    return [place for place in (folder, folder / "broker") if (place / "meta.properties").exists()]


def _properties(path: Path) -> dict[str, str]:
    from caudal.broker.config.properties_file import read_properties

    return read_properties(path)


def _holder(lock: Path) -> str | None:
    """Which process has the lock's file open; only those of this user can be seen."""
    import psutil

    wanted = lock.resolve()
    for process in psutil.process_iter(["pid"]):
        try:
            descriptors = os.listdir(f"/proc/{process.pid}/fd")
        except OSError:
            continue
        for descriptor in descriptors:
            try:
                if process.pid != os.getpid() and Path(os.readlink(f"/proc/{process.pid}/fd/{descriptor}")) == wanted:
                    return f"a running broker (pid {process.pid})"
            except OSError:
                continue
    return None


def _is_fetching() -> bool:
    import psutil

    return any("org.apache.ivy.Main" in (each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))


def _file_system(folder: Path) -> str:
    import psutil

    path = str(folder.resolve())
    mounts = [part for part in psutil.disk_partitions(all=True) if path.startswith(part.mountpoint)]
    return str(max(mounts, key=lambda part: len(part.mountpoint)).fstype) if mounts else ""


def _owner(path: Path) -> str:
    return _user(path.stat().st_uid)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
