"""Javas that are missing, too old, or another than one thinks; jars that are missing or damaged."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from caudal import jars
from caudal.cli.doctor import java as checks
from caudal.cli.doctor.check import Situation

from .conftest import Program


def says(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2024-01-01' >&2"


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_no_java(situation: Situation) -> None:
    (found,) = checks.check_java(situation)
    assert found.status == "trouble"
    assert "not found; only Spark needs it" in found.text
    assert "apt install default-jre-headless" in found.fix


@pytest.mark.parametrize(("version", "number"), [("1.8.0_392", 8), ("11.0.21", 11)])
def test_a_java_that_is_too_old(situation: Situation, program: Program, version: str, number: int) -> None:
    java = program("java", says(version))
    (found,) = checks.check_java(situation)
    assert (found.status, found.text) == ("trouble", f"{java} is Java {number}, too old for Spark")
    assert "install Java 17 or newer" in found.fix


def test_a_java_that_says_nothing(situation: Situation, program: Program) -> None:
    program("java", "exit 3")
    (found,) = checks.check_java(situation)
    assert "does not say its version" in found.text


def test_a_java_home_without_java(situation: Situation, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    java = program("java", says("21.0.1"))
    monkeypatch.setenv("JAVA_HOME", "/no/such/jdk")
    wrong, fine = checks.check_java(situation)
    assert "JAVA_HOME=/no/such/jdk has no bin/java" in wrong.text
    assert wrong.fix == f"export JAVA_HOME={java.parent.parent}"
    assert fine == ("ok", f"Java 21 ({java})", "")


def test_a_java_home_that_is_older_than_the_path(
    situation: Situation, program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program("java", says("21.0.1"))
    program("java", says("11.0.1"), folder="jdk/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    old, other = checks.check_java(situation)
    assert "(from JAVA_HOME) is Java 11, too old" in old.text
    assert other.status == "note" and "mean different Javas" in other.text


def test_jars_that_are_missing_and_one_that_is_damaged(
    situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CAUDAL_JARS", str(tmp_path / "jars"))
    (missing,) = checks.check_jars(situation)
    count = len(jars.jars_of("spark"))
    assert f"{count} of {count} jars of Spark's Kafka connector are missing" in missing.text
    assert missing.fix == "python -m caudal.jars fetch spark"
    first = tmp_path / "jars" / jars.jars_of("spark")[0].file_name
    first.parent.mkdir()
    first.write_bytes(b"half of it")
    _, damaged = checks.check_jars(situation)
    assert (damaged.status, damaged.text) == ("trouble", f"{first} is not the file it should be (SHA-256)")
    assert damaged.fix.startswith(f"rm {first} && ")


def test_jars_that_are_as_they_should_be(situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAUDAL_JARS", str(tmp_path))
    (tmp_path / "a-1.jar").write_bytes(b"a")
    jar = jars.Jar("g", "a", "1", hashlib.sha256(b"a").hexdigest())
    monkeypatch.setattr(jars, "jars_of", lambda name: [jar])
    assert [found.status for found in checks.check_jars(situation)] == ["ok"]
