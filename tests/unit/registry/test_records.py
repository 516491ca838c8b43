"""The records of `_schemas`, byte by byte as Confluent's registry writes them."""

from __future__ import annotations

import pytest

from caudal.registry import records
from caudal.registry.records import BrokenRecord, Key, SchemaValue
from caudal.registry.schemas.schema import Reference


@pytest.mark.parametrize(
    ("key", "data"),
    [
        (Key("SCHEMA", "s", 2), b'{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}'),
        (Key("CONFIG"), b'{"keytype":"CONFIG","magic":0}'),
        (Key("CONFIG", "s"), b'{"keytype":"CONFIG","subject":"s","magic":0}'),
        (Key("MODE", "s"), b'{"keytype":"MODE","subject":"s","magic":0}'),
        (Key("DELETE_SUBJECT", "s"), b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}'),
        (Key("CLEAR_SUBJECT", "s"), b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}'),
        (Key("CONTEXT", ".c"), b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}'),
    ],
)
def test_keys(key: Key, data: bytes) -> None:
    assert records.encode_key(key) == data
    assert records.decode_key(data) == key


def test_an_older_way_to_write_the_global_config() -> None:
    assert records.decode_key(b'{"keytype":"CONFIG","subject":null,"magic":0}') == Key("CONFIG")


@pytest.mark.parametrize("kind", ["NOOP", "ASSOC", "SOMETHING_LATER"])
def test_keys_that_mean_nothing_here_are_passed_over(kind: str) -> None:
    assert records.decode_key(b'{"keytype":"%s","magic":0}' % kind.encode()) is None


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"\x00\x01",
        b"[]",
        b"{}",
        b'{"keytype":1}',
        b'{"keytype":"SCHEMA","magic":1}',
        b'{"keytype":"SCHEMA","subject":"s","version":0}',
        b'{"keytype":"SCHEMA","subject":"s","version":"1"}',
        b'{"keytype":"SCHEMA","subject":"s","version":true}',
        b'{"keytype":"CONFIG","subject":5}',
        b'{"keytype":"DELETE_SUBJECT"}',
        b'{"keytype":"CONTEXT"}',
    ],
)
def test_broken_keys(data: bytes | None) -> None:
    with pytest.raises(BrokenRecord):
        records.decode_key(data)


def test_a_schema_there_and_back() -> None:
    value = SchemaValue(
        "s",
        1,
        7,
        "JSON",
        "{}",
        (Reference("r", "t", 2),),
        {"properties": {"owner": "me"}},
        {"domainRules": [{"name": "x"}]},
        deleted=True,
    )
    key, data = records.encode_schema(value, b"0123456789abcdef")
    assert data is not None
    decoded_key = records.decode_key(key)
    assert decoded_key == Key("SCHEMA", "s", 1)
    assert decoded_key is not None
    assert records.decode_schema(decoded_key, data) == value
    fields = b'"subject":"s","version":1,"id":7,"md5":"MDEyMzQ1Njc4OWFiY2RlZg==","schemaType":"JSON","references":'
    assert data.startswith(b"{" + fields)


def test_avro_is_not_named() -> None:
    value = SchemaValue("s", 1, 7, "AVRO", '"int"', (), None, None, deleted=False)
    _, data = records.encode_schema(value, bytes(16))
    assert data == (
        b'{"subject":"s","version":1,"id":7,"md5":"AAAAAAAAAAAAAAAAAAAAAA==","schema":"\\"int\\"","deleted":false}'
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"{}",
        b'{"id":1}',
        b'{"schema":"x"}',
        b'{"id":-1,"schema":"x"}',
        b'{"id":"1","schema":"x"}',
        b'{"id":99999999999,"schema":"x"}',
        b'{"id":1,"schema":5}',
        b'{"id":1,"schema":"x","schemaType":5}',
        b'{"id":1,"schema":"x","references":{}}',
        b'{"id":1,"schema":"x","references":[{"name":"a"}]}',
        b'{"id":1,"schema":"x","metadata":[]}',
    ],
)
def test_broken_values(data: bytes) -> None:
    with pytest.raises(BrokenRecord):
        records.decode_schema(Key("SCHEMA", "s", 1), data)
