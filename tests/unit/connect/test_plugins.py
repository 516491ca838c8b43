"""Plugins are found by short name, Python name, alias and Java name; broken ones hurt nobody."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from caudal.connect import ConfigError, plugins
from caudal.connect.converters.json import JsonConverter
from caudal.connect.plugins import PluginKind, find


@pytest.mark.parametrize(
    "name",
    [
        "Json",
        "JsonConverter",
        "org.apache.kafka.connect.json.JsonConverter",
        "caudal.connect.converters.json.JsonConverter",
    ],
)
def test_one_converter_by_all_its_names(name: str) -> None:
    for kind in (PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER):
        plugin = find(name, kind)
        assert plugin.cls is JsonConverter and plugin.name == "Json" and plugin.kind is kind
    assert find(name).java_name == "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize(
    "java",
    [
        "io.confluent.connect.avro.AvroConverter",
        "io.confluent.connect.json.JsonSchemaConverter",
        "io.confluent.connect.protobuf.ProtobufConverter",
        "org.apache.kafka.connect.storage.StringConverter",
        "org.apache.kafka.connect.converters.ByteArrayConverter",
        "org.apache.kafka.connect.converters.BooleanConverter",
        "org.apache.kafka.connect.converters.ShortConverter",
        "org.apache.kafka.connect.converters.IntegerConverter",
        "org.apache.kafka.connect.converters.LongConverter",
        "org.apache.kafka.connect.converters.FloatConverter",
        "org.apache.kafka.connect.converters.DoubleConverter",
    ],
)
def test_java_names_of_converters(java: str) -> None:
    assert find(java, PluginKind.CONVERTER).cls.__name__ == java.rpartition(".")[2]


def test_the_simple_converter_is_for_headers_only() -> None:
    assert find("Simple", PluginKind.HEADER_CONVERTER).name == "Simple"
    with pytest.raises(ConfigError, match="no converter named 'Simple'"):
        find("Simple", PluginKind.CONVERTER)
    with pytest.raises(ConfigError, match="no header converter named 'Avro'"):
        find("Avro", PluginKind.HEADER_CONVERTER)


@pytest.mark.parametrize("wrong", ["Jsn", "jsonconverter", "org.apache.kafka.connect.JsonConverter"])
def test_a_near_name_is_suggested(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"did you mean.*Json"):
        find(wrong, PluginKind.CONVERTER)


def test_a_name_far_from_all_says_where_to_look() -> None:
    with pytest.raises(ConfigError, match="caudal connector plugins"):
        find("qqqqqqqqqqqq", PluginKind.SOURCE)
    with pytest.raises(ConfigError):
        find("  ")


def test_to_find_one_plugin_the_others_are_not_imported() -> None:
    program = (
        "import sys\nfrom caudal.connect.plugins import find\nfind('StringConverter')\n"
        "assert not [name for name in sys.modules if name.startswith('caudal.connect.connectors.')]\n"
        "assert 'caudal.connect.converters.avro' not in sys.modules and 'fastavro' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


OWN = """
from caudal.connect import SourceConnector, SourceTask
from caudal.connect.converter import Transform

class OwnTask(SourceTask):
    pass

class OwnSource(SourceConnector):
    task = OwnTask
    version = "3.2"
    aliases = ("com.example.OwnSourceConnector",)

class Upper(Transform):
    class Key(Transform):
        def apply(self, record):
            return record

class _Hidden(SourceConnector):
    task = OwnTask
"""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_known", plugins._Known())


@pytest.mark.usefixtures("fresh")
def test_a_folder_of_plain_files_holds_plugins(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("import there_is_no_such_module")
    (tmp_path / "exits.py").write_text("raise RuntimeError('not today')")
    (tmp_path / "README.md").write_text("no module")
    plugins.add_plugin_path([tmp_path])
    plugins.add_plugin_path([tmp_path])  # twice is once
    assert find("com.example.OwnSourceConnector").name == "OwnSource"
    assert find("OwnSource", PluginKind.SOURCE, PluginKind.SINK).version == "3.2"
    assert find("Upper$Key", PluginKind.TRANSFORMATION).kind is PluginKind.TRANSFORMATION
    names = [plugin.name for plugin in plugins.plugins(PluginKind.SOURCE, PluginKind.TRANSFORMATION)]
    assert names.count("OwnSource") == 1 and "_Hidden" not in names and "Upper" not in names
    reasons = {broken.module: broken.reason for broken in plugins.broken_plugins()}
    assert "there_is_no_such_module" in reasons["caudal_plugins_broken"]
    assert reasons["caudal_plugins_exits"] == "not today"
    with pytest.raises(ConfigError, match="caudal_plugins_broken could not be imported"):
        find("BrokenSource", PluginKind.SOURCE)


@pytest.mark.usefixtures("fresh")
def test_a_plugin_path_that_is_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        plugins.add_plugin_path([tmp_path / "nowhere"])


@pytest.mark.usefixtures("fresh")
def test_entry_points_offer_classes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "their_package.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    point = importlib.metadata.EntryPoint("theirs", "their_package:OwnSource", plugins.ENTRY_POINTS)
    gone = importlib.metadata.EntryPoint("gone", "their_package:NoSuchClass", plugins.ENTRY_POINTS)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point, gone])
    assert find("theirs").cls is find("their_package.OwnSource").cls
    assert [broken.module for broken in plugins.broken_plugins()] == ["their_package:NoSuchClass"]
