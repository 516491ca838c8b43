"""What `--cluster` does to arguments and environment, without a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.cli import profiles
from caudal.cli.errors import UsageError
from caudal.cli.profiles import Profile, Profiles, chosen, take_flag


@pytest.fixture(autouse=True)
def two_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_PROFILES", str(tmp_path / "clusters.json"))
    known = Profiles().with_profile(Profile("west", "w:9092", connect="http://w:8083"))
    profiles.save(known.with_profile(Profile("east", "e:9092", registry="http://e:8081", properties={"a": "1"})))


def test_the_flag_is_taken_from_anywhere_but_behind_two_dashes() -> None:
    assert take_flag(["topic", "--cluster", "east", "list"]) == ("east", ["topic", "list"])
    assert take_flag(["--cluster=east", "topic"]) == ("east", ["topic"])
    assert take_flag(["run", "app.py", "--", "--cluster", "x"]) == (None, ["run", "app.py", "--", "--cluster", "x"])
    with pytest.raises(UsageError, match="name of a profile"):
        take_flag(["topic", "--cluster"])


def test_a_named_cluster_replaces_what_the_environment_says_and_it_comes_back() -> None:
    environment = {"CAUDAL_BOOTSTRAP": "other:1", "CAUDAL_CONNECT": "http://other:8083"}
    with chosen(["topic", "list", "--cluster", "east"], environment) as arguments:
        assert arguments == ["topic", "list"]
        assert environment == {"CAUDAL_BOOTSTRAP": "e:9092", "CAUDAL_REGISTRY": "http://e:8081"}
        assert profiles.properties_of("e:9092") == {"a": "1"}
        assert profiles.properties_of("other:1") == {}
    assert environment == {"CAUDAL_BOOTSTRAP": "other:1", "CAUDAL_CONNECT": "http://other:8083"}
    assert profiles.properties_of("e:9092") == {}


def test_the_primary_is_meant_when_nothing_is_said() -> None:
    environment: dict[str, str] = {}
    with chosen(["connector", "list"], environment):
        assert environment == {"CAUDAL_BOOTSTRAP": "w:9092", "CAUDAL_CONNECT": "http://w:8083"}
    for arguments in (["topic", "list", "-b", "x:1"], ["topic", "list", "--bootstrap=x:1"], ["up"], ["cluster", "x"]):
        with chosen(arguments, environment):
            assert environment == {}


def test_what_is_saved_is_read_back() -> None:
    assert profiles.load() == Profiles(
        "west",
        {
            "west": Profile("west", "w:9092", connect="http://w:8083"),
            "east": Profile("east", "e:9092", registry="http://e:8081", properties={"a": "1"}),
        },
    )
