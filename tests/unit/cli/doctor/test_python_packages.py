"""Packages that are missing, too old, too new, broken, or another Python's."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

from caudal.cli.doctor import python_packages as checks
from caudal.cli.doctor.check import Situation

from .conftest import Program


@pytest.fixture
def needs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the installed package is made to ask for."""
    wanted: list[str] = []
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: wanted)
    return wanted


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, version: str) -> None:
    """A package as pip would leave it, found before the real one."""
    metadata = folder / f"{name}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(folder))


def test_a_package_of_the_base_that_is_missing(situation: Situation, needs: list[str]) -> None:
    needs.append("no-such-package>=2")
    (found, *_) = checks.check_packages(situation)
    assert found == ("trouble", "missing: no-such-package", "pip install 'no-such-package>=2'")


def test_a_package_that_is_too_old(situation: Situation, needs: list[str]) -> None:
    needs.append("typer>=99")
    (found, *_) = checks.check_packages(situation)
    assert found.status == "trouble"
    assert "and typer>=99 is needed" in found.text
    assert found.fix == "pip install 'typer>=99'"


def test_pandas_3_beside_pyspark(situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, "pandas", "3.1.0")
    clashes = [found for found in checks.check_extras(situation) if found.status == "trouble"]
    assert clashes == [("trouble", "pandas 3.1.0 is installed, and pandas<3 is needed", "pip install 'pandas<3'")]


def test_extras_that_are_absent_and_one_that_is_incomplete(situation: Situation, needs: list[str]) -> None:
    needs += [
        "typer>=0.1; extra == 'spark'",
        "rich>=1; extra == 'spark'",
        "no-such-a; extra == 'spark'",
        "no-such-b; extra == 'connect'",
    ]
    found = {answer.text: answer for answer in checks.check_extras(situation)}
    assert found["pipelines: no-such-a missing"].fix == "pip install 'caudal[spark]'"
    absent = found["connect is not installed; only Connect needs it"]
    assert (absent.status, absent.fix) == ("note", "pip install 'caudal[connect]' when you do")


def test_packages_that_were_built_for_each_others_other_versions(
    situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('numpy.dtype size changed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (found,) = checks.check_imports(situation)
    assert found.status == "trouble"
    assert "numpy.dtype size changed" in found.text
    assert "--force-reinstall" in found.fix


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo 3.8", "is Python 3.8, and this is"),
        ("echo {own}; echo ImportError: no pyarrow >&2; exit 1", "lacks packages of the workers (ImportError: no py"),
    ],
)
def test_another_python_for_the_workers(
    situation: Situation, program: Program, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    monkeypatch.setenv("PYSPARK_PYTHON", str(program("python-of-others", body.format(own=own))))
    (found,) = checks.check_worker_python(situation)
    assert (found.status, found.fix) == ("trouble", "unset PYSPARK_PYTHON")
    assert words in found.text


def test_a_python_for_the_workers_that_is_not_there(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    (found,) = checks.check_worker_python(situation)
    assert found.text == "PYSPARK_PYTHON=/no/such/python is not there: Spark's workers cannot start"


def test_this_python_for_the_workers_is_fine(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert [found.status for found in checks.check_worker_python(situation)] == ["ok"]


def test_a_spark_home_of_another_spark(situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (found,) = checks.check_spark_home(situation)
    assert "has no jars" in found.text
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    (found,) = checks.check_spark_home(situation)
    assert f"SPARK_HOME={tmp_path} is Spark 3.5.1, and pyspark is" in found.text
    assert found.fix == "unset SPARK_HOME"


@pytest.mark.parametrize(
    ("version", "bounds", "fine"),
    [
        ("4.3.0", "==4.3.0", True),
        ("4.3.1", "==4.3.0", False),
        ("4.3.1", "==4.3.*", True),
        ("15", ">=15.0.0", True),
        ("14.9", ">=15", False),
        ("2.2.3", "<3", True),
        ("3.0.0rc1", "<3", False),
        ("1.5", ">1.4,!=1.5", False),
        ("1.9", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("7", "", True),
    ],
)
def test_versions_are_compared_as_pip_does(version: str, bounds: str, fine: bool) -> None:
    assert checks.fits(version, bounds) is fine


def test_what_is_installed_here_is_in_order(situation: Situation) -> None:
    assert {found.status for found in checks.check_packages(situation)} == {"ok"}, os.environ.get("VIRTUAL_ENV")
