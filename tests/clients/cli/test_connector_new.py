"""`caudal connector new`: the package that it makes passes its own test, and a worker would find its connector."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal

import pytest

from caudal.cli.connector_scaffold import scaffold
from caudal.cli.errors import CliError, UsageError

SOURCE = Path(__file__).parents[3] / "src"


@pytest.mark.parametrize(("name", "kind", "cls"), [
    ("acme-orders", "source", "AcmeOrdersSource"), ("Shelf_Sink", "sink", "ShelfSink"),
])  # fmt: skip
def test_its_test_passes(tmp_path: Path, name: str, kind: Literal["source", "sink"], cls: str) -> None:
    folder, files = scaffold(name, kind, tmp_path)
    assert {file.suffix for file in files} >= {".toml", ".py", ".md", ".properties"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp"]
    ran = subprocess.run(
        [*command, str(tmp_path / "temporary")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0 and "3 passed" in ran.stdout, ran.stdout + ran.stderr
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    ((entry, value),) = project["project"]["entry-points"]["caudal.connect"].items()
    assert entry == cls
    # What a worker does with it: loads the class.
    sys.path.insert(0, str(folder / "src"))
    try:
        loaded = importlib.metadata.EntryPoint(entry, value, "caudal.connect").load()
    finally:
        sys.path.remove(str(folder / "src"))
    assert loaded.__name__ == cls
    properties = (folder / f"{name.lower().replace('_', '-')}.properties").read_text()
    assert f"connector.class={cls}\n" in properties


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    scaffold("a", "sink", tmp_path)
    with pytest.raises(CliError, match="is there already"):
        scaffold("a", "source", tmp_path)


@pytest.mark.parametrize("name", ["", "1a", "a b", "../a", "a-", "ä"])
def test_a_name_must_be_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="not a name for a package"):
        scaffold(name, "sink", tmp_path)
    assert list(tmp_path.iterdir()) == []
