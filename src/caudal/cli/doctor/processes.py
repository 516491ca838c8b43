"""Processes of Caudal and Spark that nobody looks after any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from caudal.cli.doctor.check import Answer, Situation, check, note

SETTLED_SECONDS = 10.0  # children of a parent that has just ended may be about to end too
# Who takes over the children of the dead, beside process 1.
INITS = frozenset({"systemd", "init", "tini", "dumb-init", "docker-init", "launchd"})


@check("leftover processes")
def check_leftover_processes(_: Situation) -> Iterator[Answer]:
    """A server of `caudal up` and a JVM of PySpark live without their parent only when something went wrong."""
    import psutil

    for process in psutil.process_iter(["pid", "ppid", "cmdline", "create_time", "status"]):
        found = process.info
        words: list[str] = found["cmdline"] or []
        what = _name(words)
        if what is None or time.time() - found["create_time"] < SETTLED_SECONDS:
            continue
        if found["status"] != psutil.STATUS_ZOMBIE and _is_orphan(found["ppid"]):
            yield note(f"{what} (pid {found['pid']}) has outlived whoever started it", f"kill {found['pid']}")


def _is_orphan(parent: int) -> bool:
    import psutil

    try:
        return parent == 1 or psutil.Process(parent).name() in INITS
    except psutil.Error:
        return True


def _name(words: list[Any]) -> str | None:
    if "--ready-fd" in words and any("caudal" in word for word in words[:4]):
        command = next((word for word in words if word in ("broker", "registry", "connect", "ksql-server", "ui")), "")
        return f"caudal {command}".strip()
    if "pyspark-shell" in words and any(word.endswith("SparkSubmit") for word in words):
        return "Spark's JVM"
    if "pyspark.daemon" in words:
        return "a Python worker of Spark"
    return None
