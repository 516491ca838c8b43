"""Java and the jars that Spark needs; the broker needs neither."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from caudal import jars
from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble
from caudal.cli.doctor.python_packages import version_of

JAVA_WANTED = 17
VERSION_SECONDS = 20.0
FETCH = "python -m caudal.jars fetch spark"
INSTALL = f"install Java {JAVA_WANTED} or newer (Debian: apt install default-jre-headless) or set JAVA_HOME"


@check("java", seconds=VERSION_SECONDS + 2)
def check_java(_: Situation) -> Iterator[Answer]:
    matters = trouble if _spark_is_installed() else note
    home = os.environ.get("JAVA_HOME")
    own, on_path = (shutil.which("java", path=f"{home}/bin") if home else None), shutil.which("java")
    java = own or on_path
    if java is None:
        yield matters("not found; only Spark needs it, not the broker", INSTALL)
        return
    if home and own is None:
        yield matters(
            f"JAVA_HOME={home} has no bin/java; what is on the PATH is used for the jars, and Spark fails",
            f"export JAVA_HOME={Path(java).resolve().parent.parent}",
        )
    version = java_version(java)
    if version is None:
        yield matters(f"{java} does not say its version", INSTALL)
    elif version < JAVA_WANTED:
        origin = " (from JAVA_HOME)" if own else ""
        yield matters(f"{java}{origin} is Java {version}, too old for Spark", INSTALL)
    else:
        yield ok(f"Java {version} ({java})")
    if own and on_path and Path(own).resolve() != Path(on_path).resolve():
        yield note(
            f"JAVA_HOME and the PATH mean different Javas: {own} is used, not {on_path}",
            "unset JAVA_HOME if the other one is meant",
        )


@check("jars", seconds=30.0)
def check_jars(_: Situation) -> Iterator[Answer]:
    if not _spark_is_installed():
        return
    folder, wanted = jars.folder(), jars.jars_of("spark")
    missing = [jar.file_name for jar in wanted if not (folder / jar.file_name).is_file()]
    changed = [jar.file_name for jar in wanted if jar.file_name not in missing and not _is_intact(jar)]
    if missing:
        yield note(
            f"{len(missing)} of {len(wanted)} jars of Spark's Kafka connector are missing in {folder}; "
            "the first pipeline fetches them",
            FETCH,
        )
    for name in changed:
        yield trouble(f"{folder / name} is not the file it should be (SHA-256)", f"rm {folder / name} && {FETCH}")
    if not missing and not changed:
        yield ok(f"{len(wanted)} jars of Spark's Kafka connector in {folder}")


def java_version(java: str) -> int | None:
    """'openjdk version "17.0.15"' and '1.8.0' → 17 and 8; None where it says something else or does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(match[1]) if match else None


def _is_intact(jar: jars.Jar) -> bool:
    with (jars.folder() / jar.file_name).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256


def _spark_is_installed() -> bool:
    return version_of("pyspark") is not None
