"""The application that the kill tests run: a repartition, a count with its changelog, a join with a table, two outputs.

Its functions take their time, so that transactions are open long enough to be hit.
"""

import os
import time
from typing import Any

from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder

SECONDS = float(os.environ.get("SECONDS_PER_ORDER", "0"))

builder = StreamsBuilder("order-book")


def user_of(key: str, order: dict[str, Any]) -> str:
    time.sleep(SECONDS)
    return str(order["user"])


def enriched(order: dict[str, Any], customer: dict[str, Any]) -> dict[str, Any]:
    time.sleep(SECONDS)
    return {**order, "version": customer["version"]}


orders = builder.stream("orders", key=String(), value=Json()).select_key(user_of)
customers = builder.table("customers", key=String(), value=Json())
orders.group_by_key(key=String(), value=Json()).count(store="counts").to_stream().to(
    "counts", key=String(), value=Long()
)
orders.join(customers, enriched).to("enriched", key=String(), value=Json())

if __name__ == "__main__":
    builder.run()
