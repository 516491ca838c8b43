"""Where Spark connectors may read and write on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.connect.connectors.spark.settings import check_local_places, spark_session
from caudal.connect.connectors.spark.sink import SparkSink
from caudal.connect.connectors.spark.source import SparkSource
from caudal.connect.errors import ConfigError


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("path", "/etc"),
        ("path", "file:/etc"),
        ("path", "FILE:///etc"),
        ("path", "relative/folder"),
        ("checkpoint.location", "{inside}/../outside"),
        ("spark.option.path", "/etc"),
        ("spark.conf.spark.jars", "{inside}/good.jar, /tmp/other.jar"),
    ],
)
def test_a_place_outside_of_the_allowed_folders_is_named(tmp_path: Path, key: str, place: str) -> None:
    inside = tmp_path / "inside"
    config = {"caudal.allowed.folders": str(inside), key: place.format(inside=inside)}
    with pytest.raises(ConfigError, match="outside of the folders") as refused:
        check_local_places(config)
    assert refused.value.key == key
    with pytest.raises(ConfigError), spark_session(config):
        pass


def test_allowed_folders_and_other_file_systems_are_taken(tmp_path: Path) -> None:
    check_local_places(
        {
            "caudal.allowed.folders": str(tmp_path),
            "path": f"file://{tmp_path}/out",
            "checkpoint.location": "hdfs://name/checkpoints",
            "spark.conf.spark.jars": f"{tmp_path}/a.jar,{tmp_path}/b.jar",
        }
    )


@pytest.mark.parametrize("connector", [SparkSource, SparkSink])
def test_the_validation_names_the_property(connector: type[SparkSource | SparkSink]) -> None:
    given = {"format": "parquet", "path": "/etc", "topic": "t", "schema": "id INT"}
    assert list(connector.check(connector.config().parse(given))) == ["path"]
