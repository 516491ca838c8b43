"""`caudal produce` and `caudal consume` with kcat's habits, on a running broker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from caudal.testing import EmbeddedBroker

from .conftest import Caudal


@pytest.fixture
def topic(broker: EmbeddedBroker) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.fixture
def filled(on_broker: Caudal, topic: str) -> str:
    assert on_broker("produce", topic, input=b"one\ntwo\nthree\nfour\nfive\n").code == 0
    return topic


def test_lines_go_in_and_come_out(on_broker: Caudal, filled: str) -> None:
    assert on_broker("consume", filled, "-e").lines == ["one", "two", "three", "four", "five"]


def test_keys_headers_and_nulls_travel(on_broker: Caudal, topic: str) -> None:
    given = b"a:1\nb:\n:3\nplain\n"
    assert (
        on_broker("produce", topic, "-K", ":", "-Z", "-H", "source=web", "-H", "n=1", "-k", "fixed", input=given).code
        == 0
    )
    rows = [json.loads(line) for line in on_broker("consume", topic, "-e", "-J").lines]
    assert [(row["key"], row["payload"]) for row in rows] == [
        ("a", "1"),
        ("b", None),
        ("fixed", "3"),
        ("fixed", "plain"),
    ]
    assert rows[0]["headers"] == ["source", "web", "n", "1"]
    assert rows[0]["tstype"] == "create"
    assert abs(rows[0]["ts"] - time.time() * 1000) < 60_000
    assert on_broker("consume", topic, "-e", "-K", "=", "-Z").lines == ["a=1", "b=NULL", "fixed=3", "fixed=plain"]
    assert on_broker("consume", topic, "-e", "-f", r"%o:%k;").out == "0:a;1:b;2:fixed;3:fixed;"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_back(on_broker: Caudal, topic: str, codec: str) -> None:
    assert on_broker("produce", topic, "-z", codec, input=b"x" * 2000 + b"\ny\n").code == 0
    assert on_broker("consume", topic, "-e", "-f", "%S ").out == "2000 1 "


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_kind_of_acks(on_broker: Caudal, topic: str, acks: str) -> None:
    assert on_broker("produce", topic, "--acks", acks, input=b"v\n").code == 0
    assert on_broker("consume", topic, "-e" if acks != "0" else "-c1").lines == ["v"]


def test_binary_records_with_other_delimiters(on_broker: Caudal, topic: str) -> None:
    assert on_broker("produce", topic, "-D", r"\x00", input=b"a\nb\x00\xff\xfe\x00").code == 0
    assert on_broker("consume", topic, "-e", "-D", "|").out.encode("utf-8", "surrogateescape") == b"a\nb|\xff\xfe|"


def test_files_are_one_record_each_or_with_l_many(on_broker: Caudal, topic: str, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_bytes(b"x\ny\n")
    second.write_bytes(b"z")
    assert on_broker("produce", topic, str(first), str(second)).code == 0
    assert on_broker("consume", topic, "-e", "-f", "%S,").out == "4,1,"
    assert on_broker("produce", topic, "-l", str(first)).code == 0
    assert on_broker("consume", topic, "-e", "-o", "2").lines == ["x", "y"]
    assert "no file" in on_broker("produce", topic, str(tmp_path / "none")).err


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["-o", "beginning"], ["one", "two", "three", "four", "five"]),
        (["-o", "3"], ["four", "five"]),
        (["-o", "-2"], ["four", "five"]),
        (["-o", "-99"], ["one", "two", "three", "four", "five"]),
        (["-o", "end"], []),
        (["-o", "99"], []),
        (["-c", "2"], ["one", "two"]),
        (["-o", "1", "-c", "1"], ["two"]),
        (["-p", "0"], ["one", "two", "three", "four", "five"]),
    ],
)
def test_where_to_begin_and_when_to_stop(on_broker: Caudal, filled: str, where: list[str], expected: list[str]) -> None:
    assert on_broker("consume", filled, "-e", *where).lines == expected


def test_between_two_points_in_time(on_broker: Caudal, topic: str) -> None:
    moments = []
    for value in ("early", "middle", "late"):
        assert on_broker("produce", topic, input=value.encode()).code == 0
        time.sleep(0.02)
        moments.append(int(time.time() * 1000))
        time.sleep(0.02)
    first, second, third = moments
    assert on_broker("consume", topic, "-o", f"s@{first}", "-o", f"e@{second}").lines == ["middle"]
    assert on_broker("consume", topic, "-o", f"s@{first}", "-e").lines == ["middle", "late"]
    assert on_broker("consume", topic, "-o", f"e@{second}").lines == ["early", "middle"]
    assert on_broker("consume", topic, "-o", f"s@{third}", "-e").lines == []
    assert on_broker("consume", topic, "-o", f"s@{first}", "-o", f"e@{third}").lines == ["middle", "late"]


def test_an_end_in_the_future_waits_for_its_moment(on_broker: Caudal, filled: str) -> None:
    before = time.time()
    lines = on_broker("consume", filled, "-o", f"e@{int((before + 1.5) * 1000)}").lines
    assert lines == ["one", "two", "three", "four", "five"]
    assert time.time() - before >= 1.5


def test_several_topics_and_partitions(on_broker: Caudal, broker: EmbeddedBroker, filled: str) -> None:
    other = f"{filled}-more"
    broker.create_topic(other, 3)
    for partition in range(3):
        assert on_broker("produce", other, "-p", str(partition), input=b"p%d" % partition).code == 0
    assert sorted(on_broker("consume", filled, other, "-e").lines) == [
        "five",
        "four",
        "one",
        "p0",
        "p1",
        "p2",
        "three",
        "two",
    ]
    assert sorted(on_broker("consume", other, "-e", "-p", "0", "-p", "2").lines) == ["p0", "p2"]
    assert "no partition 7" in on_broker("consume", other, "-e", "-p", "7").err
    assert "no partition 7" in on_broker("produce", other, "-p", "7", input=b"x").err


def test_a_group_goes_on_where_it_was(on_broker: Caudal, filled: str) -> None:
    group = f"g-{filled}"
    assert on_broker("consume", filled, "-G", group, "-c", "2").lines == ["one", "two"]
    assert on_broker("consume", filled, "-G", group, "-e").lines == ["three", "four", "five"]
    assert on_broker("consume", filled, "-G", group, "-e").lines == []
    assert on_broker("consume", filled, "-G", group, "-e", "-o", "beginning", "-c", "1").lines == ["one"]
    assert on_broker("consume", filled, "-G", group, "-e", "-o", "stored", "-c", "1").lines == ["two"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_group_at_once_and_keeps_what_was_shown(
    on_broker: Caudal, broker: EmbeddedBroker, filled: str, number: signal.Signals
) -> None:
    group = f"g-{filled}"
    command = [sys.executable, "-m", "caudal.cli.main", "consume", filled, "-G", group, "-b", broker.bootstrap]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(5)][-1] == "five\n"
    process.send_signal(number)
    assert process.wait(60) == 0
    process.stdout.close()
    document = on_broker("group", "describe", group, "--json").json
    assert (document["state"], document["lag"]) == ("empty", 0)


def test_a_reader_that_goes_away_is_no_failure(broker: EmbeddedBroker, filled: str) -> None:
    command = f"{sys.executable} -m caudal.cli.main consume {filled} -e -b {broker.bootstrap} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("one\n", "")


def test_missing_topics(on_broker: Caudal) -> None:
    outcome = on_broker("consume", "no-such-topic", "-e")
    assert (outcome.code, outcome.err.count("\n")) == (4, 1)
    assert "no-such-topic" in outcome.err


def test_a_topic_is_made_by_the_first_record(on_broker: Caudal) -> None:
    name = f"auto-{uuid.uuid4().hex[:8]}"
    assert on_broker("produce", name, input=b"x\n").code == 0
    assert on_broker("consume", name, "-e").lines == ["x"]


def test_a_record_too_large_for_the_topic_is_said(on_broker: Caudal, broker: EmbeddedBroker) -> None:
    name = f"small-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name, max_message_bytes=1000)
    outcome = on_broker("produce", name, input=b"x" * 5000)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "max.message.bytes" in outcome.err


def test_a_transaction_is_seen_as_a_whole_or_not_at_all(on_broker: Caudal, topic: str) -> None:
    assert on_broker("produce", topic, "-X", f"transactional.id=tx-{topic}", input=b"a\nb\n").code == 0
    assert on_broker("consume", topic, "-e").lines == ["a", "b"]
    failed = on_broker("produce", topic, "-X", f"transactional.id=tx-{topic}", "/no/such/file")
    assert failed.code == 1
    assert on_broker("consume", topic, "-e").lines == ["a", "b"]


def test_the_internal_topics_are_readable(on_broker: Caudal, filled: str) -> None:
    group = f"g-{filled}"
    on_broker("consume", filled, "-G", group, "-e")
    rows = [json.loads(line) for line in on_broker("consume", "__consumer_offsets", "-e").lines]
    commits = [row for row in rows if row["type"] == "OffsetCommit" and row["key"]["group"] == group]
    assert commits[-1]["key"] == {"group": group, "topic": filled, "partition": 0}
    assert commits[-1]["value"]["offset"] == 5
    on_broker("produce", filled, "-X", f"transactional.id=tx-{filled}", input=b"a")
    rows = [json.loads(line) for line in on_broker("consume", "__transaction_state", "-e", "-J").lines]
    mine = [row for row in rows if row["key"]["transactional_id"] == f"tx-{filled}"]
    assert mine[-1]["payload"]["state"] == "CompleteCommit"


def test_a_wrong_client_property_is_said(on_broker: Caudal, topic: str) -> None:
    outcome = on_broker("consume", topic, "-e", "-X", "no.such.property=1")
    assert outcome.code == 2
    assert "no.such.property" in outcome.err
