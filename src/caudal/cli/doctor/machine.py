"""The machine itself: memory, open files, shared memory, clock, and the browser of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble
from caudal.cli.doctor.python_packages import version_of
from caudal.cli.output import bytes_text

MIB = 1024**2
PLATFORM_BYTES = 400 * MIB  # every server without Spark
SPARK_BYTES = 1536 * MIB
LOW_FILES = 4096
SHARED_BYTES = 256 * MIB
CLOCK_SECONDS = 5.0
EARLIEST = 1_735_689_600  # 2025: a clock before it is wrong without asking anybody
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
SHARED_MEMORY = Path("/dev/shm")


@check("memory")
def check_memory(_: Situation) -> Iterator[Answer]:
    free, total = memory()
    shown = f"{bytes_text(free)} of {bytes_text(total)} free"
    if free < PLATFORM_BYTES:
        yield trouble(
            f"{shown}: the servers need about {bytes_text(PLATFORM_BYTES)}", "stop other programs, or use more memory"
        )
    elif free < SPARK_BYTES and version_of("pyspark") is not None:
        yield note(
            f"{shown}: with Spark the platform needs about {bytes_text(SPARK_BYTES)}",
            "stop other programs before you run pipelines",
        )
    else:
        yield ok(shown)


@check("open files")
def check_open_files(_: Situation) -> Iterator[Answer]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < LOW_FILES:
        most = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
        fix = f"ulimit -n {most}" if most > soft else "raise the limit in /etc/security/limits.conf (nofile)"
        # The broker raises its own limit as far as it may.
        matters = note if most >= LOW_FILES else trouble
        yield matters(f"limit {soft}: every partition and connection needs some", fix)
    else:
        yield ok(f"limit {'unlimited' if soft == resource.RLIM_INFINITY else soft}")


@check("shared memory")
def check_shared_memory(_: Situation) -> Iterator[Answer]:
    if version_of("pyspark") is None or not SHARED_MEMORY.is_dir() or not os.access(SHARED_MEMORY, os.W_OK):
        return
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free < SHARED_BYTES:
        yield note(
            f"{SHARED_MEMORY} has {bytes_text(free)} free, and Spark's checkpoints are there",
            "give a container more: docker run --shm-size=1g",
        )
    else:
        yield ok(f"{SHARED_MEMORY} has {bytes_text(free)} free")


@check("clock")
def check_clock(situation: Situation) -> Iterator[Answer]:
    now = time.time()
    set_it = "set the clock: sudo timedatectl set-ntp true"
    if now < EARLIEST:
        yield trouble(f"the clock says {time.ctime(now)}", f"{set_it} (timestamps decide about retention)")
        return
    ahead = _newest_file(situation.data) - now
    if ahead > CLOCK_SECONDS:
        yield trouble(f"files in {situation.data} are {ahead:.0f} s in the future: the clock was set back", set_it)
    elif _is_unsynchronised():
        yield note("the clock is not synchronised with others", set_it)
    else:
        yield ok(time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now)))


@check("chromium")
def check_chromium(_: Situation) -> Iterator[Answer]:
    """Only the tests of the control center use it."""
    if version_of("playwright") is None:
        return
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found:
        yield ok(f"{found}, for the tests of the control center")
    else:
        yield note("no Chromium; only the tests of the control center need it", "apt install chromium (or: make setup)")


def memory() -> tuple[int, int]:
    """What is free and what there is, within the limit of a container."""
    import psutil

    found = psutil.virtual_memory()
    free, total = int(found.available), int(found.total)
    try:
        limit = int(CGROUP_LIMIT.read_text())
        used = int(CGROUP_LIMIT.with_name("memory.current").read_text())
    except (OSError, ValueError):  # no container, or 'max'
        return free, total
    return min(free, max(0, limit - used)), min(total, limit)


def _newest_file(folder: Path) -> float:
    newest = 0.0
    for place in (folder, folder / "broker"):
        try:
            with os.scandir(place) as entries:
                newest = max([newest, *(entry.stat().st_mtime for entry in entries)])
        except OSError:
            continue
    return newest


def _is_unsynchronised() -> bool:
    program = shutil.which("timedatectl")
    if program is None:
        return False
    try:
        said = subprocess.run(
            [program, "show", "-p", "NTPSynchronized", "--value"],
            capture_output=True,
            text=True,
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.stdout.strip() == "no"
