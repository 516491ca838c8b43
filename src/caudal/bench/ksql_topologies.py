"""The windowed aggregate of `caudal bench ksql`, twice: as SQL, and written by hand with the DSL.

Same input, same window and grace, same columns of the result.
"""

from __future__ import annotations

from typing import Any

from caudal.bench.streams_job import Job
from caudal.ksql.catalog import Catalog
from caudal.ksql.formats.ddl import source_of
from caudal.ksql.planner.plan import plan_query
from caudal.ksql.planner.planned import Sink
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.statements import CreateAsSelect, CreateSource
from caudal.plan.topology import Topology
from caudal.serde import Json, String
from caudal.streams import StreamsBuilder, tumbling

GRACE_MS = 24 * 60 * 60 * 1000

ORDERS = (
    "CREATE STREAM {name} (USER_NAME STRING KEY, ID BIGINT, AMOUNT BIGINT, REGION STRING) "
    "WITH (KAFKA_TOPIC='{topic}', PARTITIONS={partitions}, VALUE_FORMAT='JSON');"
)
TOTALS = (
    "CREATE TABLE TOTALS WITH (KAFKA_TOPIC='{topic}') AS SELECT USER_NAME, COUNT(*) AS ORDERS, SUM(AMOUNT) AS AMOUNT "
    "FROM ORDERS WINDOW TUMBLING (SIZE {size} MILLISECONDS, GRACE PERIOD {grace} MILLISECONDS) "
    "GROUP BY USER_NAME EMIT CHANGES;"
)


def written_as_sql(job: Job) -> Topology:
    catalog = Catalog()
    orders = parse_statement(ORDERS.format(name="ORDERS", topic=job.input, partitions=1))
    totals = parse_statement(TOTALS.format(topic=job.output, size=job.window, grace=GRACE_MS))
    assert isinstance(orders, CreateSource) and isinstance(totals, CreateAsSelect)
    catalog.sources["ORDERS"] = source_of(orders, catalog, registry=None, statement_properties={})
    sink = Sink(totals.name, totals.kind, tuple((given.name, given.value) for given in totals.properties))
    reading = {"auto.offset.reset": "earliest"}
    return plan_query(totals.query, catalog, application_id=job.application, sink=sink, properties=reading).topology


def written_by_hand(job: Job) -> StreamsBuilder:
    builder = StreamsBuilder(job.application)
    orders = builder.stream(job.input, key=String(), value=Json())
    windows = orders.group_by_key().windowed_by(tumbling(job.window, grace=GRACE_MS))
    windows.aggregate(_nothing, _with_order, value=Json()).to_stream().to(job.output)
    return builder


def _nothing() -> dict[str, int]:
    return {"ORDERS": 0, "AMOUNT": 0}


def _with_order(_key: str, order: dict[str, Any], total: dict[str, int]) -> dict[str, int]:
    return {"ORDERS": total["ORDERS"] + 1, "AMOUNT": total["AMOUNT"] + order["amount"]}
