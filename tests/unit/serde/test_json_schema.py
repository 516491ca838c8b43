"""Json with a schema: what is read, what is not and why, and what keeps the schema."""

from __future__ import annotations

import pytest

from caudal.serde import Json, SerdeError, describe_serde, serde_from
from caudal.streams import StreamsBuilder

ORDERS = Json(schema="user STRING, amount BIGINT, price double, paid BOOLEAN, `odd name` STRING")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (
            b'{"user":"ana","amount":3,"price":2.5,"paid":true}',
            {"user": "ana", "amount": 3, "price": 2.5, "paid": True},
        ),
        (b'{"x":[1],"amount":null}', {"x": [1], "amount": None}),
        (b'{"price":3}', {"price": 3.0}),
        (b"{}", {}),
    ],
)
def test_declared_fields_are_typed_and_others_stay(data: bytes, value: object) -> None:
    read = ORDERS.deserialize(data)
    assert read == value
    assert not isinstance(read.get("price"), int)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[1]", "an object is needed"),
        (b'{"user":1}', "the field 'user' is not STRING"),
        (b'{"amount":1.0}', "the field 'amount' is not BIGINT"),
        (b'{"amount":true}', "the field 'amount' is not BIGINT"),
        (b'{"amount":9223372036854775808}', "the field 'amount' is not BIGINT"),
        (b'{"price":"1"}', "the field 'price' is not DOUBLE"),
        (b'{"price":true}', "the field 'price' is not DOUBLE"),
        (b'{"paid":0}', "the field 'paid' is not BOOLEAN"),
        (b'{"odd name":[]}', "the field 'odd name' is not STRING"),
    ],
)
def test_other_types_cannot_be_read(data: bytes, said: str) -> None:
    with pytest.raises(SerdeError, match=said) as raised:
        ORDERS.deserialize(data)
    assert "Json(schema='user STRING" in str(raised.value)


@pytest.mark.parametrize("schema", ["", "user", "user TEXT", "user STRING,", "a STRING, a BIGINT", "a b STRING"])
def test_a_wrong_schema_is_said(schema: str) -> None:
    with pytest.raises(SerdeError, match=r"Json\(schema=\)"):
        Json(schema=schema)


def test_it_can_be_stored_and_compared() -> None:
    assert serde_from(describe_serde(ORDERS)) == ORDERS
    assert Json(schema="a STRING") != Json()
    assert hash(Json(schema="a STRING")) == hash(Json(schema="a STRING"))


def test_what_is_made_of_such_values_has_no_schema() -> None:
    stream = StreamsBuilder("app").stream("in", value=ORDERS)
    assert stream.filter("paid").select_key("user")._value == ORDERS
    assert stream.map_values("STRUCT(amount / 2 AS amount)")._value == Json()
    assert stream.map("(user, STRUCT(paid))")._value == Json()
