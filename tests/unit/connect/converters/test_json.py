"""JSON as Kafka Connect's JsonConverter has it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from caudal.connect import DataError
from caudal.connect.converters.json import JsonConverter
from caudal.connect.data import BYTES, FLOAT64, INT32, INT64, STRING, TIMESTAMP_SCHEMA, array, decimal, map_of, struct


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure(
        JsonConverter.config().parse({name.replace("_", "."): value for name, value in config.items()}), False
    )
    return made


PLAIN = {"schemas_enable": "false"}


def written(made: JsonConverter, schema: Any, value: Any) -> Any:
    data = made.encode("t", schema, value)
    assert data is not None
    return json.loads(data)


def test_the_envelope_is_kafka_connects() -> None:
    schema = struct("shop.Order", id=INT32, note=STRING.as_optional(), at=TIMESTAMP_SCHEMA, tags=array(STRING))
    value = {"id": 1, "note": None, "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "tags": ["a"]}
    assert converter().encode("t", schema, value) == (
        b'{"schema":{"type":"struct","fields":['
        b'{"type":"int32","optional":false,"field":"id"},'
        b'{"type":"string","optional":true,"field":"note"},'
        b'{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"at"},'
        b'{"type":"array","items":{"type":"string","optional":false},"optional":false,"field":"tags"}],'
        b'"optional":false,"name":"shop.Order"},'
        b'"payload":{"id":1,"note":null,"at":1000,"tags":["a"]}}'
    )


def test_without_schemas_the_value_alone() -> None:
    made = converter(**PLAIN)
    assert made.encode("t", struct(None, id=INT32), {"id": 1}) == b'{"id":1}'
    assert made.encode("t", None, {"id": 1}) == b'{"id":1}'
    assert made.decode("t", b'{"id":1,"x":[1.5,null]}') == (None, {"id": 1, "x": [1.5, None]})


def test_no_schema_in_an_envelope() -> None:
    made = converter()
    assert made.encode("t", None, {"a": 1}) == b'{"schema":null,"payload":{"a":1}}'
    for _ in range(2):  # the second time by the head alone
        assert made.decode("t", b'{"schema":null,"payload":{"a":1}}') == (None, {"a": 1})


def test_an_optional_null_is_written_with_its_schema() -> None:
    made = converter()
    data = made.encode("t", STRING.as_optional(), None)
    assert data == b'{"schema":{"type":"string","optional":true},"payload":null}'
    assert made.decode("t", data) == (STRING.as_optional(), None)


def test_decimals_as_base64_and_as_numbers() -> None:
    schema = decimal(2)
    assert written(converter(), schema, Decimal("1.50"))["payload"] == "AJY="
    numeric = converter(decimal_format="NUMERIC").encode("t", schema, Decimal("1.5"))
    assert numeric is not None and numeric.endswith(b'"payload":1.50}')
    # Either is read by either, with all digits.
    exact = Decimal("12345678901234567890.12")
    data = converter(decimal_format="NUMERIC").encode("t", schema, exact)
    made = converter()
    for _ in range(3):
        assert made.decode("t", data).value == exact
    assert made.decode("t", converter().encode("t", schema, exact)).value == exact


def test_maps_without_string_keys_are_pairs() -> None:
    assert written(converter(), map_of(INT32, STRING), {1: "a"})["payload"] == [[1, "a"]]
    assert written(converter(**PLAIN), None, {1: "a", 2: {"x": math.nan}}) == [[1, "a"], [2, {"x": "NaN"}]]


def test_what_is_not_finite_is_text_as_jackson_has_it() -> None:
    made = converter()
    for value, text in ((math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")):
        assert written(made, FLOAT64, value)["payload"] == text
        assert written(converter(**PLAIN), None, [value, None]) == [text, None]


def test_logical_values_without_a_schema() -> None:
    value = {"at": datetime(2026, 1, 1, tzinfo=UTC), "day": date(2026, 1, 1), "price": Decimal("1.10"), "raw": b"a"}
    data = converter(**PLAIN).encode("t", None, value)
    assert data == b'{"at":"2026-01-01T00:00:00.000Z","day":"2026-01-01","price":1.10,"raw":"YQ=="}'
    with pytest.raises(DataError, match="not JSON serializable: object"):
        converter(**PLAIN).encode("t", None, object())


def test_null_and_default() -> None:
    schema = replace(INT64, optional=True, default=5, has_default=True)
    assert written(converter(), schema, None)["payload"] == 5
    assert written(converter(replace_null_with_default="false"), schema, None)["payload"] is None
    data = json.dumps({"schema": {"type": "int64", "optional": True, "default": 5}, "payload": None}).encode()
    assert converter().decode("t", data) == (schema, 5)
    assert converter(replace_null_with_default="false").decode("t", data) == (schema, None)


def test_a_fixed_schema_for_plain_json() -> None:
    made = converter(schema_content='{"type":"struct","fields":[{"type":"bytes","field":"raw"}]}')
    assert made.decode("t", b'{"raw":"YQ=="}') == (struct(None, raw=BYTES), {"raw": b"a"})
    with pytest.raises(DataError, match=r"schema\.content is not a schema"):
        converter(schema_content='{"type":"wide"}')


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"5", "schemas.enable=false"),
        (b'{"payload":1}', "schemas.enable=false"),
        (b'{"schema":{"type":"int8"},"payload":1,"more":1}', "schemas.enable=false"),
        (b'{"schema":{"type":"int7"},"payload":1}', "Unknown schema type"),
        (b'{"schema":5,"payload":1}', "JSON object"),
        (b'{"schema":{"type":"array"},"payload":[]}', "needs 'items'"),
        (b'{"schema":{"type":"map","keys":{"type":"string"}},"payload":{}}', "needs 'values'"),
        (b'{"schema":{"type":"struct"},"payload":{}}', "needs 'fields'"),
        (b'{"schema":{"type":"struct","fields":[{"type":"int8"}]},"payload":{}}', "its name in 'field'"),
        (b'{"schema":{"type":"int8","name":5},"payload":1}', "'name' of a schema"),
        (b'{"schema":{"type":"int8"},"payload":300}', "outside the range of int8"),
        (b'{"schema":{"type":"int8"},"payload":null}', "required"),
        (b'{"schema":{"type":"bytes"},"payload":"*"}', "base64"),
        (b'{"schema":{"type":"string"},"payload":1}', "not a string"),
        (b'{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal"},"payload":"AA=="}', "scale"),
        (b'{"schema":{"type":"int32","name":"org.apache.kafka.connect.data.Time"},"payload":-1}', "within a day"),
        (b'{"schema":{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp"},"payload":1e300}', "int64"),
    ],
)
def test_bytes_that_are_no_record(data: bytes, why: str) -> None:
    with pytest.raises(DataError, match=why.replace(".", r"\.")):
        converter().decode("t", data)


def test_a_head_that_only_looks_known_is_read_in_full() -> None:
    made = converter()
    data = made.encode("t", INT32, 1)
    assert data is not None and made.decode("t", data).value == 1
    with pytest.raises(DataError, match=r"schemas\.enable"):
        made.decode("t", data[:-1] + b',"more":2}')
    with pytest.raises(DataError, match="not JSON"):
        made.decode("t", data[:-1])
    assert made.decode("t", data + b"  ").value == 1


def test_the_cache_of_schemas_has_a_bound() -> None:
    made = converter(schemas_cache_size="2")
    for number in range(5):
        made.encode("t", struct(f"s{number}", id=INT32), {"id": 1})
    assert len(made._writers) == 2
    none = converter(schemas_cache_size="0")
    assert none.decode("t", none.encode("t", INT32, 1)) == (INT32, 1)
