"""Fetches the few Java archives that Caudal's Spark pipelines, benchmarks and tests run.

Which archives there are stands in ``jars.toml`` and nowhere else: sets of Maven coordinates, each with its SHA-256.
They are fetched by Ivy, which comes inside PySpark and knows Maven Central by itself, one by one and without their
dependencies: the sets are complete as written, and for Spark's Kafka connector the declared dependencies would not even
resolve. What arrives is checked and then kept in one folder: ``CAUDAL_JARS``, or ``~/.cache/caudal/jars``.

Offline: put the files (``artifact-version.jar``) into that folder; nothing is fetched when all are there. Behind a
mirror: let ``CAUDAL_IVY_SETTINGS`` name an Ivy settings file.

Left out on purpose: version ranges, transitive resolution, snapshots. The broker itself needs none of this.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).with_name("jars.toml")


class JarError(Exception):
    """One sentence for the user: what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    with DATA.open("rb") as file:
        return tomllib.load(file)


def set_names() -> list[str]:
    return list(_data())


def jars_of(set_name: str) -> list[Jar]:
    """The archives of a set, those of the sets it includes first."""
    if set_name not in _data():
        raise JarError(f"There is no jar set {set_name!r}; there are: {', '.join(set_names())}.")
    entry = _data()[set_name]
    jars = {jar: None for included in entry.get("includes", []) for jar in jars_of(included)}
    for line in entry["jars"]:
        coordinates, sha256 = line.split()
        group, artifact, version = coordinates.split(":")
        jars[Jar(group, artifact, version, sha256)] = None
    return list(jars)


def folder() -> Path:
    """Where the archives are kept: the first of CAUDAL_JARS, XDG_CACHE_HOME and ~/.cache that is set."""
    chosen = os.environ.get("CAUDAL_JARS")
    if chosen:
        return Path(chosen).expanduser()
    cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache_home).expanduser() / "caudal" / "jars"


def find(set_name: str) -> list[Path] | None:
    """The files of a set if every one is there and intact; fetches nothing."""
    paths = [folder() / jar.file_name for jar in jars_of(set_name)]
    return paths if all(_is_intact(jar) for jar in jars_of(set_name)) else None


def fetch(set_name: str) -> list[Path]:
    """The files of a set; those that are not there yet are fetched and checked first."""
    jars = jars_of(set_name)
    missing = [jar for jar in jars if not _is_intact(jar)]
    if missing:
        _download(missing)
    return [folder() / jar.file_name for jar in jars]


def class_path(*set_names: str) -> str:
    """A value for ``java -cp`` with every archive of the sets named."""
    return os.pathsep.join(str(path) for path in dict.fromkeys(path for name in set_names for path in fetch(name)))


def java(program: str = "java") -> str:
    """The path of ``java`` (or ``javac``), from JAVA_HOME or PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(program, path=os.path.join(home, "bin")) if home else None
    found = found or shutil.which(program)
    if not found:
        package = "openjdk-17-jdk-headless"
        raise JarError(f"{program} was not found: install Java 17 or newer (Debian: apt-get install {package}).")
    return found


def _is_intact(jar: Jar) -> bool:
    path = folder() / jar.file_name
    return path.is_file() and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    places = spec.submodule_search_locations if spec else None
    for place in places or []:
        for path in sorted(Path(place, "jars").glob("ivy-*.jar")):
            return path
    raise JarError(
        "Jars are fetched with the Ivy that comes in PySpark, which is not installed: pip install 'caudal[spark]', "
        f"or put the files into {folder()} by hand (python -m caudal.jars list)."
    )


def _download(jars: Iterable[Jar]) -> None:
    """Ivy writes into a scratch folder beside the target; only what passes the check is moved, at once and whole."""
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=target) as scratch_name:
        scratch = Path(scratch_name)
        _run_ivy(jars, scratch)
        for jar in jars:
            arrived = scratch / "jars" / jar.file_name
            if not arrived.is_file():
                raise JarError(f"{jar.coordinates} could not be fetched.")
            if (found := _sha256(arrived)) != jar.sha256:
                raise JarError(f"{jar.coordinates} has SHA-256 {found}, but {jar.sha256} is expected: it was not kept.")
            os.replace(arrived, target / jar.file_name)


def _run_ivy(jars: Iterable[Jar], scratch: Path) -> None:
    # With it come urllib and ssl, which nobody needs who only asks where Java is.
    from xml.sax.saxutils import quoteattr

    wanted = "\n".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)}"
        ' transitive="false" conf="default->master"/>'
        for jar in jars
    )
    ivy_file = scratch / "ivy.xml"
    ivy_file.write_text(
        '<ivy-module version="2.0"><info organisation="caudal" module="jars"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{wanted}</dependencies></ivy-module>'
    )
    command = [java(), "-cp", str(_ivy_jar()), "org.apache.ivy.Main", "-cache", str(scratch / "cache")]
    if settings := os.environ.get("CAUDAL_IVY_SETTINGS"):
        command += ["-settings", settings]
    command += ["-ivy", str(ivy_file), "-retrieve", f"{scratch}/jars/[artifact]-[revision].[ext]"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        reasons = [line.strip(" :\t") for line in result.stdout.splitlines() if "not found" in line or "ERROR" in line]
        reason = "; ".join(reasons[:4]) or (result.stdout.strip().splitlines() or ["no output"])[-1]
        raise JarError(f"Ivy could not fetch the jars ({reason}). Offline, put them into {folder()} by hand.")


def main(arguments: list[str] | None = None) -> int:
    """``python -m caudal.jars fetch|list|path SET…``"""
    match sys.argv[1:] if arguments is None else arguments:
        case ["fetch", *names] if names:
            for name in names:
                print(f"{name}: {len(fetch(name))} jars in {folder()}")
        case ["path", *names] if names:
            print(class_path(*names))
        case ["list", *names]:
            for name in names or set_names():
                for jar in jars_of(name):
                    print(f"{name:14} {jar.coordinates} {jar.sha256}")
        case _:
            print(
                f"usage: python -m caudal.jars fetch|list|path SET…   (sets: {', '.join(set_names())})", file=sys.stderr
            )
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JarError as error:
        sys.exit(f"caudal.jars: {error}")
