"""Quix Streams as a peer of `caudal bench streams`: one job in one process, run by a Python of its own (Quix pins
versions of confluent-kafka and pydantic that are not ours, so it cannot live in our environment).

It speaks the protocol of streams_job.py and imports nothing of Caudal. Quix is scaled by starting it several times,
which the engine does. Left out: `processed` (every update is emitted, the bench counts those).
"""

import json
import sys
import threading
from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found]
from quixstreams.models import JSONSerializer  # type: ignore[import-not-found]


def rewritten(order: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": order["id"],
        "user": order["user"],
        "total": order["amount"] * 2,
        "region": order["region"].upper(),
    }


def joined(order: dict[str, Any], customer: dict[str, Any]) -> dict[str, Any]:
    return {"id": order["id"], "total": order["amount"] * 2, "city": customer["city"]}


def counted(_value: bytes, state: State) -> int:
    count = state.get("count", 0) + 1
    state.set("count", count)
    return int(count)


def application_of(job: dict[str, Any]) -> Application:
    app = Application(
        broker_address=job["bootstrap"],
        consumer_group=job["application"],
        auto_offset_reset="earliest",
        state_dir=job["state"],
        loglevel="ERROR",
        auto_create_topics=True,
        processing_guarantee="exactly-once" if job["guarantee"] == "exactly_once" else "at-least-once",
    )
    form = "bytes" if job["topology"] == "count" else "json"
    source = app.topic(job["input"], key_deserializer="string", value_deserializer=form)
    sink = app.topic(job["output"], key_serializer="string", value_serializer=JSONSerializer())
    frame = app.dataframe(source)
    if job["topology"] == "map":
        frame = frame.apply(rewritten)
    elif job["topology"] == "count":
        frame = frame.apply(counted, stateful=True)
    elif job["topology"] == "sum":
        frame = frame.apply(lambda order: order["amount"]).tumbling_window(job["window"]).sum().current()
    elif job["topology"] == "join":
        table = app.dataframe(app.topic(job["table"], key_deserializer="string", value_deserializer="json"))
        frame = frame.join_asof(table, how="inner", on_merge=joined)
    frame.to_topic(sink)
    return app


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    answer({"ready": True})
    app = application_of(json.loads(sys.stdin.readline()))
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.readline()  # `end`, or the end of the input: the same
        ended.set()
        app.stop()

    threading.Thread(target=wait_for_end, daemon=True).start()
    answer({})
    app.run()
    answer({} if ended.is_set() else {"error": "Quix Streams ended by itself"})


if __name__ == "__main__":
    main()
