r"""Scores payments with a model that is replaced while the application runs: nothing is restarted.

Shows: a model as one record of a compacted topic, read as a global table, so that every task has the newest; and a
table of the running application as a Spark DataFrame (`table_df`), from which Spark's MLlib learns the next model.
Payments are scored as soon as they come; what was really fraud is known later, and comes as another topic.

Run it, with a broker at localhost:9092 (`caudal broker`) and the spark extra (pip install 'caudal[spark]'):

    caudal topic create card-payments -p 2
    caudal topic create labelled-payments -p 2 -c cleanup.policy=compact
    caudal topic create models -p 1 -c cleanup.policy=compact
    caudal run examples/ml/refresh_model.py

From another terminal: a payment before there is a model, some payments that were looked into, and a first model.

    echo 'p1={"ratio": 9.5, "night": 1}' | caudal produce card-payments -K =
    python examples/ml/refresh_model.py sample
    python examples/ml/refresh_model.py learn
    echo 'p2={"ratio": 9.5, "night": 1}' | caudal produce card-payments -K =
    caudal consume scored-payments -K ': '

The first payment has no risk, the second has one, and names the version of its model. Let cron call `learn` each night.
"""

import json
import math
import os
import random
import sys

from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

BOOTSTRAP = os.environ.get("CAUDAL_BOOTSTRAP", "localhost:9092")
FEATURES = ["ratio", "night"]
MODEL = "payments"  # its key in the topic

builder = StreamsBuilder("refresh-model")

payments = builder.stream("card-payments", key=String(), value=Json())
models = builder.global_table("models", key=String(), value=Json())
# Kept as a table for learning; nothing in this application reads it.
builder.table("labelled-payments", key=String(), value=Json(), store="labelled")


def scored(payment, model):
    if model is None:  # the first one is still to come
        return {**payment, "risk": None, "model": None}
    score = model["intercept"] + sum(w * payment[name] for w, name in zip(model["weights"], FEATURES, strict=True))
    return {**payment, "risk": round(1 / (1 + math.exp(-max(-500, min(500, score)))), 3), "model": model["version"]}


payments.left_join(models, scored, key_selector=lambda key, payment: MODEL).to("scored-payments")


def learn(bootstrap):
    """Learns from all labels that there are now, and publishes the model."""
    from confluent_kafka import Producer
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    from caudal.streams.application import Application

    application = Application(builder, bootstrap=bootstrap)  # not started: only its tables are read
    table = application.table_df("labelled", value_schema="ratio double, night int, fraud int")
    rows = VectorAssembler(inputCols=FEATURES, outputCol="features").transform(table.select("value.*")).cache()
    fitted = LogisticRegression(labelCol="fraud").fit(rows)
    model = {
        "version": rows.count(),  # grows with what was learnt from
        "weights": [float(weight) for weight in fitted.coefficients],
        "intercept": float(fitted.intercept),
    }
    rows.unpersist()
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})  # Java's
    producer.produce("models", json.dumps(model), MODEL)
    producer.flush()
    return model


def sample(bootstrap, first=0, count=1000, seed=7):
    """Payments that were looked into: fraud is mostly much more than usual, at night."""
    from confluent_kafka import Producer

    chance = random.Random(seed)
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})  # Java's
    for number in range(first, first + count):
        fraud = int(chance.random() < 0.1)
        ratio = chance.uniform(3, 12) if fraud else chance.uniform(0.5, 3.5)
        night = int(chance.random() < (0.8 if fraud else 0.1))
        producer.produce(
            "labelled-payments", json.dumps({"ratio": ratio, "night": night, "fraud": fraud}), f"l{number}"
        )
        producer.poll(0)
    producer.flush()


if __name__ == "__main__":
    if sys.argv[1:] == ["sample"]:
        sample(BOOTSTRAP)
    elif sys.argv[1:] == ["learn"]:
        print(learn(BOOTSTRAP))
    else:
        builder.run()
