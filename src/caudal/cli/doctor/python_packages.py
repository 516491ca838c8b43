"""Python and its packages: what is missing, of the wrong version, or another Python's."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble

# What each extra is for, in the words of the report.
EXTRAS = {
    "spark": "pipelines",
    "registry": "the Schema Registry",
    "connect": "Connect",
    "ksql": "KSQL",
    "ui": "the control center",
}
PROBE_SECONDS = 30.0
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;.*extra\s*==\s*['\"](\w+)['\"])?")
_BOUND = re.compile(r"(==|>=|<=|!=|~=|<|>)\s*([\w.*]+)")


class Requirement(NamedTuple):
    package: str
    bounds: str  # '>=15,<20'
    extra: str | None

    @property
    def text(self) -> str:
        return f"{self.package}{self.bounds}"


@check("python")
def check_python(_: Situation) -> Iterator[Answer]:
    # Older interpreters do not get as far as this: pip refuses the package there.
    where = "" if sys.prefix != sys.base_prefix else ", not in a virtual environment"
    yield ok(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}{where}")


@check("packages")
def check_packages(_: Situation) -> Iterator[Answer]:
    base = [each for each in requirements() if each.extra is None]
    if not base:
        yield note("Caudal runs from its source and not from an installation", "pip install -e . in its folder")
        return
    missing = [each for each in base if version_of(each.package) is None]
    if missing:
        names = " ".join(f"'{each.text}'" for each in missing)
        yield trouble(f"missing: {', '.join(each.package for each in missing)}", f"pip install {names}")
    yield from _clashes(base)
    if not missing:
        shown = ", ".join(f"{name} {version_of(name)}" for name in ("confluent-kafka", "kio", "uvloop"))
        yield ok(f"the base is complete ({shown})")


@check("extras")
def check_extras(_: Situation) -> Iterator[Answer]:
    known = requirements()
    absent_extras = []
    seen: set[str] = set()
    for extra, purpose in EXTRAS.items():
        wanted = [each for each in known if each.extra == extra]
        missing = [each.package for each in wanted if version_of(each.package) is None]
        if missing and len(missing) > len(wanted) // 2:
            absent_extras.append((extra, purpose))
        elif missing:
            yield trouble(f"{purpose}: {', '.join(missing)} missing", f"pip install 'caudal[{extra}]'")
        elif wanted:
            new = [each for each in wanted if each.package not in seen]
            seen.update(each.package for each in wanted)
            clashes = list(_clashes(new))
            yield from clashes
            if not clashes:
                yield ok(f"{extra} is complete: {purpose}")
    for extra, purpose in absent_extras:
        yield note(f"{extra} is not installed; only {purpose} needs it", f"pip install 'caudal[{extra}]' when you do")


@check("imports", seconds=PROBE_SECONDS + 5)
def check_imports(_: Situation) -> Iterator[Answer]:
    """Packages that were built for each other's other versions fail here, and in the middle of a query otherwise."""
    if version_of("pyspark") is None:
        return
    modules = "pandas, pyarrow, google.protobuf.message, pyspark"
    said = _python(sys.executable, f"import {modules}")
    if said.returncode == 0:
        yield ok("pyspark, pandas, pyarrow and protobuf can be imported together")
    else:
        reason = (said.stderr.strip().splitlines() or ["no reason given"])[-1]
        yield trouble(
            f"pyspark, pandas, pyarrow and protobuf do not go together: {reason}",
            "pip install --force-reinstall 'caudal[spark]'",
        )


@check("workers' Python", seconds=PROBE_SECONDS + 5)
def check_worker_python(_: Situation) -> Iterator[Answer]:
    if version_of("pyspark") is None:
        return
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        chosen = os.environ.get(variable)
        if not chosen:
            continue
        path = shutil.which(chosen)
        if path is None:
            yield trouble(f"{variable}={chosen} is not there: Spark's workers cannot start", f"unset {variable}")
            continue
        if Path(path).resolve() == Path(sys.executable).resolve() and Path(path).parent == Path(sys.executable).parent:
            yield ok(f"{variable} is this Python")
            continue
        said = _python(path, "import sys; print('%d.%d' % sys.version_info[:2]); import pyarrow, pandas")
        version = said.stdout.strip()
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if version != own:
            yield trouble(
                f"{variable}={chosen} is Python {version or 'unknown'}, and this is {own}: Spark refuses that",
                f"unset {variable}",
            )
        elif said.returncode:
            reason = (said.stderr.strip().splitlines() or [""])[-1]
            yield trouble(f"{variable}={chosen} lacks packages of the workers ({reason})", f"unset {variable}")
        else:
            yield note(f"{variable}={chosen} is another installation than this one", f"unset {variable}")


@check("SPARK_HOME")
def check_spark_home(_: Situation) -> Iterator[Answer]:
    home = os.environ.get("SPARK_HOME")
    if home and version_of("pyspark") is not None and not Path(home, "jars").is_dir():
        yield trouble(f"SPARK_HOME={home} has no jars: Spark does not start from there", "unset SPARK_HOME")
    elif home and version_of("pyspark") is not None and "site-packages" not in home:
        found = sorted(Path(home, "jars").glob("spark-core_*.jar"))
        theirs = found[0].stem.rpartition("-")[2] if found else "of no known version"
        if theirs != version_of("pyspark"):
            yield trouble(
                f"SPARK_HOME={home} is Spark {theirs}, and pyspark is {version_of('pyspark')}", "unset SPARK_HOME"
            )


def requirements() -> list[Requirement]:
    """What the installed package asks for; empty where it runs from its source alone."""
    try:
        texts = importlib.metadata.requires("caudal") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    found = (_REQUIREMENT.match(text) for text in texts)
    return [Requirement(match[1].lower(), match[2].strip(), match[3]) for match in found if match]


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def fits(version: str, bounds: str) -> bool:
    """
    >>> fits("2.2.3", "<3"), fits("3.0.1", "<3"), fits("4.3.0", "==4.3.0"), fits("15", ">=15,<20")
    (True, False, True, True)
    """
    have = _numbers(version)
    for sign, text in _BOUND.findall(bounds):
        wanted = _numbers(text)
        width = max(len(have), len(wanted))
        left, right = have + (0,) * (width - len(have)), wanted + (0,) * (width - len(wanted))
        fine = {
            "==": left[: len(wanted)] == wanted if "*" in text else left == right,
            "!=": left != right,
            ">=": left >= right,
            "<=": left <= right,
            ">": left > right,
            "<": left < right,
            "~=": left >= right and left[: len(wanted) - 1] == wanted[:-1],
        }[sign]
        if not fine:
            return False
    return True


def _clashes(wanted: Iterable[Requirement]) -> Iterator[Answer]:
    for each in wanted:
        version = version_of(each.package)
        if version is not None and not fits(version, each.bounds):
            yield trouble(
                f"{each.package} {version} is installed, and {each.text} is needed", f"pip install '{each.text}'"
            )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.match(r"[\d.]*", version)[0].split(".") if part)  # type: ignore[index]


def _python(executable: str, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([executable, "-c", code], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
