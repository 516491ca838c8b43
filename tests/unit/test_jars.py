"""caudal.jars: the sets are complete and pinned, and a file that is not what it should be is never used."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from caudal import jars


def test_every_jar_of_every_set_is_pinned_by_version_and_checksum() -> None:
    assert set(jars.set_names()) >= {"spark", "kafka-client", "kafka-server", "kafka-streams"}
    for name in jars.set_names():
        for jar in jars.jars_of(name):
            assert len(jar.sha256) == 64 and int(jar.sha256, 16)
            assert jar.version[0].isdigit() and jar.group and jar.artifact


def test_a_set_contains_those_it_includes_once() -> None:
    client, server = jars.jars_of("kafka-client"), jars.jars_of("kafka-server")
    assert server[: len(client)] == client
    assert len({jar.file_name for jar in server}) == len(server)


def test_an_unknown_set_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(jars.JarError, match="kafka-server"):
        jars.fetch("no-such-set")


@pytest.fixture
def one_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> jars.Jar:
    """A set 'one' of a single jar, and a cache folder of its own."""
    jar = jars.Jar("org.example", "thing", "1.0", hashlib.sha256(b"the real thing").hexdigest())
    monkeypatch.setenv("CAUDAL_JARS", str(tmp_path))
    monkeypatch.setattr(jars, "_data", lambda: {"one": {"jars": [f"{jar.coordinates} {jar.sha256}"]}})
    return jar


def test_a_file_put_there_by_hand_is_taken_without_fetching(one_jar: jars.Jar, tmp_path: Path) -> None:
    assert jars.find("one") is None
    (tmp_path / one_jar.file_name).write_bytes(b"the real thing")
    assert jars.fetch("one") == jars.find("one") == [tmp_path / "thing-1.0.jar"]


def test_what_arrives_with_another_checksum_is_not_kept(
    one_jar: jars.Jar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def arrive(wanted: object, scratch: Path) -> None:
        (scratch / "jars").mkdir()
        (scratch / "jars" / one_jar.file_name).write_bytes(b"something else")

    monkeypatch.setattr(jars, "_run_ivy", arrive)
    with pytest.raises(jars.JarError, match="SHA-256"):
        jars.fetch("one")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_fetched_again(one_jar: jars.Jar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / one_jar.file_name).write_bytes(b"cut off")

    def arrive(wanted: object, scratch: Path) -> None:
        (scratch / "jars").mkdir()
        (scratch / "jars" / one_jar.file_name).write_bytes(b"the real thing")

    monkeypatch.setattr(jars, "_run_ivy", arrive)
    assert jars.fetch("one")[0].read_bytes() == b"the real thing"
