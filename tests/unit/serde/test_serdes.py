"""Serdes write what Kafka's own write (the bytes were printed by the Java classes of 4.3), read it back, and say in one
sentence what they cannot do."""

from __future__ import annotations

import pickle
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.runtime.record import Change, Windowed
from caudal.serde import (
    Boolean,
    Bytes,
    ChangeSerde,
    Double,
    Float,
    Integer,
    Json,
    ListOf,
    Long,
    Null,
    Serde,
    SerdeError,
    SessionWindowed,
    Short,
    String,
    TimeWindowed,
    Uuid,
    Void,
    describe_serde,
    serde_from,
)
from caudal.serde.either import LeftOrRight
from caudal.serde.foreign_key import (
    Instruction,
    Subscription,
    SubscriptionResponse,
    SubscriptionResponseSerde,
    SubscriptionSerde,
    combined_key,
    foreign_key_prefix,
    split_combined_key,
    value_hash,
)

UUID_TEXT = b"00000000-0000-0001-0000-000000000002".hex()

JAVA_BYTES: list[tuple[Serde, Any, str]] = [
    (Long(), -2, "fffffffffffffffe"),
    (Integer(), 258, "00000102"),
    (Short(), -3, "fffd"),
    (Double(), 1.5, "3ff8000000000000"),
    (Float(), -0.25, "be800000"),
    (Boolean(), True, "01"),
    (Boolean(), False, "00"),
    (String(), "año", "61c3b16f"),
    (Bytes(), b"\x00raw", "00726177"),
    (Uuid(), uuid.UUID(int=(1 << 64) | 2), UUID_TEXT),
    (ListOf(Integer()), [1, None, 3], "000000000100000001000000030000000100000003"),
    (ListOf(String()), ["a", None, "bc"], "01000000030000000161ffffffff000000026263"),
    (ListOf(Uuid()), [uuid.UUID(int=(1 << 64) | 2)], "000000000000000001" + UUID_TEXT),
    (TimeWindowed(String(), 60_000), Windowed("ana", 60_000, 120_000), "616e61000000000000ea60"),
    (SessionWindowed(String()), Windowed("ana", 5, 9), "616e6100000000000000090000000000000005"),
    (ChangeSerde(String()), Change("new", None), "6e657701"),
    (ChangeSerde(String()), Change(None, "old"), "6f6c6400"),
    (ChangeSerde(String()), Change("n" * 70, "old"), "8c01" + "6e" * 70 + "6f6c6402"),
]


@pytest.mark.parametrize(("serde", "value", "data"), JAVA_BYTES, ids=lambda it: repr(it)[:30])
def test_writes_and_reads_the_bytes_of_kafkas_own_serdes(serde: Serde, value: Any, data: str) -> None:
    assert serde.serialize(value).hex() == data
    assert serde.deserialize(bytes.fromhex(data)) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_long_round_trip(number: int) -> None:
    assert Long().deserialize(Long().serialize(number)) == number


@given(st.lists(st.none() | st.text()))
def test_list_round_trip(texts: list[str | None]) -> None:
    serde = ListOf(ListOf(String()))
    assert serde.deserialize(serde.serialize([texts, texts])) == [texts, texts]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_json_round_trip(document: Any) -> None:
    assert Json().deserialize(Json().serialize(document)) == document


@given(st.text(min_size=0), st.text(min_size=0))
def test_change_round_trip(new: str, old: str) -> None:
    serde = ChangeSerde(String())
    assert serde.deserialize(serde.serialize(Change(new, old))) == Change(new, old)


@pytest.mark.parametrize(
    ("serde", "value", "cause"),
    [
        (Long(), "x", "Long() cannot write str 'x': a number is needed."),
        (Long(), 2**63, "it does not fit into 8 bytes"),
        (Long(), 1.5, "required argument is not an integer"),
        (Short(), 70_000, "it does not fit into 2 bytes"),
        (Float(), 1e300, "float too large"),
        (String(), 3, "String() cannot write int 3: text is needed."),
        (String("ascii"), "ñ", "String('ascii') cannot write str 'ñ'"),
        (Bytes(), "text", "bytes are needed"),
        (Boolean(), 1, "True or False is needed"),
        (Uuid(), "text", "a uuid.UUID is needed"),
        (Null(), 0, "only None is allowed"),
        (Json(), {1, 2}, "Json() cannot write set"),
        (ListOf(Long()), 3, "a list is needed"),
        (ListOf(Long()), ["x"], "a number is needed"),
        (TimeWindowed(String(), 1), "ana", "Windowed"),
        (SessionWindowed(String()), 3, "a Windowed is needed"),
        (ChangeSerde(String()), Change(None, None), "both None"),
        (LeftOrRight(String(), Long()), 3, "pair"),
    ],
    ids=lambda it: repr(it)[:30],
)
def test_what_it_cannot_write_is_said_in_one_sentence(serde: Serde, value: Any, cause: str) -> None:
    with pytest.raises(SerdeError) as raised:
        serde.serialize(value)
    assert cause in str(raised.value)
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("serde", "data", "cause"),
    [
        (Long(), b"123", "Long() cannot read b'123': 8 bytes are needed, not 3."),
        (Double(), b"", "8 bytes are needed, not 0"),
        (String(), b"\xff", "invalid start byte"),
        (Boolean(), b"\x02", "0 or 1"),
        (Uuid(), b"no", "badly formed"),
        (Json(), b"{", "Json() cannot read b'{'"),
        (Json(), b"x" * 100, "(100 bytes)"),
        (Null(), b"x", "only None"),
        (ListOf(Long()), b"", "too early"),
        (ListOf(Long()), b"\x07\x00\x00\x00\x00", "no kind of list"),
        (ListOf(String()), b"\x01\x00\x00\x00\x01\x00\x00\x00\x09a", "too early"),
        (TimeWindowed(String(), 1), b"1234567", "at least 8 bytes"),
        (SessionWindowed(String()), b"1234567", "at least 16 bytes"),
        (ChangeSerde(String()), b"", "at least one byte"),
        (ChangeSerde(String()), b"a\x09", "no kind of change"),
        (ChangeSerde(String()), b"\x10a\x02", "longer than the record"),
        (LeftOrRight(String(), Long()), b"\x09", "neither left nor right"),
        (SubscriptionSerde(String()), b"\x01", "range"),
        (SubscriptionSerde(String()), b"\x05\x00aaaaaaaaaa", "version 5"),
        (SubscriptionResponseSerde(String()), b"", "not known"),
    ],
    ids=lambda it: repr(it)[:30],
)
def test_what_it_cannot_read_is_said_in_one_sentence(serde: Serde, data: bytes, cause: str) -> None:
    with pytest.raises(SerdeError) as raised:
        serde.deserialize(data)
    assert cause in str(raised.value)
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


def test_equal_settings_are_equal_serdes() -> None:
    assert String() == String() and hash(String()) == hash(String())
    assert String() != String("ascii")
    assert Json() != Json(sort_keys=True)
    assert Long() != Integer()
    assert TimeWindowed(String(), 5) == TimeWindowed(String(), 5) != TimeWindowed(String(), 6)
    assert Void is Null


def test_sorted_json_has_one_form() -> None:
    assert Json(sort_keys=True).serialize({"b": 1, "a": 2}) == b'{"a":2,"b":1}'


@pytest.mark.parametrize(
    "serde",
    [
        String(),
        String("latin-1"),
        Long(),
        Json(),
        ListOf(Double()),
        TimeWindowed(SessionWindowed(Uuid()), 7),
        ChangeSerde(Json(sort_keys=True)),
        SubscriptionSerde(Bytes()),
    ],
    ids=repr,
)
def test_a_description_gives_the_serde_back(serde: Serde) -> None:
    assert serde_from(describe_serde(serde)) == serde
    assert pickle.loads(pickle.dumps(serde)) == serde


def test_a_users_serde_is_described_by_name_and_not_made_from_it() -> None:
    class Mine:
        def serialize(self, value: Any) -> bytes:
            return b""

        def deserialize(self, data: bytes) -> Any:
            return None

    description = describe_serde(Mine())
    assert description["custom"] is True and description["type"].endswith("Mine")
    with pytest.raises(SerdeError, match="There is no serde"):
        serde_from(description)


@pytest.mark.parametrize("instruction", Instruction)
@pytest.mark.parametrize("digest", [None, value_hash(b"x")])
def test_subscriptions_round_trip(instruction: Instruction, digest: bytes | None) -> None:
    serde = SubscriptionSerde(String())
    subscription = Subscription(digest, instruction, "primary", 3)
    assert serde.deserialize(serde.serialize(subscription)) == subscription


@pytest.mark.parametrize("value", [None, "right"])
@pytest.mark.parametrize("digest", [None, value_hash(b"x")])
def test_responses_round_trip_without_the_partition(value: str | None, digest: bytes | None) -> None:
    serde = SubscriptionResponseSerde(String())
    data = serde.serialize(SubscriptionResponse(digest, value, 3))
    assert serde.deserialize(data) == SubscriptionResponse(digest, value)


def test_subscriptions_of_one_foreign_key_lie_together() -> None:
    keys = sorted(combined_key(foreign, primary) for foreign in (b"a", b"ab", b"b") for primary in (b"1", b"2"))
    assert [key for key in keys if key.startswith(foreign_key_prefix(b"a"))] == [
        combined_key(b"a", b"1"),
        combined_key(b"a", b"2"),
    ]
    assert split_combined_key(combined_key(b"ab", b"1")) == (b"ab", b"1")
