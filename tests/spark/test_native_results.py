"""The native lane writes what the task lane writes: the same topologies and the same bytes, in the interpreter and in
one Spark job. Values are compared as documents: Spark spells large doubles and control characters in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from caudal.plan.native import native_plan
from caudal.runtime.errors import Handlers, OnError, RecordError
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Bytes, Json, Long, String
from caudal.streams import KStream, StreamsBuilder

ORDERS = Json(schema="user STRING, amount BIGINT, price DOUBLE, paid BOOLEAN, `odd name` STRING")
LETTERS = "letters"

CHAINS: dict[str, Callable[[KStream, str], Any]] = {
    "as-it-is": lambda s, to: s.to(to),
    "filtered": lambda s, to: s.filter("amount > 2").to(to),
    "not-filtered": lambda s, to: s.filter_not("amount > 2").to(to),
    "by-null": lambda s, to: s.filter("value IS NULL OR user IS NULL").to(to),
    "struct": lambda s, to: s.map_values("STRUCT(user AS who, price * 2 AS twice, NULL AS nothing, paid)").to(to),
    "nested": lambda s, to: s.map_values("STRUCT(STRUCT(user, amount) AS inner, 'x' AS kind)").to(to),
    "through-a-struct": lambda s, to: s.map_values("STRUCT(price * 3 AS total)").filter("total > 4").to(to),
    "infinite": lambda s, to: s.map_values("STRUCT(price * 1e308 * 1e308 AS large)").to(to),
    "sorted": lambda s, to: s.map_values("STRUCT(user AS z, paid AS a)", value=Json(sort_keys=True)).to(to),
    "text": lambda s, to: s.map_values("upper(user)", value=String()).to(to),
    "text-as-json": lambda s, to: s.map_values("user || '\"'").to(to),
    "number-as-json": lambda s, to: s.map_values("amount").to(to),
    "double-as-json": lambda s, to: s.map_values("price").to(to),
    "long": lambda s, to: s.map_values("amount", value=Long()).to(to),
    "key": lambda s, to: s.select_key("user").to(to),
    "key-as-json": lambda s, to: s.select_key("STRUCT(user, amount)", key=Json()).to(to),
    "pair": lambda s, to: s.map("(user || '!', CASE WHEN paid THEN amount END)", value=Long()).to(to),
    "null-value": lambda s, to: s.map_values("NULL").to(to),
    "merged": lambda s, to: s.filter("paid").merge(s.map_values("STRUCT(user)")).to(to),
    "odd": lambda s, to: s.filter("`odd name` IS NOT NULL").map_values("STRUCT(`odd name`)").to(to),
    "guarded": lambda s, to: s.filter("amount <> 0 AND abs(amount) < 1000000").map_values("100 / amount").to(to),
}

VALUES: list[bytes | None] = [
    None,
    b'{"user":"ana","amount":3,"price":2.5,"paid":true,"odd name":"x"}',
    b' { "amount" : -7 , "user" : "Stra\xc3\x9fe \\u00e1\\n\\"" , "more" : [1, {"a": 2}] } ',
    b'{"user":"\\ud83d\\ude00","price":3,"paid":false}',
    b'{"user":null,"amount":null}',
    b"{}",
    b'{"amount":1,"amount":2}',
    b'{"amount":1,"amount":null}',
    b'{"user":"large","amount":9223372036854775807,"price":1e300}',
    b'{"amount":0,"price":-0.0,"user":""}',
    b'{"price":1e16,"user":"tab\\t\\u0001"}',
    b'{"Amount":5,"user":"case"}',
    b'{"user":"deep","x":{"amount":99}}',
    # From here on: not readable.
    b"",
    b"no json",
    b"null",
    b"3",
    b'"text"',
    b"[1]",
    b'[{"amount":1}]',
    b'{"amount":1} trailing',
    b'{"amount":1}{"amount":2}',
    b'{"amount":1}}',
    b'{"amount":1},"e":1',
    b'{"amount":1',
    b"{'amount':1}",
    b"{amount:1}",
    b'{"user":12}',
    b'{"odd name":{"a": [1, true, null]}}',
    b'{"user":false}',
    b'{"amount":"3"}',
    b'{"amount":3.0}',
    b'{"amount":9223372036854775808}',
    b'{"amount":true}',
    b'{"price":"1.5"}',
    b'{"price":"NaN"}',
    b'{"price":NaN}',
    b'{"price":1e999}',
    b'{"paid":"true"}',
    b'{"paid":1}',
    b'{"user":"\xff"}',
    b'{"user":"a\nb"}',
    b'{"amount":01}',
    b'{"amount":1,}',
    b"\xef\xbb\xbf{}",
]
BYTE_FOR_BYTE = ("text", "number-as-json", "long", "pair", "null-value", "odd")
FIRST_BAD = VALUES.index(b"")
KEYS: list[bytes | None] = [b"k", None, "ß😀".encode(), b""]


def records() -> list[tuple[bytes | None, bytes | None]]:
    made = [(KEYS[number % len(KEYS)], value) for number, value in enumerate(VALUES)]
    return [*made, (b"\xff\xfe", VALUES[1])]


def chains() -> StreamsBuilder:
    builder = StreamsBuilder("chains")
    stream = builder.stream("orders", key=String(), value=ORDERS)
    for name, act in CHAINS.items():
        act(stream, name)
    return builder


Written = dict[str, list[tuple[Any, Any]]]


def interpreted(builder: StreamsBuilder, handlers: Handlers, given: list[Any]) -> tuple[Written, int]:
    with TopologyTestDriver(builder, handlers=handlers, start_time=0) as driver:
        for key, value in given:
            driver.pipe_bytes("orders", key, value)
        waiting = driver._outputs
        written = {topic: [(one.key, one.value) for one in messages] for topic, messages in waiting.items()}
        return written, driver.dropped["deserialization error"]


def natively(spark: Any, builder: StreamsBuilder, handlers: Handlers, given: list[Any]) -> tuple[Written, Any]:
    from caudal.runtime.spark.native.frames import native_session, results_of

    schema = (
        "_topic STRING, _partition INT, _offset BIGINT, _headers ARRAY<STRUCT<key: STRING, value: BINARY>>, "
        "_key BINARY, _value BINARY"
    )
    rows = [("orders", 0, number, None, key, value) for number, (key, value) in enumerate(given)]
    (source,) = native_plan(builder.build()).sources
    frame = native_session(spark).createDataFrame(rows, schema).coalesce(1)
    written: Written = {}
    found = results_of(frame, source, handlers).collect()
    for row in found:
        written.setdefault(row["topic"], []).append((row["key"], row["value"]))
    return written, found


def document(data: Any) -> Any:
    if data is None:
        return None
    try:
        return orjson.loads(bytes(data))
    except ValueError:
        return bytes(data)


def test_the_same_topologies_write_the_same(spark: Any) -> None:
    handlers = Handlers(OnError.DEAD_LETTER, dead_letter_topic=LETTERS)
    expected, dropped = interpreted(chains(), handlers, records())
    written, rows = natively(spark, chains(), handlers, records())
    assert dropped == len(VALUES) - FIRST_BAD + 1
    assert written.keys() == expected.keys() == {*CHAINS, LETTERS}
    for topic, wanted in expected.items():
        got = written[topic]
        assert [(key, document(value)) for key, value in got] == [(k, document(v)) for k, v in wanted], topic
        if topic in BYTE_FOR_BYTE:
            assert got == wanted, topic
    letter = next(row for row in rows if row["topic"] == LETTERS)
    headers = {header["key"]: bytes(header["value"]) for header in letter["headers"]}
    assert headers["__streams.errors.topic"] == b"orders"
    assert headers["__streams.errors.offset"] == str(FIRST_BAD).encode()
    assert b"cannot read it with key=String(), value=Json(schema=" in headers["__streams.errors.message"]


def test_text_bytes_and_longs_pass_unchanged(spark: Any) -> None:
    builder = StreamsBuilder("plain")
    numbers = builder.stream("orders", key=Bytes(), value=Long())
    numbers.filter("value % 2 = 0").to("even")
    numbers.map_values("value * -3").to("times")
    given: list[Any] = [(b"\xff", number.to_bytes(8, "big", signed=True)) for number in (0, 1, -2, 2**61, -(2**61))]
    given += [(None, None), (b"k", b"short"), (b"k", b"nine long")]
    handlers = Handlers(OnError.SKIP)
    expected, dropped = interpreted(builder, handlers, given)
    written, _ = natively(spark, builder, handlers, given)
    assert (written, dropped) == (expected, 2)


def test_a_record_that_does_not_parse_stops_the_job_with_its_place(spark: Any) -> None:
    given = records()[: FIRST_BAD + 1]
    with pytest.raises(RecordError):
        interpreted(chains(), Handlers(), given)
    with pytest.raises(Exception, match="caudal-bad-record") as failed:
        natively(spark, chains(), Handlers(), given)
    assert f'"offset":{FIRST_BAD}' in str(failed.value)


def test_a_column_sees_key_and_value(spark: Any) -> None:
    from pyspark.sql import functions

    value, key = functions.col("value"), functions.col("key")
    builder = StreamsBuilder("columns")
    stream = builder.stream("orders", key=String(), value=ORDERS)
    stream.filter(value["amount"] > 2).map_values("STRUCT(user, amount)").to("large")
    small = stream.filter_not(value["amount"] > 2).map_values("STRUCT(amount * 2 AS amount)")
    small.filter(value["amount"] > 0).to("small")
    stream.map_values(functions.struct(functions.sha2(key, 256).alias("hash"))).to("hashed")
    given = [(b"a", b'{"amount":3,"user":"ana"}'), (b"b", b'{"amount":1}'), (b"c", b'{"amount":-1}')]
    written, _ = natively(spark, builder, Handlers(), given)
    assert written["large"] == [(b"a", b'{"user":"ana","amount":3}')]
    assert written["small"] == [(b"b", b'{"amount":2}')]
    assert len(document(written["hashed"][0][1])["hash"]) == 64
