"""Avro schemas: what is refused and with which words, what counts as the same schema, other forms, search."""

from __future__ import annotations

import orjson
import pytest

from caudal.registry.schemas.avro.schema import AvroSchema
from caudal.registry.schemas.compatibility import differences
from caudal.registry.schemas.parse import parse
from caudal.registry.schemas.schema import Field, InvalidSchema, Reference, Resolved


def record(*fields: str, name: str = "R") -> str:
    return f'{{"type":"record","name":"{name}","fields":[{",".join(fields)}]}}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1, column 1"),
        ('{"type":"record",', "line 1, column 18"),
        ('"int" "long"', "extra data"),
        ("nul", "Not valid JSON"),
        ("NaN", "NaN is not a JSON number"),
        ("1e999", "too large"),
        ('"\\ud800"', "surrogate"),
        ("5", "must be a name, an object or an array"),
        ('"integer"', "'integer' at / is not known"),
        ("{}", "has no attribute 'type'"),
        ('{"type":{"type":"int"}}', "must be a name"),
        ('{"type":"array"}', "has no 'items'"),
        ('{"type":"map"}', "has no 'values'"),
        ('{"type":"record","fields":[]}', "has no name"),
        ('{"type":"record","name":"R"}', "has no 'fields'"),
        ('{"type":"record","name":"R","fields":{}}', "not an array"),
        ('{"type":"record","name":"1R","fields":[]}', '"1R", which is no name'),
        ('{"type":"record","name":"int","fields":[]}', "name of the primitive type 'int'"),
        (record("7"), "/fields/0 is 7"),
        (record('{"type":"int"}'), "/fields/0 of 'R' has no name"),
        (record('{"name":"a-b","type":"int"}'), '"a-b", which is no name'),
        (record('{"name":"a"}'), "'a' at /fields/0 has no type"),
        (record('{"name":"a","type":"Missing"}'), "'Missing' at /fields/0/type is not known"),
        (record('{"name":"a","type":"int"}', '{"name":"a","type":"int"}'), "two fields 'a'"),
        (record('{"name":"a","type":"int","default":"x"}'), "default of field 'a' at /fields/0"),
        (record('{"name":"a","type":"int","default":2147483648}'), "2147483648 is not of type int"),
        (record('{"name":"a","type":"boolean","default":0}'), "0 is not of type boolean"),
        (record('{"name":"a","type":["null","int"],"default":"x"}'), '"x" is not of type null or int'),
        (record('{"name":"a","type":{"type":"array","items":"int"},"default":[1,"x"]}'), '"x" is not of type int'),
        (record('{"name":"a","type":{"type":"map","values":"int"},"default":{"k":null}}'), "null is not of type int"),
        (record('{"name":"a","type":"R","default":{}}'), "without end"),
        (record('{"name":"a","type":"bytes","default":"€"}'), "is not of type bytes"),
        (record('{"name":"a","type":"int","order":"up"}'), "allowed: ascending"),
        (record('{"name":"a","type":"int","aliases":"b"}'), "aliases of field 'a'"),
        ('{"type":"record","name":"R","aliases":[1],"fields":[]}', "aliases of the type"),
        ('{"type":"enum","name":"E"}', "has no 'symbols'"),
        ('{"type":"enum","name":"E","symbols":["A","A"]}', "symbol 'A' twice"),
        ('{"type":"enum","name":"E","symbols":["A B"]}', '"A B"'),
        ('{"type":"enum","name":"E","symbols":["A"],"default":"B"}', "none of its symbols"),
        ('{"type":"enum","name":"E","symbols":["A"],"default":["A"]}', "none of its symbols"),
        ('{"type":"fixed","name":"F"}', "has no 'size'"),
        ('{"type":"fixed","name":"F","size":-1}', "not a count of bytes"),
        ('{"type":"fixed","name":"F","size":true}', "not a count of bytes"),
        ('["int","int"]', "'int' twice"),
        ('[["int"]]', "unions do not nest"),
        ('[{"type":"fixed","name":"F","size":1},{"type":"fixed","name":"F","size":2}]', "'F' at /1 is defined already"),
        ("[" * 100_000, "levels deep"),
        ('{"type":"array","items":' * 200 + '"int"' + "}" * 200, "levels deep"),
        ("9" * 10_000, "Not valid JSON"),
    ],
)
def test_invalid_schemas_are_refused_with_place_and_reason(text: str, words: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("AVRO", text)
    assert words in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_long_chain_of_types_neither_crashes_nor_hides() -> None:
    def chain(last: str) -> AvroSchema:
        types = [{"type": "record", "name": "T0", "fields": [{"name": "a", "type": last}]}]
        types += [
            {"type": "record", "name": f"T{n}", "fields": [{"name": "a", "type": f"T{n - 1}"}]} for n in range(1, 3000)
        ]
        return AvroSchema(orjson.dumps(types).decode())

    assert differences("BACKWARD", chain("string"), [chain("int")])
    assert len(list(chain("int").fields())) == 5000


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ('{"type": "string"}', '"string"'),
        ('{"type":"int","logicalType":"date"}', '{"type":"int","logicalType":"date"}'),
        (
            '{"fields":[{"type":"int","name":"a","default":1,"doc":"é"}],"name":"a.b.R","type":"record"}',
            '{"type":"record","name":"R","namespace":"a.b","fields":[{"name":"a","type":"int","doc":"é","default":1}]}',
        ),
        (
            '{"type":"record","namespace":"n","name":"R","x":{"b":1,"a":2},"aliases":["S","m.T"],"doc":"",'
            '"fields":[{"name":"r","type":["null","n.R"],"order":"ascending"},'
            '{"name":"e","type":{"type":"enum","name":"m.E","symbols":["A"],"default":"A"},"order":"DESCENDING"},'
            '{"name":"f","type":"m.E"}]}',
            '{"type":"record","name":"R","namespace":"n","doc":"","fields":[{"name":"r","type":["null","R"]},'
            '{"name":"e","type":{"type":"enum","name":"E","namespace":"m","symbols":["A"],"default":"A"},'
            '"order":"descending"},{"name":"f","type":"m.E"}],"x":{"b":1,"a":2},"aliases":["S","m.T"]}',
        ),
        ('[ "null" , {"type":"fixed","size":2,"name":"F"} ]', '["null",{"type":"fixed","name":"F","size":2}]'),
    ],
)
def test_the_stored_text_is_the_one_of_avros_parser(given: str, stored: str) -> None:
    schema = parse("AVRO", given)
    assert schema.text == schema.identity == stored
    assert parse("AVRO", stored).text == stored


def test_what_counts_for_the_identity() -> None:
    base = record('{"name":"a","type":"int"}')
    assert parse("AVRO", base).identity == parse("AVRO", base.replace(",", " , ")).identity
    for other in (
        record('{"name":"a","type":"int","doc":"d"}'),
        record('{"name":"a","type":"int","default":0}'),
        record('{"name":"a","type":"int","aliases":["b"]}'),
        record('{"name":"a","type":"int","mine":1}'),
        record('{"name":"a","type":"int"}', name="S"),
    ):
        assert parse("AVRO", other).identity != parse("AVRO", base).identity


def test_normalised_schemas_do_not_show_the_order_of_properties_and_aliases() -> None:
    first = '{"type":"record","name":"R","doc":"","aliases":["B","A"],"y":1,"x":{"b":1,"a":2},"fields":[{"name":"d",'
    first += '"type":{"type":"bytes","scale":2,"precision":4,"logicalType":"decimal"},"q":1,"p":2}]}'
    second = '{"type":"record","name":"R","aliases":["A","B"],"x":{"a":2,"b":1},"y":1,"fields":[{"name":"d",'
    second += '"type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2},"p":2,"q":1}]}'
    assert parse("AVRO", first).identity != parse("AVRO", second).identity
    assert parse("AVRO", first).normalized().identity == parse("AVRO", second).normalized().identity
    normal = parse("AVRO", first).normalized()
    assert normal.normalized().text == normal.text


def test_references() -> None:
    address = parse(
        "AVRO", '{"type":"record","name":"Address","namespace":"geo","fields":[{"name":"city","type":"string"}]}'
    )
    to_address = Resolved(Reference("geo.Address", "address", 1), address)
    person = parse("AVRO", record('{"name":"home","type":"geo.Address"}', name="geo.Person"), [to_address])
    assert person.references == (to_address.reference,)
    assert person.text == (
        '{"type":"record","name":"Person","namespace":"geo","fields":[{"name":"home","type":"Address"}]}'
    )
    assert person.formatted("resolved") == (
        '{"type":"record","name":"Person","namespace":"geo","fields":[{"name":"home","type":{"type":"record",'
        '"name":"Address","fields":[{"name":"city","type":"string"}]}}]}'
    )
    assert person.formatted("no such form") == person.text
    # references of references are known too
    to_person = Resolved(Reference("geo.Person", "person", 3), person)
    group = parse("AVRO", '{"type":"array","items":"geo.Address"}', [to_person])
    assert group.formatted("resolved").count("Address") == 1
    # the order and repetition of references does not show after normalising
    both = parse("AVRO", '["geo.Person","geo.Address"]', [to_person, to_address, to_person])
    assert both.normalized().references == (to_address.reference, to_person.reference)
    with pytest.raises(InvalidSchema, match=r"'geo\.Address' at / is defined already"):
        parse("AVRO", record(name="geo.Address"), [to_address])


def test_fields_for_search() -> None:
    schema = parse(
        "AVRO",
        record(
            '{"name":"id","type":{"type":"long","logicalType":"timestamp-millis"},"doc":"when"}',
            '{"name":"mail","type":"string","confluent:tags":["PII"]}',
            '{"name":"next","type":["null","R"]}',
            '{"name":"lines","type":{"type":"array","items":'
            + record('{"name":"sku","type":{"type":"string","confluent:tags":["KEY"]}}', name="Line")
            + "}}",
        ),
    )
    assert schema.name == "R"
    assert list(schema.fields()) == [
        Field("id", "long (timestamp-millis)", "when", ()),
        Field("mail", "string", "", ("PII",)),
        Field("next", "null or R", "", ()),
        Field("lines", "array of Line", "", ()),
        Field("lines.sku", "string", "", ("KEY",)),
    ]


def test_names_of_types_that_are_not_there() -> None:
    assert parse("AVRO", '"int"').name is None
    with pytest.raises(InvalidSchema, match="known are AVRO, JSON, PROTOBUF"):
        parse("XML", "<a/>")
