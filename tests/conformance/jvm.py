"""Starts Java for the suite: compiles tests/java once per change, and runs Apache Kafka's tools as users run them."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from caudal import jars

SOURCES = Path(__file__).parents[1] / "java"
# Short programs gain nothing from the optimising compiler or a parallel collector, and tests share the machine.
FLAGS = [
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    f"-Dlog4j2.configurationFile={SOURCES / 'log4j2.properties'}",
]


@cache
def class_path() -> str:
    return jars.class_path("kafka-server", "kafka-streams")


@cache
def compiled() -> Path:
    """The folder with the classes of tests/java, compiled again only when a source has changed."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    target = Path(tempfile.gettempdir()) / f"caudal-tests-java-{digest}"
    if not (target / "done").exists():
        target.mkdir(exist_ok=True)
        command = [jars.java("javac"), "-d", str(target), "-cp", class_path(), *map(str, sources)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        (target / "done").touch()
    return target


def command(main_class: str, *arguments: str) -> list[str]:
    return [jars.java(), *FLAGS, "-cp", f"{compiled()}:{class_path()}", main_class, *arguments]


def run(main_class: str, *arguments: str, stdin: str | None = None, seconds: float = 180) -> str:
    """Runs a program to its end and returns what it printed; a failure shows all of it."""
    result = subprocess.run(
        command(main_class, *arguments), input=stdin, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert result.returncode == 0, f"{main_class} {' '.join(arguments)} failed:\n{result.stdout}\n{result.stderr}"
    return result.stdout
