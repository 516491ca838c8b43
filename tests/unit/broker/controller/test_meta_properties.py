"""meta.properties: written once, as Kafka writes it, and believed afterwards."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from caudal.broker.config.definition import ConfigError
from caudal.broker.config.properties_file import read_properties
from caudal.broker.controller.meta_properties import load_or_create, random_id


def test_created_and_read_back(tmp_path: Path) -> None:
    created = load_or_create(tmp_path / "data", 3)
    assert load_or_create(tmp_path / "data", 3) == created
    properties = read_properties(tmp_path / "data" / "meta.properties")
    assert properties["version"] == "1"
    assert properties["node.id"] == "3"
    assert properties["cluster.id"] == created.cluster_id


def test_another_brokers_folder_is_refused(tmp_path: Path) -> None:
    load_or_create(tmp_path, 1)
    with pytest.raises(ConfigError, match="holds the data of broker 1, but this broker is number 2"):
        load_or_create(tmp_path, 2)


def test_a_file_of_kafka_is_understood(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\n#Sun Nov 15\ncluster.id=abc\nbroker.id=1\nversion=0\n")
    assert load_or_create(tmp_path, 1).cluster_id == "abc"


@pytest.mark.parametrize("text", ["", "version=1\nnode.id=1\n", "version=9\nnode.id=1\ncluster.id=a\n", "node.id=x\n"])
def test_a_file_that_is_not_understood(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(ConfigError, match="is not understood"):
        load_or_create(tmp_path, 1)


def test_ids_look_like_kafkas() -> None:
    ids = {random_id() for _ in range(200)}
    assert len(ids) == 200
    for text in ids:
        assert len(text) == 22
        assert not text.startswith("-")
        assert len(base64.urlsafe_b64decode(text + "==")) == 16
