"""The client's side of client.py: reads one JSON line per workload from stdin, runs it in a thread, answers with one
JSON line.

While a workload runs, the line {"stop": true} tells it to end early (the paced ones do). End of input ends the
process.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import sys
import threading
from typing import Any

from caudal.bench.workloads import WORKLOADS, explain


def answer(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def perform(name: str, arguments: dict[str, Any], stop: threading.Event) -> None:
    function = WORKLOADS[name]
    if "stop" in inspect.signature(function).parameters:
        arguments = {**arguments, "stop": stop}
    # A collection over a million of messages would be a pause that neither broker has caused.
    gc.disable()
    try:
        answer({"result": function(**arguments)})
    except Exception as error:
        answer({"error": explain(error)})
    finally:
        gc.enable()
        gc.collect()


def main() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    stop = threading.Event()
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("stop"):
            stop.set()
            continue
        stop = threading.Event()
        threading.Thread(target=perform, args=(message["workload"], message["arguments"], stop), daemon=True).start()


if __name__ == "__main__":
    main()
