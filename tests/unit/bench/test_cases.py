"""The registry of cases, the choice of cases, and the parts of cases that are plain computation."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from caudal.bench.broker import Options, chosen_cases, command_line, main
from caudal.bench.case import all_cases, case
from caudal.bench.cases.background import drop_page_cache, is_compacted
from caudal.bench.entry import BenchError
from caudal.bench.workloads import Pace, WorkloadError, message_chunks, percentile

# What the issue asks for by name; a case that gets lost would otherwise only make the table shorter.
ASKED_FOR = {
    *(
        f"throughput-{size}b-{partitions}p-acks-{acks}"
        for size in (100, 1024)
        for partitions in (1, 4)
        for acks in (1, "all")
    ),
    *("latency", "transactions", "compaction", "cold-read", "footprint", "partitions-2000", "connections"),
}


def test_every_case_asked_for_is_registered() -> None:
    assert {found.name for found in all_cases()} >= ASKED_FOR


def test_two_cases_cannot_have_one_name() -> None:
    all_cases()
    with pytest.raises(ValueError, match="latency"):
        case("latency", {})(lambda _session: {})


def test_only_chooses_by_the_beginning_of_the_name() -> None:
    assert {found.name for found in chosen_cases(["throughput-100b", "latency"])} == {
        name for name in ASKED_FOR if name.startswith("throughput-100b") or name == "latency"
    }
    with pytest.raises(BenchError, match="no case 'speed'"):
        chosen_cases(["speed"])


def test_an_unknown_case_is_one_sentence_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "speed"]) == 2
    assert "there are: " in capsys.readouterr().err


def test_the_command_line_repeats_the_run_without_naming_folders() -> None:
    options = Options(rounds=3, only=["latency"], markdown=Path("/somewhere/BENCHMARKS.md"), data=Path("/somewhere"))
    assert command_line(options) == "caudal bench broker --rounds 3 --only latency --markdown BENCHMARKS.md"


def test_percentiles_are_values_that_were_seen() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert percentile([7.0], 0.99) == 7.0
    with pytest.raises(WorkloadError):
        percentile([], 0.5)


def test_a_pace_ends_when_told_to() -> None:
    stop = threading.Event()
    seen = []
    for number in Pace(rate=1000, seconds=60, stop=stop):
        seen.append(number)
        if number == 4:
            stop.set()
    assert seen == [0, 1, 2, 3, 4]


def test_compaction_is_over_when_the_log_is_small_and_nothing_is_half_done(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(bytes(100))
    assert is_compacted(tmp_path, 100)
    assert not is_compacted(tmp_path, 99)
    (tmp_path / "00000000000000000000.log.swap").write_bytes(b"")
    assert not is_compacted(tmp_path, 100)


def test_dropping_the_page_cache_keeps_the_bytes(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    try:
        drop_page_cache(tmp_path)
    except Exception as error:
        pytest.skip(str(error))
    assert (tmp_path / "00000000000000000000.log").read_bytes() == data


def test_keyed_chunks_hold_every_key_once_and_plain_ones_are_as_long_as_asked() -> None:
    chunks = message_chunks(size=10, keys=2500, chunk=1000)
    assert [len(chunk) for chunk in chunks] == [1000, 1000, 500]
    assert len({message["key"] for chunk in chunks for message in chunk}) == 2500
    assert [len(chunk) for chunk in message_chunks(size=10, keys=0, chunk=200)] == [200]
