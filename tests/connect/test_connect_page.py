"""docs/connect.md: its commands run from top to bottom as they stand, and its tables name what there is."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from caudal.cli.connect_settings import ADDRESSES, PROPERTIES
from caudal.cli.main import main
from caudal.connect.plugins import PluginKind, plugins
from caudal.testing import EmbeddedBroker
from tests.connect.process import ConnectProcess, until

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "connect.md").read_text()
BLOCKS = re.findall(r"^```sh(?: (\S+))?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
# A here-document (or any other line of the shell), or a command of ours.
STATEMENT = re.compile(r"(?P<other>cat >.*?\nEND|printf [^\n]*)|caudal (?P<ours>[^\n]*)", re.DOTALL)


def test_the_commands_run_as_written(
    broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Against a broker and a worker as `caudal up` starts them; a block marked `fails` must, each command of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    worker = ConnectProcess(broker.bootstrap, "--allow-folder", "shop").wait()
    monkeypatch.setenv("CAUDAL_CONNECT", worker.url)
    monkeypatch.setenv("CAUDAL_BOOTSTRAP", broker.bootstrap)
    said = ""
    try:
        for mark, text in BLOCKS:
            if mark == "up":
                continue
            position = 0
            while position < len(text.rstrip()):
                statement = STATEMENT.match(text, position)
                assert statement is not None, f"not understood: {text[position:]}"
                position = statement.end() + 1
                if statement["other"]:
                    subprocess.run(["sh", "-ec", statement["other"]], check=True)
                    continue
                if statement["ours"].startswith("connector pause"):
                    # What the page says of the file stands before the connectors are taken down.
                    until(lambda: [file.suffix for file in tmp_path.glob("shop/archive/**/*+*")], [".json"])
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
                with pytest.raises(SystemExit) as left:
                    main(shlex.split(statement["ours"]))
                out, err = capfd.readouterr()
                assert bool(left.value.code) == (mark == "fails"), f"caudal {statement['ours']}: {out}{err}"
                said += out + err
        (file,) = tmp_path.glob("shop/archive/**/*+*")
        assert file.read_text().splitlines()[0] == '{"line":"ana: 2 coffees"}'
        assert "/etc is outside of the folders that this worker allows" in said
        assert "flush.size" in said
    finally:
        worker.stop()


def test_every_worker_property_is_named() -> None:
    unnamed = [
        name
        for name in (*PROPERTIES, *ADDRESSES)
        if f"`{name}`" not in PAGE and name.rpartition(".")[0] + "`" not in PAGE and not name.startswith("rest.")
    ]
    assert unnamed == [
        "offset.storage.partitions", "status.storage.partitions", "task.restart.backoff.ms",
    ], "the first two are told by their ending, the last by the one beside it"  # fmt: skip


def test_every_connector_is_named() -> None:
    for plugin in plugins(PluginKind.SOURCE, PluginKind.SINK):
        if plugin.cls.__module__.startswith("caudal.connect.connectors."):
            assert f"`{plugin.name}`" in PAGE, plugin.name


def test_every_transform_and_predicate_is_named() -> None:
    for plugin in plugins(PluginKind.TRANSFORMATION, PluginKind.PREDICATE):
        if not plugin.full_name.startswith("caudal."):
            continue  # of other tests in this process
        name = plugin.name.removesuffix("Key").removesuffix("Value") if plugin.name != "HasHeaderKey" else plugin.name
        assert f"`{'ValueToKey' if name == 'ValueTo' else name}`" in PAGE, plugin.name
