"""What `caudal doctor` looks at: one small function per question, each with what it found and the fix if it is wrong.

A check never raises and never changes anything (the folder's probe file is removed at once). New checks are added to
`CHECKS`.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from caudal.cli.clients import ANSWER_SECONDS, client_config, parse_address
from caudal.cli.errors import CliError
from caudal.cli.output import bytes_text
from caudal.cli.ports import is_listening, port_holder

OK, NOTE, TROUBLE = "ok", "note", "trouble"

BASE_PACKAGES = (
    "confluent-kafka",
    "cramjam",
    "crc32c",
    "kio",
    "orjson",
    "prometheus-client",
    "psutil",
    "typer",
    "uvloop",
)
EXTRAS = {"spark": ("pyspark", "pandas", "pyarrow", "protobuf")}
PORTS = {9092: "broker", 9404: "metrics", 8081: "registry", 8083: "Connect", 8088: "KSQL", 9021: "control center"}
LOW_SPACE = 1024**3
LOW_FILES = 4096
JAVA_WANTED = 17
CLOCK_SECONDS = 5.0


class Situation(NamedTuple):
    """What the person asked about."""

    bootstrap: str
    bootstrap_given: bool
    data: Path
    properties: list[str]


class Finding(NamedTuple):
    """One answer. `fix` is set where something can be done about it."""

    check: str
    status: str
    text: str
    fix: str = ""


def run_checks(situation: Situation) -> Iterator[Finding]:
    """Every check in order; one that fails unexpectedly is itself a finding."""
    for check in CHECKS:
        try:
            yield from check(situation)
        except Exception as error:
            yield Finding(
                check.__name__.removeprefix("check_"), NOTE, f"could not be checked: {type(error).__name__}: {error}"
            )


def check_python(_: Situation) -> Iterator[Finding]:
    # Older interpreters do not get as far as this: pip refuses the package there.
    where = "" if sys.prefix != sys.base_prefix else ", not in a virtual environment"
    yield Finding(
        "python", OK, f"Python {platform.python_version()} on {platform.system()} {platform.machine()}{where}"
    )


def check_packages(_: Situation) -> Iterator[Finding]:
    missing = [name for name in BASE_PACKAGES if _version(name) is None]
    if missing:
        yield Finding("packages", TROUBLE, f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    else:
        kafka = _version("confluent-kafka")
        yield Finding(
            "packages",
            OK,
            f"the base is complete (confluent-kafka {kafka}, kio {_version('kio')}, uvloop {_version('uvloop')})",
        )
    for extra, names in EXTRAS.items():
        absent = [name for name in names if _version(name) is None]
        if not absent:
            yield Finding(f"extra {extra}", OK, ", ".join(f"{name} {_version(name)}" for name in names))
        elif len(absent) == len(names):
            yield Finding(
                f"extra {extra}",
                NOTE,
                "not installed; the broker does not need it",
                f"pip install 'caudal[{extra}]' when you do",
            )
        else:
            yield Finding(
                f"extra {extra}", TROUBLE, f"incomplete: {', '.join(absent)} missing", f"pip install 'caudal[{extra}]'"
            )


def check_java(_: Situation) -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    needed = _version("pyspark") is not None
    install = f"install Java {JAVA_WANTED} or newer (Debian: apt install default-jre-headless) or set JAVA_HOME"
    if java is None:
        yield Finding("java", TROUBLE if needed else NOTE, "not found; only Spark needs it, not the broker", install)
        return
    said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if match is None:
        yield Finding("java", NOTE, f"{java} does not say its version", install)
    elif int(match[1]) < JAVA_WANTED:
        yield Finding("java", TROUBLE if needed else NOTE, f"Java {match[1]} is too old for Spark", install)
    else:
        yield Finding("java", OK, f"Java {match[1]} ({java})")


def check_ports(situation: Situation) -> Iterator[Finding]:
    _, own_port = parse_address(situation.bootstrap.split(",")[0])
    held = {port: holder for port in PORTS if (holder := port_holder(port)) is not None}
    free = [str(port) for port in PORTS if port not in held]
    if free:
        yield Finding("ports", OK, f"free: {', '.join(free)}")
    for port, holder in held.items():
        is_ours = "caudal" in holder.program or (port == own_port and situation.bootstrap_given)
        fix = "" if is_ours else f"stop it, or choose another port for the {PORTS[port]}"
        yield Finding("ports", OK if is_ours else NOTE, f"{port} ({PORTS[port]}) is held by {holder}", fix)


def check_data(situation: Situation) -> Iterator[Finding]:
    folder = situation.data
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        yield Finding("data", TROUBLE, f"{existing} is not a folder", "choose another with --data")
        return
    try:
        with tempfile.NamedTemporaryFile(dir=existing, prefix=".caudal-doctor-"):
            pass
    except OSError as error:
        yield Finding(
            "data",
            TROUBLE,
            f"{existing} cannot be written: {error.strerror}",
            f"chown {existing} to yourself, or choose another with --data",
        )
        return
    yield Finding("data", OK, f"{folder} {'is writable' if folder.exists() else 'can be made'}")
    free = shutil.disk_usage(existing).free
    if free < LOW_SPACE:
        yield Finding(
            "disk",
            TROUBLE,
            f"only {bytes_text(free)} free at {existing}",
            "make room, or lower retention (log.retention.bytes)",
        )
    else:
        yield Finding("disk", OK, f"{bytes_text(free)} free")
    for lock in (folder / ".lock", folder / "broker" / ".lock"):
        if lock.exists() and _is_locked(lock):
            yield Finding("lock", OK, f"{lock.parent} is in use by a running broker")


def check_broker(situation: Situation) -> Iterator[Finding]:
    address = situation.bootstrap
    host, port = parse_address(address.split(",")[0])
    if not is_listening(host, port, timeout=2.0):
        # Nothing running is only a fault for somebody who said that there is a broker.
        status = TROUBLE if situation.bootstrap_given else NOTE
        yield Finding(
            "broker",
            status,
            f"nothing answers at {address}",
            "start one with `caudal broker`, or give its address with --bootstrap",
        )
        return
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    before = time.monotonic()
    try:
        metadata = AdminClient(client_config(address, situation.properties)).list_topics(timeout=ANSWER_SECONDS)
    except (KafkaException, ValueError, TypeError, CliError) as error:
        fix = "check that it is a Kafka broker, and give security settings with -X"
        yield Finding(
            "broker", TROUBLE, f"{address} accepts connections but does not answer Kafka requests: {error}", fix
        )
        return
    took = (time.monotonic() - before) * 1000
    yield Finding(
        "broker",
        OK,
        f"{address} answers in {took:.0f} ms: {len(metadata.brokers)} brokers, {len(metadata.topics)} topics",
    )
    for broker in metadata.brokers.values():
        if not is_listening(broker.host, broker.port, timeout=2.0):
            yield Finding(
                "advertised",
                TROUBLE,
                f"broker {broker.id} advertises {broker.host}:{broker.port}, which cannot be reached from here",
                f"start it with --advertised HOST:PORT that clients can reach (you reached it as {address})",
            )
        else:
            yield Finding("advertised", OK, f"broker {broker.id} at {broker.host}:{broker.port}")


def check_clock(situation: Situation) -> Iterator[Finding]:
    now = time.time()
    # A clock before this code was written is wrong without asking anybody.
    if now < 1_735_689_600:
        yield Finding(
            "clock",
            TROUBLE,
            f"the clock says {time.ctime(now)}",
            "set it: timestamps decide about retention and transactions",
        )
        return
    newest = _newest_file(situation.data)
    if newest > now + CLOCK_SECONDS:
        ahead = newest - now
        yield Finding(
            "clock",
            TROUBLE,
            f"files in {situation.data} are {ahead:.0f} s in the future",
            "set the clock (timedatectl set-ntp true)",
        )
    else:
        yield Finding("clock", OK, time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now)))


def check_files(_: Situation) -> Iterator[Finding]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
    if soft != resource.RLIM_INFINITY and soft < LOW_FILES:
        fix = f"ulimit -n {hard if hard != resource.RLIM_INFINITY and hard < 65536 else 65536}"
        yield Finding("open files", NOTE, f"limit {shown}: every partition and connection needs some", fix)
    else:
        yield Finding("open files", OK, f"limit {shown}")


CHECKS: tuple[Callable[[Situation], Iterator[Finding]], ...] = (
    check_python,
    check_packages,
    check_java,
    check_ports,
    check_data,
    check_broker,
    check_clock,
    check_files,
)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_locked(lock: Path) -> bool:
    import fcntl

    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _newest_file(folder: Path) -> float:
    newest = 0.0
    for place in (folder, folder / "broker"):
        try:
            with os.scandir(place) as entries:
                newest = max([newest, *(entry.stat().st_mtime for entry in entries)])
        except OSError:
            continue
    return newest
