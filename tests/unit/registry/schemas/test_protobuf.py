"""Protobuf schemas: texts and descriptors, printing and reading back, references, options, fields for search."""

from __future__ import annotations

import base64

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from caudal.registry.schemas.parse import parse
from caudal.registry.schemas.protobuf.schema import ProtobufSchema, file_descriptor_set
from caudal.registry.schemas.schema import Field, InvalidSchema, ParsedSchema, Reference, Resolved

ADDRESS = """
package geo;
message Address {
  required string city = 1;
  optional group G = 2 { optional int32 a = 1; }
  extensions 100 to max;
  extensions 5, 6 to 9;
  optional float f = 3 [default = -inf];
  optional bytes b = 4 [default = "\\001\\"x"];
  optional E e = 10 [default = B];
  enum E { A = 1; B = 2; }
  optional string s = 11 [default = "a\\n\\"é\\\\"];
  oneof choice { int64 one = 20; group Two = 21 { optional bool t = 1; } }
  extend Address { optional string inner = 101; }
}
extend Address { optional string more = 100; }
"""

ORDER = """
// comments go
syntax = "proto3";
package shop.v1;
import public "google/protobuf/timestamp.proto";
import "confluent/meta.proto";
import "google/protobuf/descriptor.proto";
import "confluent/type/decimal.proto";
import "geo/address.proto";
option java_package = "x.y";
option (confluent.file_meta) = { doc: "a \\"q\\" é" tags: ["x", "y"] };
message Order {
  option deprecated = true;
  reserved 10, 20 to 29, 1000 to max;
  reserved "old";
  message Line { string sku = 1; map<string, Line> sub = 2; enum K { K0 = 0; } K k = 3; }
  string id = 1 [(confluent.field_meta).tags = "PII", (confluent.field_meta).doc = "the id", json_name = "ID"];
  repeated Line lines = 2;
  message First {}
  map<string, geo.Address> places = 3;
  message Second {}
  oneof pay { option (mine) = 7; string card = 4; Cash cash = 5; }
  optional int32 n = 6;
  google.protobuf.Timestamp at = 7;
  message Cash {}
  .shop.v1.Cash other = 9;
  repeated int32 z = 11 [packed = false];
  confluent.type.Decimal price = 12;
}
message Cash { double v = 1; }
enum State {
  option allow_alias = true;
  reserved 5, 7 to max;
  NONE = 0; NIL = 0; OPEN = 1 [(confluent.enum_value_meta).doc = "x"]; NEG = -1;
}
extend google.protobuf.OneofOptions { int32 mine = 50001; }
service S {
  option deprecated = true;
  rpc A(Order) returns (stream Cash);
  rpc B(stream Order) returns (Cash) { option idempotency_level = IDEMPOTENT; }
}
"""

EDITION = """
edition = "2023";
package e;
option features.field_presence = IMPLICIT;
message M {
  reserved gone;
  int32 a = 1 [features.field_presence = EXPLICIT];
  M child = 2 [features.message_encoding = DELIMITED];
}
"""


def address() -> Resolved:
    return Resolved(Reference("geo/address.proto", "address", 1), parse("PROTOBUF", ADDRESS))


def order() -> ProtobufSchema:
    return ProtobufSchema(ORDER, [address()])


@pytest.mark.parametrize(("text", "references"), [(ADDRESS, []), (ORDER, [address()]), (EDITION, [])])
def test_text_and_descriptor_give_each_other(text: str, references: list[Resolved]) -> None:
    schema = ProtobufSchema(text, references)
    again = ProtobufSchema(schema.text, references)
    assert (again.content, again.text) == (schema.content, schema.text)
    serialized = ProtobufSchema(schema.formatted("serialized"), references)
    assert (serialized.content, serialized.text, serialized.identity) == (schema.content, schema.text, schema.identity)
    normal = schema.normalized()
    assert normal.normalized().text == normal.text
    assert not schema.reads(normal) and not normal.reads(schema)
    assert not schema.reads(schema)


def test_what_the_text_looks_like() -> None:
    assert parse(
        "PROTOBUF",
        'syntax="proto3"; package p;  message A{map<string,B.C> m=1; message N{} N n=2;} message B{message C{}}',
    ).text == (
        'syntax = "proto3";\npackage p;\n\n'
        "message A {\n  map<string, B.C> m = 1;\n  A.N n = 2;\n  message N {\n  }\n}\n\n"
        "message B {\n  message C {\n  }\n}\n"
    )


def test_the_order_of_messages_is_kept_for_their_numbers() -> None:
    file = descriptor_pb2.FileDescriptorProto.FromString(order().content)
    nested = [kind.name for kind in file.message_type[0].nested_type]
    assert nested == ["Line", "First", "PlacesEntry", "Second", "Cash"]


def test_normalised_schemas_do_not_show_the_order_of_fields_and_imports() -> None:
    one = """syntax = "proto3"; import "google/protobuf/any.proto"; import public "google/protobuf/api.proto";
             message A { string b = 2; oneof o { int32 d = 5; int32 c = 4; } int32 a = 1; reserved 9, 7; }
             enum E { X = 0; Z = 2; Y = 1; }"""
    two = """syntax = "proto3"; import public "google/protobuf/api.proto"; import "google/protobuf/any.proto";
             message A { reserved 7, 9; int32 a = 1; string b = 2; oneof o { int32 c = 4; int32 d = 5; } }
             enum E { X = 0; Y = 1; Z = 2; }"""
    assert parse("PROTOBUF", one).identity != parse("PROTOBUF", two).identity
    assert parse("PROTOBUF", one).normalized().identity == parse("PROTOBUF", two).normalized().identity


def test_a_descriptor_as_confluents_serializer_registers_it() -> None:
    file = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(file)
    for field in file.message_type[0].field:
        field.json_name = field.name  # as some tools write it: not a choice of anybody
    schema = parse("PROTOBUF", base64.b64encode(file.SerializeToString()).decode())
    assert schema.name == "google.protobuf.Timestamp"
    assert "json_name" not in schema.text
    assert parse("PROTOBUF", schema.text).identity == schema.identity


def test_the_descriptor_set_is_enough_to_build_messages() -> None:
    files = file_descriptor_set(order())
    names = [file.name for file in files.file]
    assert names.index("google/protobuf/descriptor.proto") < names.index("confluent/meta.proto")
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.v1.Order"))
    made = kind(id="1", places={"home": {"city": "Ulm"}})
    assert kind.FromString(made.SerializeToString()).places["home"].city == "Ulm"
    with pytest.raises(TypeError, match="AVRO"):
        file_descriptor_set(parse("AVRO", '"int"'))


def test_fields_for_search() -> None:
    fields = {field.path: field for field in order().fields()}
    assert fields["id"] == Field("id", "string", "the id", ("PII",))
    assert fields["lines"].type == "repeated shop.v1.Order.Line"
    assert fields["lines.sub"].type == "map of shop.v1.Order.Line"
    assert fields["places.city"].type == "string"
    assert fields["at"].type == "google.protobuf.Timestamp"
    assert "at.seconds" not in fields and "lines.sub.sku" not in fields
    assert fields["Cash.v"].type == "double"
    assert order().name == "shop.v1.Order"


def test_references() -> None:
    assert order().references == (address().reference,)
    to_order = Resolved(Reference("order.proto", "order", 1), order())
    text = 'syntax = "proto3"; import "order.proto"; message Batch { repeated shop.v1.Order orders = 1; }'
    batch = ProtobufSchema(text, [to_order])
    assert "geo/address.proto" in batch.imports
    # a file that every schema may import stays what it is, even when a client registers it as a reference
    stamp = Resolved(Reference("google/protobuf/timestamp.proto", "t", 1), parse("PROTOBUF", ADDRESS))
    text = 'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message A { google.protobuf.Timestamp t = 1; }'
    assert ProtobufSchema(text, [stamp]).name == "A"


def b64(**parts: object) -> str:
    return base64.b64encode(descriptor_pb2.FileDescriptorProto(**parts).SerializeToString()).decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("message {", "line 1, column 9"),
        ('syntax = "proto3";\nmessage A {\n  Foo f = 1;\n}', 'line 3, column 3: "Foo" is not defined'),
        ("message A { optional int32 a = 1; optional int32 b = 1; }", "already been used"),
        ("message A { optional int32 a = 0; }", "positive"),
        ("message A {} message A {}", "already defined"),
        ("enum E { }", "at least one value"),
        ('syntax = "proto3"; enum E { A = 1; }', "must be zero"),
        ('syntax = "proto9";', "proto9"),
        ('edition = "2024"; export message A { }', "only 2023"),
        ('edition = "1999";', "1999"),
        ('import "nope.proto";', "nope.proto"),
        ('import "caudal.schema.proto";', "caudal.schema.proto"),
        ('import "../../../etc/passwd";', "passwd"),
        ("hello", "line 1, column 1"),
        ("message A { \0 }", "NUL"),
        ("message A { \ud800 }", "surrogate"),
        ("message M {" * 5000, "recursion limit"),
        (b64(name="a", dependency=["nope.proto"]), "'nope.proto' is neither a reference"),
        (b64(name="a", message_type=[{"name": "A"}, {"name": "A"}]), "no valid descriptor"),
        (b64(name="a", message_type=[{"name": "A", "field": [{"name": "f", "number": 1, "type": 11}]}]), "descriptor"),
        ("AAAA", "line 1"),
    ],
)
def test_invalid_schemas_are_refused_with_place_and_reason(text: str, words: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("PROTOBUF", text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize(
    "name", ["../up.proto", "/etc/x.proto", "", "a\0b", "x" * 300, "caudal.schema.proto", "a/../../b"]
)
def test_names_of_references_never_leave_the_folder(name: str) -> None:
    other = Resolved(Reference(name, "s", 1), parse("PROTOBUF", "message A {}"))
    with pytest.raises(InvalidSchema, match="can import"):
        parse("PROTOBUF", "message B {}", [other])


def test_a_reference_cannot_be_a_file_and_a_folder() -> None:
    empty: ParsedSchema = parse("PROTOBUF", "message A {}")
    both = [Resolved(Reference(name, "s", 1), empty) for name in ("a", "a/b.proto")]
    with pytest.raises(InvalidSchema, match="a file and a folder"):
        parse("PROTOBUF", "message B {}", both)
