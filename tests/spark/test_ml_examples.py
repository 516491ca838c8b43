"""examples/ml: a model that is learnt from a topic's history scores the live stream, and a model is replaced while the
application runs."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from caudal.streams.application import Application
from caudal.testing import TopologyTestDriver
from tests.spark.conftest import Kafka

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "ml"
FRAUD = {"amount": 5000.0, "hour": 3}
HARMLESS = {"amount": 1.0, "hour": 12}


def loaded(name: str) -> Any:
    """The example as a module that workers cannot import: its functions travel by value, as from a program."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def values(kafka: Kafka, topic: str, count: int) -> dict[str, Any]:
    return {message.key().decode(): json.loads(message.value()) for message in kafka.read(topic, count)}


def test_a_model_learnt_from_history_scores_the_live_stream(
    kafka: Kafka, start: Callable[..., Application], spark: Any
) -> None:
    example = loaded("train_and_score")
    kafka.create("payments")
    kafka.create("suspicious")
    example.sample(kafka.bootstrap)
    model = example.train(kafka.bootstrap)
    much_at_night, little_by_day = {"ratio": 8.0, "night": 1}, {"ratio": 1.0, "night": 0}
    assert example.risk(model, much_at_night) > 0.9
    assert example.risk(model, little_by_day) < 0.1
    start(example.live(model))
    kafka.send("payments", ("card-1", json.dumps(HARMLESS)), ("card-2", json.dumps(FRAUD)))
    found = values(kafka, "suspicious", 1)
    assert found["card-2"]["amount"] == FRAUD["amount"]
    assert found["card-2"]["risk"] > 0.9
    with TopologyTestDriver(example.live(model)) as driver:
        driver.pipe_input("payments", "c", {"amount": 10, "hour": 12, "fraud": 0})
        driver.pipe_input("payments", "c", {"amount": 10, "hour": 12})
        assert driver.read_output("suspicious") is None
        driver.pipe_input("payments", "c", {"amount": 100, "hour": 2})
        (record,) = driver.read_outputs("suspicious")
        assert (record.key, record.value["amount"]) == ("c", 100)


def test_a_new_model_is_used_without_a_restart(kafka: Kafka, start: Callable[..., Application], spark: Any) -> None:
    example = loaded("refresh_model")
    kafka.create("card-payments", "scored-payments")
    kafka.create("labelled-payments", cleanup_policy="compact")
    kafka.create("models", partitions=1, cleanup_policy="compact")
    app = start(example.builder)
    payment = json.dumps({"ratio": 9.5, "night": 1})
    kafka.send("card-payments", ("p1", payment))
    assert values(kafka, "scored-payments", 1)["p1"] == {"ratio": 9.5, "night": 1, "risk": None, "model": None}
    for round_number, (first, count) in enumerate(((0, 400), (400, 300)), 2):
        example.sample(kafka.bootstrap, first, count, seed=round_number)
        kafka.until(lambda: app.table_df("labelled").count(), first + count)
        model = example.learn(kafka.bootstrap)
        assert model["version"] == first + count
        kafka.send("card-payments", (f"p{round_number}", payment))
        scored = values(kafka, "scored-payments", round_number)[f"p{round_number}"]
        assert scored["model"] == model["version"]
        assert scored["risk"] == pytest.approx(example.scored({"ratio": 9.5, "night": 1}, model)["risk"])
        assert scored["risk"] > 0.9
    assert app.state == "RUNNING"
