"""The topologies of `caudal bench streams` in Caudal's DSL, as a user would write them; the peers have their own."""

from __future__ import annotations

from typing import Any

from caudal.bench.streams_job import Job
from caudal.plan.topology import Topology
from caudal.serde import Bytes, Json, Long, String
from caudal.streams import StreamsBuilder, tumbling

ORDERS = "id BIGINT, user STRING, amount BIGINT, region STRING"
REWRITTEN = "STRUCT(id, user, amount * 2 AS total, upper(region) AS region)"  # as SQL: may run natively


def rewritten(order: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": order["id"],
        "user": order["user"],
        "total": order["amount"] * 2,
        "region": order["region"].upper(),
    }


def joined(order: dict[str, Any], customer: dict[str, Any]) -> dict[str, Any]:
    return {"id": order["id"], "total": order["amount"] * 2, "city": customer["city"]}


def builder_of(job: Job) -> StreamsBuilder | Topology:
    if job.topology in ("totals", "sql-totals"):
        from caudal.bench import ksql_topologies  # which needs KSQL's packages

        by_hand = job.topology == "totals"
        return ksql_topologies.written_by_hand(job) if by_hand else ksql_topologies.written_as_sql(job)
    builder = StreamsBuilder(job.application)
    if job.topology == "map":
        builder.stream(job.input, key=Bytes(), value=Json()).map_values(rewritten).to(job.output)
    elif job.topology == "sql-map":
        orders = builder.stream(job.input, key=Bytes(), value=Json(schema=ORDERS))
        orders.map_values(REWRITTEN).to(job.output)
    elif job.topology == "count":
        builder.stream(job.input, key=String(), value=Bytes()).group_by_key().count().to(job.output)
    elif job.topology == "regroup":
        orders = builder.stream(job.input, key=String(), value=Bytes()).select_key(_same_key)
        orders.group_by_key().count().to(job.output)
    elif job.topology == "sum":
        amounts = builder.stream(job.input, key=String(), value=Json()).map_values(_amount, value=Long())
        sums = amounts.group_by_key().windowed_by(tumbling(job.window)).reduce(_add)
        sums.to_stream().to(job.output)
    elif job.topology == "join":
        customers = builder.table(job.table, key=String(), value=Json())
        builder.stream(job.input, key=String(), value=Json()).join(customers, joined).to(job.output)
    else:
        raise ValueError(f"unknown topology {job.topology}")
    return builder


def _same_key(key: str, value: bytes) -> str:
    """A key that is new as far as anybody can tell: what is counted goes through a repartition topic first."""
    return key


def _amount(order: dict[str, Any]) -> int:
    return int(order["amount"])


def _add(total: int, amount: int) -> int:
    return total + amount
