"""Runs the golden cases on Kafka Streams (Java), the reference: `python -m tests.golden.reference`.

Compiles tests/golden/java, gives it all cases but those written by hand, and compares what it puts out with the case
files; `--write` puts its answers into them instead (beside ours where a case differs on purpose). The jars are the set
`kafka-streams-test` of caudal/jars.toml; CAUDAL_GOLDEN_CLASS_PATH may name other ones. Not part of the tests: the
answers are committed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from caudal import jars

from . import case_files

SOURCES = Path(__file__).with_name("java")


def class_path() -> str:
    return os.environ.get("CAUDAL_GOLDEN_CLASS_PATH") or jars.class_path("kafka-streams-test")


def answers(cases: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What Kafka Streams puts out in each step of each case."""
    with tempfile.TemporaryDirectory() as folder:
        classes, questions, results = (
            Path(folder) / "classes",
            Path(folder) / "cases.json",
            Path(folder) / "results.json",
        )
        sources = [str(source) for source in sorted(SOURCES.glob("*.java"))]
        path = class_path()
        subprocess.run([jars.java("javac"), "-nowarn", "-d", str(classes), "-cp", path, *sources], check=True)
        questions.write_text(json.dumps(cases))
        command = [
            jars.java(),
            "-XX:TieredStopAtLevel=1",
            f"-Djava.io.tmpdir={folder}",
            f"-Dlog4j2.configurationFile={SOURCES / 'log4j2.properties'}",
            *("-cp", f"{classes}:{path}", "Golden", str(questions), str(results)),
        ]
        subprocess.run(command, check=True)
        found: dict[str, list[dict[str, Any]]] = json.loads(results.read_text())
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the golden cases with Kafka Streams (Java).")
    parser.add_argument("--write", action="store_true", help="put Kafka Streams' answers into the case files")
    options = parser.parse_args()
    areas = {path: json.loads(path.read_text()) for path in case_files.files()}
    by_id = {
        f"{data['area']}: {case['name']}": case
        for data in areas.values()
        for case in data["cases"]
        if "by_hand" not in case
    }
    different = 0
    for case_id, outputs in answers(by_id).items():
        case = by_id[case_id]
        steps = case["steps"]
        if len(outputs) < len(steps):
            print(f"{case_id}: stops the application in step {len(outputs)}, before its last one")
            different += 1
        field = "kafka_streams" if "differs" in case else "expect"
        for number, (step, output) in enumerate(zip(steps, outputs, strict=False), 1):
            if step.get(field) != output:
                different += 1
                if not options.write:
                    print(f"{case_id}, step {number}\n  written       {step.get(field)}\n  Kafka Streams {output}")
                step[field] = output
    if options.write:
        for path, data in areas.items():
            case_files.write(path, data["area"], data["cases"])
    print(f"{len(by_id)} cases, {different} steps {'written' if options.write else 'differ'}")
    return 0 if options.write or not different else 1


if __name__ == "__main__":
    sys.exit(main())
