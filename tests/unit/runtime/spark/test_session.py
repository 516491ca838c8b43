"""What Spark needs and does not find is said in one sentence, before Spark says it in forty lines."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from caudal import jars
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark import session


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2018-10-16' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StreamsError, match="Spark needs Java"):
        session.check_installation()


def test_an_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "11.0.2")))
    with pytest.raises(StreamsError, match=r"Spark needs Java 17 or newer, and .*bin/java is Java 11: install one"):
        session.check_installation()


@pytest.mark.parametrize("version", ["17.0.15", "21", "22-ea"])
def test_a_java_that_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    session.check_installation()


def test_a_java_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path, "17")
    (home / "bin" / "java").write_text("no program")
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(StreamsError, match="does not run"):
        session.check_installation()


def test_jars_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> list[Path]:
        raise jars.JarError(f"The archives of '{name}' could not be fetched.")

    monkeypatch.setattr(jars, "fetch", refuse)
    with pytest.raises(StreamsError, match="Spark's Kafka connector is missing: The archives of 'spark'"):
        session.connector_jars()
