r"""Learns from a topic's history which card payments were fraud, and scores the payments that come.

Shows: the same operators over the past (`run_batch`, as Spark batch) and over what comes (`start`); the output of a
batch as a Spark DataFrame; a model of Spark's MLlib; and its coefficients in an ordinary function of the live stream.
A payment alone says little: what counts is how it compares with what the card usually pays. That average is state,
and because past and present run the same code, the model is asked exactly what it was taught.

Run it, with a broker at localhost:9092 (`caudal broker`) and the spark extra (pip install 'caudal[spark]'):

    caudal topic create payments -p 2
    python examples/ml/train_and_score.py sample
    python examples/ml/train_and_score.py

The first line of Python writes two thousand payments that were looked into: `fraud` is 1 or 0. The second learns from
them, prints the model and scores what comes until Ctrl-C. Feed it from another terminal, and look:

    echo 'card-7={"amount": 900, "hour": 3}' | caudal produce payments -K =
    caudal consume suspicious -K ': '
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

# -- what past and present share -------------------------------------------------------------------------------------


def seen(card, payment, before):
    """What is known of a card after a payment, and how the payment compares with those before it."""
    count, total = before.get("count", 0), before.get("total", 0.0)
    usual = total / count if count else payment["amount"]
    return {
        "count": count + 1,
        "total": total + payment["amount"],
        "amount": payment["amount"],
        "ratio": payment["amount"] / usual,
        "night": int(payment["hour"] < 6),
        "fraud": payment.get("fraud"),
    }


def features(builder):
    payments = builder.stream("payments", key=String(), value=Json())
    return payments.group_by_key().aggregate(dict, seen, store="cards").to_stream()


# -- the past: a model -----------------------------------------------------------------------------------------------


def train(bootstrap):
    """The coefficients of a logistic regression over all payments that were looked into."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    builder = StreamsBuilder("payments-history")
    features(builder).to("features")
    with builder.run_batch(bootstrap=bootstrap) as result:
        rows = result.topic("features", value_schema="ratio double, night int, fraud int").select("value.*")
        known = VectorAssembler(inputCols=FEATURES, outputCol="features").transform(rows.where("fraud IS NOT NULL"))
        model = LogisticRegression(labelCol="fraud").fit(known)
    return {"weights": [float(weight) for weight in model.coefficients], "intercept": float(model.intercept)}


# -- the present: scores ---------------------------------------------------------------------------------------------


def risk(model, row):
    score = model["intercept"] + sum(w * row[name] for w, name in zip(model["weights"], FEATURES, strict=True))
    return 1 / (1 + math.exp(-max(-500, min(500, score))))


def live(model):
    """The application that scores: the model travels to the workers with its function."""
    builder = StreamsBuilder("payments-live")
    new = features(builder).filter(lambda card, row: row["fraud"] is None)
    scored = new.map_values(lambda row: {"amount": row["amount"], "risk": round(risk(model, row), 3)})
    scored.filter(lambda card, row: row["risk"] > 0.5).to("suspicious")
    return builder


# -- something to learn from -----------------------------------------------------------------------------------------


def sample(bootstrap, count=2000, seed=7):
    """Payments of fifty cards. Fraud is mostly much money at night, with exceptions both ways."""
    from confluent_kafka import Producer

    chance = random.Random(seed)
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})  # Java's
    usual = [chance.uniform(10, 100) for _ in range(50)]
    for _ in range(count):
        card, fraud = chance.randrange(50), int(chance.random() < 0.05)
        amount = usual[card] * (chance.uniform(3, 12) if fraud else chance.uniform(0.5, 2.5))
        hour = chance.randrange(6) if chance.random() < (0.8 if fraud else 0.1) else chance.randrange(6, 24)
        payment = {"amount": round(amount, 2), "hour": hour, "fraud": fraud}
        producer.produce("payments", json.dumps(payment), f"card-{card}")
        producer.poll(0)
    producer.flush()


if __name__ == "__main__":
    if sys.argv[1:] == ["sample"]:
        sample(BOOTSTRAP)
    else:
        learnt = train(BOOTSTRAP)
        print(learnt, flush=True)
        with live(learnt).start(bootstrap=BOOTSTRAP) as app:
            try:
                app.wait()
            except KeyboardInterrupt:
                pass
