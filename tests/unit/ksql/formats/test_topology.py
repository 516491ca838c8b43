"""The serdes in a plan: rows through the test driver, the plan as data, state by the bytes of rows."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import orjson

from caudal.ksql import types
from caudal.ksql.formats.serdes import key_serde, row_serde, value_serde
from caudal.ksql.formats.timestamps import timestamp_extractor
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.sources import Format
from caudal.plan.data import to_dict
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import serde_from
from caudal.streams import StreamsBuilder

SCHEMA = Schema(
    (
        Column("ID", types.INTEGER, Place.KEY),
        Column("USER", types.STRING),
        Column("AMOUNT", types.decimal(6, 2)),
        Column("AT", types.BIGINT),
    )
)


USER_AND_MAP = [types.STRING, types.mapping(types.STRING, types.INTEGER)]
MAPS = [{"b": 1, "a": 2}, {"a": 2, "b": 1}]  # equal, in another order


def user_and_map(key: Any, value: Any) -> Any:
    return (value[0], MAPS[key[0] % 2])


def add(key: Any, value: Any, total: Any) -> Any:
    return (total[0] + value[1],)


def nothing() -> Any:
    return (Decimal("0.00"),)


def topology() -> Any:
    builder = StreamsBuilder("app")
    stream = builder.stream(
        "orders",
        key=key_serde(Format("KAFKA"), SCHEMA.key),
        value=value_serde(Format("JSON"), SCHEMA.value),
        timestamp=timestamp_extractor(SCHEMA, "AT"),
    )
    rows = row_serde([column.type for column in SCHEMA.value])
    totals = stream.group_by(user_and_map, key=row_serde(USER_AND_MAP), value=rows).aggregate(
        nothing, add, value=row_serde([types.decimal(10, 2)])
    )
    totals.to_stream().map(lambda key, value: ((key[0],), value)).to(
        "totals",
        key=key_serde(Format("KAFKA"), [Column("USER", types.STRING, Place.KEY)]),
        value=value_serde(Format("JSON"), [Column("TOTAL", types.decimal(10, 2))]),
    )
    return builder.build()


def test_rows_go_through_a_plan() -> None:
    with TopologyTestDriver(topology()) as driver:
        for number, (user, amount) in enumerate([("ana", "1.50"), ("eva", "2.00"), ("eva", "9.00"), ("ana", "0.25")]):
            driver.pipe_input("orders", (number,), (user, Decimal(amount), 1000 * number))
        driver.pipe_bytes("orders", b"\x00\x00\x00\x01", b'{"user": "ana", "amount": 5, "at": -3}', 1)
        found = [(record.key, record.value, record.timestamp) for record in driver.read_outputs("totals")]
    assert found == [
        (("ana",), (Decimal("1.50"),), 0),
        (("eva",), (Decimal("2.00"),), 1000),
        (("eva",), (Decimal("11.00"),), 2000),
        (("ana",), (Decimal("1.75"),), 3000),
    ]


def test_the_plan_is_data() -> None:
    data = json.loads(orjson.dumps(to_dict(topology())))
    serdes = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            if str(value.get("type", "")).endswith("Row"):
                serdes.append(value)
            for each in value.values():
                collect(each)
        if isinstance(value, list):
            for each in value:
                collect(each)

    collect(data)
    assert {each["type"] for each in serdes} == {"KafkaRow", "JsonRow", "Row"}
    for each in serdes:
        assert pickle.loads(pickle.dumps(serde_from(each))) == serde_from(each)
