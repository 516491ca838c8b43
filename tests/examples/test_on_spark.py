"""Every example on real Spark with a real broker, fed by the commands of its own header; all on one host query. And
both ways to start a file, and the code of the guide that needs a broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.serde import String
from caudal.streams import StreamsBuilder, Windowed
from caudal.streams.application import Application, start_all
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.examples.example_files import EXAMPLES, ROOT, commands, header, load
from tests.examples.running import Output, shell, wait_for
from tests.examples.test_guide import BLOCKS

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]

# The specification's own example has no header.
ORDERS = [
    "caudal topic create orders -p 2",
    "caudal topic create customers -p 2",
    """echo 'ana={"city": "Soria"}' | caudal produce customers -K =""",
    """printf '%s\\n' '1={"user": "ana", "amount": 3}' '2={"user": "eva", "amount": 0}' | caudal produce orders -K =""",
]


def last(key: Any, value: Any) -> Callable[[Output], bool]:
    """The last value of a key is this one."""
    return lambda output: dict(output).get(key) == value


def has(*expected: tuple[Any, Any]) -> Callable[[Output], bool]:
    return lambda output: all(record in output for record in expected)


EXPECTED: dict[str, dict[str, Callable[[Output], bool]]] = {
    "word_count": {"word-counts": has(("the", 1), ("the", 2), ("river", 2), ("is", 1), ("runs", 1))},
    "orders": {
        "orders-per-user": lambda output: output == [("ana", 1)],
        "orders-enriched": last("ana", {"user": "ana", "amount": 3, "city": "Soria"}),
        "spent-per-minute": lambda output: (
            [(key.key, value) for key, value in output if isinstance(key, Windowed)] == [("ana", 3)]
        ),
    },
    "enriched_orders": {
        "deliveries": lambda output: (
            [(order["order"], order["due"], order["city"]) for _, order in output]
            == [("o1", 40, "Soria"), ("o2", 20, "Soria")]
        ),
        "settled": lambda output: output == [("o1", {"order": "o1", "due": 40, "paid": 40})],
    },
    "elections": {
        "results": last("Aragón/Tejo", {"votes": 1000, "before": 900, "change": 100}),
        "standings": last("Aragón", {"Tejo": 1000, "Encina": 650}),
        "turnout-by-hour": lambda output: output == [("Aragón", {"from": "2023-05-28T07:00:00+00:00", "voters": 200})],
    },
    "chess": {
        "diagrams": lambda output: len(output) == 4 and "after move 4: black wins" in output[-1][1],
        "refused-moves": lambda output: output == [("ana-eva", "e2e5: white cannot play it")],
        "games-over": lambda output: output == [("ana-eva", "black wins")],
    },
    "top_ten": {"top-ten": lambda output: bool(output) and output[-1][1] == [["Duo", 2], ["Solo", 1]]},
    "processor_api": {
        "averages": has(("boiler", {"average": 61, "readings": 1})),
        # Said when nothing comes any more: the wall clock wakes the task.
        "alarms": has(
            *((name, {"sensor": name, "is": what}) for name in ("boiler", "cellar") for what in ("heard", "silent"))
        ),
    },
}


def steps(path: Path) -> tuple[list[str], list[str]]:
    """The lines that make topics, and those that feed."""
    lines = commands(header(path)) or ORDERS
    return [line for line in lines if " topic create " in line], [line for line in lines if " produce " in line]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def applications(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Application]]:
    """All examples running on one host, and fed."""
    from caudal.runtime.spark.host import SparkHost

    shell((line for path in EXAMPLES for line in steps(path)[0]), broker.bootstrap)
    host = SparkHost(threads=2)
    state = str(tmp_path_factory.mktemp("state"))
    try:
        builders = [load(path.stem) for path in EXAMPLES]
        started = start_all(builders, host=host, bootstrap=broker.bootstrap, state_dir=state)
        shell((line for path in EXAMPLES for line in steps(path)[1]), broker.bootstrap)
        yield dict(zip((path.stem for path in EXAMPLES), started, strict=True))
    finally:
        host.close()


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
def test_the_example_gives_on_spark_what_its_header_promises(
    name: str, applications: dict[str, Application], broker: EmbeddedBroker
) -> None:
    application = applications[name]
    for topic, is_there in EXPECTED[name].items():
        application.raise_failure()
        wait_for(application.topology, topic, broker.bootstrap, is_there, seconds=90)
    assert application.state == "RUNNING"


@pytest.mark.parametrize("way", ["caudal run", "python"])
def test_a_file_runs_as_a_program_and_stops_in_good_order(way: str, tmp_path: Path) -> None:
    path = ROOT / "examples" / "chess.py"  # it has named functions, which must reach the workers as well
    program = ["-m", "caudal.cli.main", "run", str(path)] if way == "caudal run" else [str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with embedded_broker() as broker, (tmp_path / "log").open("w+") as log:
        create, feed = steps(path)
        shell([*create, *feed], broker.bootstrap)
        flags = ["--bootstrap", broker.bootstrap, "--state-dir", str(tmp_path / "state"), "--threads", "1"]
        process = subprocess.Popen([sys.executable, *program, *flags], env=environment, stderr=log)
        try:

            def is_over(output: Output) -> bool:
                assert process.poll() is None, (tmp_path / "log").read_text()
                return EXPECTED["chess"]["games-over"](output)

            wait_for(load("chess").build(), "games-over", broker.bootstrap, is_over, seconds=90)
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
        finally:
            process.kill()
            process.wait()
            log.seek(0)
            said = log.read()
        assert code == 0, said
        assert "'chess' is STOPPED" in said


def test_the_guide_on_starting_from_code_is_true(
    broker: EmbeddedBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic("names", 2)
    builder = StreamsBuilder("from-code")
    builder.stream("names", key=String(), value=String()).to("greetings")
    (block,) = [text for _, mark, text in BLOCKS if mark == "needs-broker"]
    names: dict[str, Any] = {"builder": builder, "bootstrap": broker.bootstrap}
    exec(compile(block, "docs/streams.md", "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["RUNNING", "0_0 0 ['names-0']", "0_1 1 ['names-1']"]
    assert names["app"].state == "STOPPED"
