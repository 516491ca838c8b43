"""What of `caudal bench streams` needs no engine: records and what must come of them, ratios, page, plot, flags."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from rich.console import Console

from caudal.bench import streams, streams_data, streams_plot, streams_report
from caudal.bench.case import Figure, Values, ratio_at_least, ratio_at_most
from caudal.bench.streams_case import COMPARISONS, Comparison, StreamsCase, StreamsSession, all_cases
from caudal.bench.streams_data import Batch, Expected, check
from caudal.bench.streams_engines import ENGINES, Engine
from caudal.bench.streams_job import WINDOW_MS, Job, job_of
from caudal.bench.streams_results import StreamsResults
from caudal.bench.streams_topologies import builder_of
from caudal.bench.workloads import WorkloadError
from caudal.testing import TopologyTestDriver


def job(topology: str) -> Job:
    return Job(topology, "app", "localhost:1", "in", "out", "table", "state")


def outputs(topology: str, batches: list[Batch]) -> list[tuple[bytes, bytes]]:
    """What Caudal makes of the batches, as bytes, in process."""
    driver = TopologyTestDriver(builder_of(job(topology)))
    try:
        if topology == "join":
            for message in streams_data.customers(10, ("user", "warm"), 0):
                driver.pipe_bytes("table", message["key"], message["value"], message["timestamp"])
        for batch in batches:
            for message in batch.messages():
                driver.pipe_bytes("in", message["key"], message["value"], message["timestamp"])
        return [_bytes(topology, record) for record in driver.read_outputs("out")]
    finally:
        driver.close()


def _bytes(topology: str, record: object) -> tuple[bytes, bytes]:
    import orjson

    key, value = record.key, record.value  # type: ignore[attr-defined]
    if topology == "sum":
        return key.key.encode() + struct.pack(">q", key.start), struct.pack(">q", value)
    if topology == "totals":
        return key.key.encode() + struct.pack(">q", key.start), orjson.dumps(value)
    if topology == "sql-totals":
        columns = dict(zip(("ORDERS", "AMOUNT"), value, strict=True))
        return key.key[0].encode() + struct.pack(">q", key.start), orjson.dumps(columns)
    written = struct.pack(">q", value) if topology == "count" else orjson.dumps(value)
    return key if isinstance(key, bytes) else key.encode(), written


CHECKED = ["map", "sql-map", "count", "sum", "join", "totals", "sql-totals"]
BATCHES = [Batch(50, 10, prefix="warm", begins_at=WINDOW_MS), Batch(200, 10, begins_at=100 * WINDOW_MS)]


@pytest.mark.parametrize("topology", CHECKED)
def test_what_caudal_makes_of_the_records_is_what_the_bench_expects(
    topology: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outputs(topology, BATCHES)
    monkeypatch.setattr(streams_data, "committed", lambda *_: iter(found))
    check(1, "out", 4, topology, "long", Expected.of(topology, BATCHES), every_update=True)


@pytest.mark.parametrize("topology", CHECKED)
def test_a_lost_or_doubled_record_fails_the_check(topology: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = outputs(topology, BATCHES)
    for wrong in (right[:-1], [*right, right[-1]]):
        monkeypatch.setattr(streams_data, "committed", lambda *_, wrong=wrong: iter(wrong))
        with pytest.raises(WorkloadError, match="wrong result"):
            check(1, "out", 4, topology, "long", Expected.of(topology, BATCHES), every_update=True)


def test_a_wrong_final_count_fails_even_where_not_every_update_is_emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [Batch(20, 2)]
    monkeypatch.setattr(streams_data, "committed", lambda *_: iter([(b"user-0000000", b"10"), (b"user-0000001", b"9")]))
    with pytest.raises(WorkloadError, match="1 of 2 final values differ, such as 1: 9 instead of 10"):
        check(1, "out", 4, "count", "text", Expected.of("count", batches), every_update=False)


def test_a_job_survives_the_line_protocol() -> None:
    assert job_of(job("count").as_command()) == job("count")


def test_every_comparison_names_cases_and_engines_that_exist() -> None:
    cases = {case.name: case for case in all_cases()}
    assert {engine for case in cases.values() for engine in case.engines} <= set(ENGINES)
    for comparison in COMPARISONS:
        for side in filter(None, (comparison.of, comparison.against)):
            assert side[1] in cases[side[0]].engines


def test_every_speed_that_the_product_promises_is_judged() -> None:
    list(all_cases())
    judged = {
        (comparison.of[0], comparison.against[:2] if comparison.against else None): str(target)
        for comparison in COMPARISONS
        for target in comparison.figure.targets
    }
    assert judged == {
        ("map", ("map", "quix")): "≥ 3×",
        ("map", ("map", "pyspark")): "≥ 0.9×",
        ("native-map", ("native-map", "pyspark")): "≥ 1×",
        ("count", ("count", "quix")): "≥ 3×",
        ("count", ("count", "pyspark")): "≥ 0.9×",
        ("count", ("count", "kafka-streams")): "≥ 1×",
        ("map", ("join", "caudal")): "≤ 2×",
        ("count", ("exactly-once", "caudal")): "≤ 1.5×",
        ("latency-100", ("latency-100", "kafka-streams-defaults")): "≤ 4×",
        ("latency-100-exactly-once", ("latency-100-exactly-once", "kafka-streams-defaults")): "≤ 6×",
        ("keys-thousand", ("keys-million", "caudal")): "≤ 1.5×",
        ("restore", ("restore", "kafka-streams")): "≥ 100000 rec/s",
        ("real-time-map", ("real-time-map", "kafka-streams-defaults")): "≤ 0.5×",
        ("real-time-regroup", ("real-time-regroup", "kafka-streams-defaults")): "≤ 1×",
        ("real-time-count-exactly-once", ("real-time-count-exactly-once", "kafka-streams-defaults")): "≤ 1.5×",
        ("real-time-batch-ends", None): "≤ 500 ms",
        ("real-time-idle", ("real-time-idle", "kafka-streams")): "≤ 5 % of a core",
    }


def nothing(_session: StreamsSession, _engine: Engine) -> Values:
    return {}


@pytest.fixture
def results() -> StreamsResults:
    cases = [
        StreamsCase("map", "JSON map", nothing, ("caudal", "quix")),
        StreamsCase("join", "join", nothing, ("caudal",)),
    ]
    comparisons = [
        Comparison(
            Figure("JSON map", "rec/s", True, (ratio_at_least(3),)), ("map", "caudal", "rate"), ("map", "quix", "rate")
        ),
        Comparison(
            Figure("map / join", "rec/s", True, (ratio_at_most(2),)),
            ("map", "caudal", "rate"),
            ("join", "caudal", "rate"),
        ),
    ]
    found = StreamsResults(cases, comparisons)
    for number, (own, peer, join) in enumerate([(100.0, 20.0, 40.0), (300.0, 100.0, 120.0), (90.0, 30.0, 30.0)]):
        found.add("map", number, "caudal", {"rate": own, "cpu": 9.0, "start": 1.0})
        found.add("map", number, "quix", {"rate": peer})
        found.add("join", number, "caudal", {"rate": join})
    return found


def test_ratios_are_taken_within_a_round_and_judged_by_their_median(results: StreamsResults) -> None:
    (_, beside_quix), (_, beside_join) = results.rows()
    assert (beside_quix.ratios, beside_quix.ratio, beside_quix.verdict) == ([5.0, 3.0, 3.0], 3.0, "met")
    assert (beside_join.ratios, beside_join.verdict) == ([2.5, 2.5, 3.0], "not met")


def test_a_peer_that_failed_leaves_its_comparison_without_a_verdict_and_says_why(results: StreamsResults) -> None:
    for key in [key for key in results.values if key[2] == "quix"]:
        del results.values[key]
    results.fail("map", "quix", "wrong result: 3 records came out, 4 went in")
    row = results.rows()[0][1]
    assert (row.ratio, row.verdict, row.failure) == (None, "", "wrong result: 3 records came out, 4 went in")


def test_the_page_begins_with_what_is_not_met_and_keeps_what_people_wrote(
    results: StreamsResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caudal.bench.report.machine", lambda: ["2 cores"])
    page = tmp_path / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\nOurs.\n")
    for _ in range(2):
        text = streams_report.markdown(results, "caudal bench streams", 3.0, 1000, "plot.svg")
        streams_report.write_markdown(page, text)
    written = page.read_text()
    assert written.startswith("# Benchmarks\n\nOurs.\n")
    assert written.count("<!-- caudal bench streams: begin") == 1
    assert written.index("Not met yet") < written.index("All comparisons")
    assert "| map / join |" in written and "![Records per second" in written


def test_the_table_and_the_plot_show_every_engine(results: StreamsResults) -> None:
    console = Console(width=170, record=True, quiet=True)
    console.quiet = False
    with console.capture() as shown:
        streams_report.print_tables(results, console)
    assert "1 of 2 targets met." in shown.get()
    drawn = streams_plot.svg(results)
    assert drawn.startswith("<svg") and drawn.count("<rect") == 3
    assert "Quix Streams" in drawn


def test_flags_that_make_no_sense_are_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["--only", "nonsense"], "There is no case 'nonsense'"),
        (["--engine", "nobody"], "There is no engine 'nobody'"),
        (["--records", "3"], "--records 400 or more"),
    ):
        assert streams.main(arguments) == 2
        assert said in capsys.readouterr().err


def test_only_takes_a_whole_name_or_the_beginning_of_several() -> None:
    assert [case.name for case in streams.chosen_cases(["map"])] == ["map"]
    assert len(streams.chosen_cases(["latency"])) == 4
