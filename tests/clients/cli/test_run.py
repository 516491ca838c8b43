"""`caudal run` typed wrongly, and `python app.py`: one line and an exit code each. No Spark is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from caudal.testing import EmbeddedBroker

from .conftest import Caudal

GOOD = """
from caudal.streams import StreamsBuilder
builder = StreamsBuilder("good")
builder.stream("orders-that-nobody-made").to("out")
if __name__ == "__main__":
    builder.run()
"""


@pytest.fixture
def good(tmp_path: Path) -> str:
    return written(tmp_path, GOOD)


def written(folder: Path, text: str) -> str:
    file = folder / "app.py"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("x = 1\n", 2, "has no StreamsBuilder at its top level; it needs exactly one"),
        (f"{GOOD}\nother = StreamsBuilder('b')\n", 2, "has 2 StreamsBuilders at its top level; it needs exactly one"),
        ("def f(:\n", 1, "SyntaxError"),
        ("\n\nimport no_such_module\n", 1, "line 3: ModuleNotFoundError: No module named 'no_such_module'"),
        (
            "from caudal.streams import StreamsBuilder\nb = StreamsBuilder('a b')\n",
            1,
            "line 2: The name 'a b' may only have letters",
        ),
        ("from caudal.streams import StreamsBuilder\nb = StreamsBuilder('b')\n", 1, "The topology reads no topic"),
    ],
    ids=["no builder", "two builders", "syntax", "import", "illegal id", "empty"],
)
def test_a_file_that_is_no_application(caudal: Caudal, tmp_path: Path, text: str, code: int, says: str) -> None:
    outcome = caudal("run", written(tmp_path, text), "--bootstrap", "127.0.0.1:1")
    assert (outcome.code, outcome.out) == (code, "")
    assert says in outcome.err
    assert outcome.err.count("\n") == 1


def test_no_such_file(caudal: Caudal, tmp_path: Path) -> None:
    outcome = caudal("run", str(tmp_path / "none.py"))
    assert (outcome.code, outcome.err) == (2, f"caudal: there is no file {tmp_path / 'none.py'}\n")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--guarantee", "twice"], "guarantee takes 'exactly_once', 'at_least_once', 'at_most_once', not 'twice'"),
        (["--on-bad-record", "panic"], "A handler takes 'fail', 'skip', 'dead letter', not 'panic'"),
        (["--on-bad-record", "dead-letter"], "none is named: set dead_letter_topic"),
        (["--mode", "slow"], "mode takes 'micro-batch', 'real-time', not 'slow'"),
        (["-X", "nonsense=1"], 'No such configuration property: "nonsense"'),
        (["-X", "nonsense"], "-X takes NAME=VALUE, not 'nonsense'"),
    ],
)
def test_wrong_flags_are_said_before_a_broker_is_asked(caudal: Caudal, good: str, flags: list[str], says: str) -> None:
    outcome = caudal("run", good, "--bootstrap", "127.0.0.1:1", *flags)
    assert outcome.code == 2
    assert says in outcome.err
    assert outcome.err.count("\n") == 1


def test_threads_must_be_one_or_more(caudal: Caudal, good: str) -> None:
    outcome = caudal("run", good, "--threads", "0")
    assert outcome.code == 2
    assert "'--threads'" in outcome.err


def test_no_broker(caudal: Caudal, good: str) -> None:
    outcome = caudal("run", good, "--bootstrap", "127.0.0.1:1")
    assert outcome.code == 1
    assert "no broker at 127.0.0.1:1" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_missing_source_topic(on_broker: Caudal, good: str) -> None:
    pytest.importorskip("pyspark")
    outcome = on_broker("run", good, "-q")
    assert outcome.code == 1
    assert outcome.err == (
        "caudal: Source topic 'orders-that-nobody-made' does not exist; create it (caudal topic create "
        "orders-that-nobody-made) before 'good' starts\n"
    )


def test_the_file_as_a_program_takes_the_same_flags(good: str, broker: EmbeddedBroker) -> None:
    def run(*flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, good, *flags], capture_output=True, text=True, timeout=60, check=False)

    described = run("--describe")
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [orders-that-nobody-made])" in described.stdout
    told = run("-q", "--bootstrap", broker.bootstrap, "--threads", "2")
    assert (told.returncode, told.stderr.partition(":")[0]) == (1, "app.py")
    assert "'orders-that-nobody-made' does not exist" in told.stderr
