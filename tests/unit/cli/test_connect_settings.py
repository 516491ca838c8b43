"""`caudal connect` before anything runs: worker.properties, flags and -c become the settings of a worker."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from caudal.cli import connect_process
from caudal.cli.connect_process import Options, properties_of, run, settings_of
from caudal.cli.errors import CliError, UsageError
from caudal.connect.runtime.settings import WorkerSettings

WORKER = """
bootstrap.servers=kafka:9092
group.id=crew
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=io.confluent.connect.avro.AvroConverter
value.converter.schema.registry.url=http://registry:8081
offset.storage.topic=crew-offsets
offset.storage.replication.factor=3
offset.flush.interval.ms=2500
plugin.path=/a, /b
listeners=http://0.0.0.0:18083,https://0.0.0.0:18443
security.protocol=SSL
exactly.once.source.support=disabled
"""


def settings(standalone: bool = False, **options: Any) -> WorkerSettings:
    properties, _, _ = properties_of(Options(**options))
    return settings_of(properties, standalone, "http://here:8083")


def test_a_worker_properties_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(WORKER)
    with caplog.at_level(logging.WARNING, "caudal.connect"):
        found = settings(config=file)
    assert "offset.storage.replication.factor" in caplog.text
    assert (found.bootstrap, found.group_id, found.offset_topic) == ("kafka:9092", "crew", "crew-offsets")
    assert found.key_converter.endswith("StringConverter")
    assert found.converter_properties == {"value.converter.schema.registry.url": "http://registry:8081"}
    assert found.offset_flush_seconds == 2.5
    assert found.plugin_path == (Path("/a"), Path("/b"))
    assert found.client == {"security.protocol": "SSL"}
    assert (found.mode, found.exactly_once_source) == ("distributed", False)
    assert properties_of(Options(config=file))[1:] == ("0.0.0.0", 18083)
    assert properties_of(Options(config=file, port=0))[1:] == ("0.0.0.0", 0)


def test_what_wins(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(WORKER)
    found = settings(config=file, group="flag", bootstrap="flag:1", properties=["group.id=typed"])
    assert (found.group_id, found.bootstrap) == ("typed", "flag:1")
    options = Options(config=file, host="h", port=1, properties=["listeners=http://typed:2"])
    assert properties_of(options)[1:] == ("typed", 2)


def test_without_anything() -> None:
    found = settings()
    assert (found.bootstrap, found.group_id) == ("localhost:9092", "connect-cluster")
    assert found.scheduled_rebalance_delay_seconds == 10
    assert properties_of(Options())[1:] == ("127.0.0.1", 8083)
    assert settings(standalone=True).offsets_file == Path("caudal-data/connect/offsets")


def test_flags(tmp_path: Path) -> None:
    found = settings(
        registry="http://r", master="local[2]", plugins=[tmp_path], allowed_folders=[tmp_path, tmp_path.parent]
    )
    assert (found.registry, found.master, found.plugin_path) == ("http://r", "local[2]", (tmp_path,))
    assert found.allowed_folders == (tmp_path, tmp_path.parent)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"properties": ["group.id"]}, "-c takes KEY=VALUE"),
        ({"properties": ["groups.id=x"]}, "no worker property 'groups.id'; did you mean group.id"),
        ({"properties": ["offset.flush.interval.ms=soon"]}, "offset.flush.interval.ms must be a whole number"),
        ({"properties": ["offset.storage.partitions=0"]}, "must be at least 1"),
        ({"properties": ["exactly.once.source.support=yes"]}, "is enabled, preparing or disabled, not 'yes'"),
        ({"properties": ["listeners=https://h:1"]}, "listeners is http://HOST:PORT"),
        ({"properties": ["listeners=http://h:x"]}, "listeners is http://HOST:PORT"),
        ({"properties": ["rest.port=x"]}, "rest.port is a port"),
        ({"config": Path("/no/such/file")}, "/no/such/file cannot be read"),
        ({"allowed_folders": [Path("/no/such/folder")]}, "no folder '/no/such/folder'"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        settings(**options)


def test_files_need_a_standalone_worker() -> None:
    with pytest.raises(UsageError, match="--standalone"):
        run(Options(files=[Path("a.properties")]))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_process, "is_installed", lambda: False)
    with pytest.raises(CliError, match=r"pip install 'caudal\[connect\]'"):
        run(Options())
