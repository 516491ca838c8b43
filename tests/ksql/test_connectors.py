"""CREATE, SHOW, DESCRIBE and DROP CONNECTOR against a real worker of Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.ksql.errors import KsqlError
from caudal.testing import EmbeddedBroker
from tests.connect.process import ConnectProcess
from tests.ksql.conftest import until


@pytest.fixture
def worker(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[ConnectProcess]:
    started = ConnectProcess(broker.bootstrap, "--group", tmp_path.name, "--allow-folder", str(tmp_path)).wait()
    yield started
    started.stop()


def test_a_connector_in_sql(
    broker: EmbeddedBroker, worker: ConnectProcess, engines: Callable[..., Any], tmp_path: Path
) -> None:
    engine = engines(connect=worker.url)

    def execute(text: str) -> dict[str, Any]:
        (found,) = engine.execute(text)
        assert isinstance(found, dict)
        return found

    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    assert execute("SHOW CONNECTORS;")["connectors"] == []
    plugins = execute("SHOW CONNECTOR PLUGINS;")["connectorsPlugins"]
    assert "org.apache.kafka.connect.file.FileStreamSourceConnector" in {one["className"] for one in plugins}
    create = (
        "CREATE SOURCE CONNECTOR {} `lines` WITH ('connector.class'='FileStreamSource', "
        f"'file'='{file}', 'topic'='sql-lines', 'tasks.max'=1, 'value.converter'='String');"
    )
    made = execute(create.format(""))
    assert (made["@type"], made["info"]["name"], made["info"]["type"]) == ("connector_info", "lines", "source")
    assert made["info"]["config"]["tasks.max"] == "1"
    with pytest.raises(KsqlError, match="already exists"):
        engine.execute(create.format(""))
    assert execute(create.format("IF NOT EXISTS"))["@type"] == "warning_entity"

    def state() -> str:
        (one,) = execute("SHOW SOURCE CONNECTORS;")["connectors"]
        return str(one["state"])

    until(state, "RUNNING (1/1 tasks RUNNING)")
    assert execute("SHOW SINK CONNECTORS;")["connectors"] == []
    until(lambda: execute("DESCRIBE CONNECTOR `lines`;")["topics"], ["sql-lines"])
    execute("CREATE STREAM of_lines (line STRING) WITH (KAFKA_TOPIC='sql-lines', VALUE_FORMAT='KAFKA');")
    described = execute("DESCRIBE CONNECTOR `lines`;")
    assert described["connectorClass"] == "FileStreamSource"
    assert described["status"]["tasks"][0]["state"] == "RUNNING"
    assert [source["name"] for source in described["sources"]] == ["OF_LINES"]

    wrong = "CREATE SINK CONNECTOR x WITH ('connector.class'='FileStreamSink', 'topics'='t', 'file'='/etc/passwd');"
    with pytest.raises(KsqlError, match="outside of the folders"):
        engine.execute(wrong)
    assert execute("DROP CONNECTOR `lines`;") | {"statementText": ""} == {
        "@type": "drop_connector", "statementText": "", "warnings": [], "connectorName": "lines",
    }  # fmt: skip
    until(lambda: execute("SHOW CONNECTORS;")["connectors"], [])
    with pytest.raises(KsqlError, match="not found"):
        engine.execute("DROP CONNECTOR `lines`;")
    assert execute("DROP CONNECTOR IF EXISTS `lines`;")["@type"] == "warning_entity"


def test_a_worker_that_is_away_is_said(engines: Callable[..., Any]) -> None:
    engine = engines(connect="http://127.0.0.1:1")
    with pytest.raises(KsqlError, match=r"Kafka Connect at http://127\.0\.0\.1:1 does not answer"):
        engine.execute("SHOW CONNECTORS;")
