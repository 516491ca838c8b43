"""CREATE and ALTER statements that are refused: the sentence and the place, marked in the text with «. Without a mark
the error is about the statement as a whole."""

from __future__ import annotations

import pytest

from caudal.ksql import types
from caudal.ksql.catalog import Catalog
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.ddl import altered, source_of
from caudal.ksql.formats.schemas import RegistrySchemas
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.statements import AlterSource, CreateSource
from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry

REGISTRY = "mock://ddl-errors"
OK = "kafka_topic='t', value_format='JSON'"
FORMATS = "NONE, KAFKA, DELIMITED, JSON, JSON_SR, AVRO, PROTOBUF, PROTOBUF_NOSR"
DURATION = "a duration such as '10 SECONDS' is needed, in milliseconds, seconds, minutes, hours or days"

COLUMNS = [
    (f"CREATE STREAM s (a INT, «a INT) WITH ({OK})", "Duplicate column names: `A`."),
    (f"CREATE STREAM s (k INT KEY, «k INT) WITH ({OK})", "Duplicate column names: `K`."),
    (f"CREATE STREAM s (a INT, `a` INT, «`a` INT) WITH ({OK})", "Duplicate column names: `a`."),
    *(
        (
            f"CREATE STREAM s (a INT,\n  «{name} BIGINT) WITH ({OK})",
            f"'{name}' is a reserved column name. You cannot use it as a name for a column.",
        )
        for name in ("ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND")
    ),
    (
        f"CREATE STREAM s («id INT PRIMARY KEY, a INT) WITH ({OK})",
        "Column `ID` is a 'PRIMARY KEY' column: please use 'KEY' for streams.",
    ),
    (
        f"CREATE TABLE s («id INT KEY, a INT) WITH ({OK})",
        "Column `ID` is a 'KEY' column: please use 'PRIMARY KEY' for tables.",
    ),
    (f"«CREATE TABLE s (a INT) WITH ({OK})", "Tables require a PRIMARY KEY. Please define the PRIMARY KEY."),
    (f"«CREATE STREAM s WITH ({OK})", "The statement does not define any columns."),
    (f"CREATE STREAM s (a «adres) WITH ({OK})", "Cannot resolve unknown type: ADRES. Did you mean 'ADDRESS'?"),
    (f"CREATE STREAM s (a «ARRAY<zzz>) WITH ({OK})", "Cannot resolve unknown type: ZZZ."),
    (
        f"CREATE STREAM s (a INT, «h STRING HEADERS) WITH ({OK})",
        "Invalid type for HEADERS column: expected ARRAY<STRUCT<KEY STRING, VALUE BYTES>>, got STRING.",
    ),
    (
        f"CREATE STREAM s (a INT, «h ARRAY<STRUCT<key STRING, value STRING>> HEADERS) WITH ({OK})",
        "Invalid type for HEADERS column: expected ARRAY<STRUCT<KEY STRING, VALUE BYTES>>, got "
        "ARRAY<STRUCT<KEY STRING, VALUE STRING>>.",
    ),
    (
        f"CREATE STREAM s (a INT, «h STRING HEADER('x')) WITH ({OK})",
        "Invalid type for HEADER('x') column: expected BYTES, got STRING.",
    ),
    (
        f"CREATE STREAM s (a INT, h BYTES HEADER('x'), «i BYTES HEADER('x')) WITH ({OK})",
        "Schema already contains a HEADER('x') column.",
    ),
    (
        "CREATE STREAM s (a ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, "
        f"«b ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH ({OK})",
        "Schema already contains a HEADERS column.",
    ),
    (
        f"CREATE STREAM s (a ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, «b BYTES HEADER('x')) WITH ({OK})",
        "Schema already contains a HEADERS column: HEADERS has all of them.",
    ),
    (
        f"CREATE STREAM s (b BYTES HEADER('x'), «a ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH ({OK})",
        "Schema already contains a HEADER('x') column: HEADERS has all of them.",
    ),
]

WITH = [
    (
        "CREATE STREAM s (a INT) WITH (value_format='JSON')",
        'Missing required property "KAFKA_TOPIC" which has no default value.',
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t')",
        "Statement is missing the 'VALUE_FORMAT' property from the WITH clause. Either provide one or set a default "
        "via "
        "the 'ksql.persistence.default.format.value' config.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «valeu_format='JSON')",
        "Invalid config variable(s) in the WITH clause: VALEU_FORMAT. Did you mean 'VALUE_FORMAT'?",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «something='JSON')",
        "Invalid config variable(s) in the WITH clause: SOMETHING.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «query_id='q')",
        "Invalid config variable(s) in the WITH clause of CREATE: QUERY_ID.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «kafka_topic='u')",
        "The property KAFKA_TOPIC is given twice.",
    ),
    (
        "CREATE STREAM s (a INT) WITH («kafka_topic='', value_format='JSON')",
        "Invalid value '' for property KAFKA_TOPIC: it must not be empty.",
    ),
    (
        "CREATE STREAM s (a INT) WITH («kafka_topic=5, value_format='JSON')",
        "Invalid value 5 for property KAFKA_TOPIC: a text in quotes is needed.",
    ),
    (
        "CREATE STREAM s (a INT) WITH («kafka_topic='a b', value_format='JSON')",
        "Invalid value 'a b' for property KAFKA_TOPIC: a topic's name has letters, digits, '.', '_' and '-', at most "
        "249 "
        "of them.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', «value_format='JASON')",
        f"Invalid value 'JASON' for property VALUE_FORMAT: Unknown format: JASON. Did you mean 'JSON'? "
        f"There are: {FORMATS}.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «key_format='XML')",
        f"Invalid value 'XML' for property KEY_FORMAT: Unknown format: XML. There are: {FORMATS}.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', «value_format=true)",
        "Invalid value true for property VALUE_FORMAT: a text in quotes is needed.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «partitions='many')",
        "Invalid value 'many' for property PARTITIONS: a whole number is needed.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «partitions=0)",
        "Invalid value 0 for property PARTITIONS: it must be at least 1.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «partitions=1.5)",
        "Invalid value 1.5 for property PARTITIONS: a whole number is needed.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «partitions=3000000000)",
        "Invalid value 3000000000 for property PARTITIONS: it must be at most 2147483647.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «replicas=-1)",
        "Invalid value -1 for property REPLICAS: it must be at least 1.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «replicas=true)",
        "Invalid value true for property REPLICAS: a whole number is needed.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «cleanup_policy='compct')",
        "Invalid value 'compct' for property CLEANUP_POLICY: it is one of COMPACT, DELETE, COMPACT,DELETE. Did you "
        "mean "
        "'COMPACT'?",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «retention_ms='week')",
        "Invalid value 'week' for property RETENTION_MS: a whole number is needed.",
    ),
    (
        f"CREATE TABLE s (a INT PRIMARY KEY) WITH ({OK}, «retention_ms=1000)",
        "Invalid config variable in the WITH clause: RETENTION_MS. Non-windowed tables do not support retention.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', format='JSON', «key_format='KAFKA')",
        "Cannot supply both 'KEY_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets both key and value formats. Either "
        "use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', «value_format='JSON', format='JSON')",
        "Cannot supply both 'VALUE_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets both key and value formats. "
        "Either "
        "use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO', value_schema_full_name='a.B', "
        "«value_avro_schema_full_name='a.B')",
        "Cannot supply both 'VALUE_AVRO_SCHEMA_FULL_NAME' and 'VALUE_SCHEMA_FULL_NAME' properties. Please only set "
        "'VALUE_SCHEMA_FULL_NAME'.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «value_schema_full_name='a.B')",
        "'VALUE_SCHEMA_FULL_NAME' is only valid with the format AVRO, JSON_SR or PROTOBUF, and the value format is "
        "JSON.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='PROTOBUF', «value_avro_schema_full_name='a.B')",
        "'VALUE_AVRO_SCHEMA_FULL_NAME' is only valid with the format AVRO, and the value format is PROTOBUF.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «key_schema_full_name='a.B')",
        "'KEY_SCHEMA_FULL_NAME' is only valid with the format AVRO, JSON_SR or PROTOBUF, and the key format is KAFKA.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO', «value_schema_full_name='a b')",
        "Invalid value 'a b' for property VALUE_SCHEMA_FULL_NAME: a name such as com.example.Order is needed.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «value_delimiter='|')",
        "'VALUE_DELIMITER' is only valid with the format DELIMITED, and the value format is JSON.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «key_delimiter='|')",
        "'KEY_DELIMITER' is only valid with the format DELIMITED, and the key format is KAFKA.",
    ),
    *(
        (
            f"CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='DELIMITED', «value_delimiter='{text}')",
            f"Invalid value '{text}' for property VALUE_DELIMITER: a delimiter is a single character, or SPACE, or "
            f"TAB.",
        )
        for text in ("ab", " ", '"')
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «value_protobuf_nullable_representation='OPTIONAL')",
        "'VALUE_PROTOBUF_NULLABLE_REPRESENTATION' is only valid with the format PROTOBUF or PROTOBUF_NOSR, and the "
        "value "
        "format is JSON.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='PROTOBUF', "
        "«value_protobuf_nullable_representation='OPTIONEL')",
        "Invalid value 'OPTIONEL' for property VALUE_PROTOBUF_NULLABLE_REPRESENTATION: it is one of OPTIONAL, WRAPPER. "
        "Did you mean 'OPTIONAL'?",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «value_schema_id=1)",
        "VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID is provided. Current format is JSON.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «key_schema_id=1)",
        "KEY_FORMAT should support schema inference when KEY_SCHEMA_ID is provided. Current format is KAFKA.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO', «value_schema_id=1)",
        "Table elements and VALUE_SCHEMA_ID cannot both exist for create statement.",
    ),
    (
        "CREATE STREAM s (k INT KEY) WITH (kafka_topic='t', format='AVRO', «key_schema_id=1)",
        "Table elements and KEY_SCHEMA_ID cannot both exist for create statement.",
    ),
    (
        f"CREATE STREAM s (k INT KEY, a INT) WITH ({OK}, «window_type='TUMBLING')",
        "TUMBLING windows require 'WINDOW_SIZE' to be provided in the WITH clause. For example: WINDOW_SIZE='10 "
        "SECONDS'.",
    ),
    (
        f"CREATE STREAM s (k INT KEY, a INT) WITH ({OK}, «window_type='HOPPING')",
        "HOPPING windows require 'WINDOW_SIZE' to be provided in the WITH clause. For example: WINDOW_SIZE='10 "
        "SECONDS'.",
    ),
    (
        f"CREATE STREAM s (k INT KEY, a INT) WITH ({OK}, window_type='SESSION', «window_size='5 SECONDS')",
        "'WINDOW_SIZE' should not be set for SESSION windows.",
    ),
    (
        f"CREATE STREAM s (k INT KEY, a INT) WITH ({OK}, «window_size='5 SECONDS')",
        "'WINDOW_SIZE' needs 'WINDOW_TYPE': TUMBLING or HOPPING.",
    ),
    (
        f"CREATE STREAM s (k INT KEY, a INT) WITH ({OK}, «window_type='SLIDING')",
        "Invalid value 'SLIDING' for property WINDOW_TYPE: it is one of TUMBLING, HOPPING, SESSION.",
    ),
    *(
        (
            f"CREATE STREAM s (k INT KEY, a INT) WITH ({OK}, window_type='TUMBLING', «window_size='{text}')",
            f"Invalid value '{text}' for property WINDOW_SIZE: {why}.",
        )
        for text, why in (
            ("5", DURATION),
            ("five SECONDS", DURATION),
            ("5 FORTNIGHTS", DURATION),
            ("0 SECONDS", "it must be greater than zero"),
        )
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «window_type='SESSION')",
        "Windowed sources require a key column.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «ttl='7 days')",
        "'TTL' is only valid for tables: a stream's rows go with its topic's retention.",
    ),
    (
        f"CREATE TABLE s (a INT PRIMARY KEY) WITH ({OK}, «ttl='soon')",
        f"Invalid value 'soon' for property TTL: {DURATION}.",
    ),
    (
        f"CREATE STREAM s (a INT) WITH ({OK}, «wrap_single_value='perhaps')",
        "Invalid value 'perhaps' for property WRAP_SINGLE_VALUE: true or false is needed.",
    ),
    (
        f"CREATE STREAM s (a INT, b INT) WITH ({OK}, «wrap_single_value=false)",
        "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='DELIMITED', «wrap_single_value=true)",
        "Format 'DELIMITED' does not support 'WRAP_SINGLE_VALUE' set to 'true'.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='PROTOBUF', «wrap_single_value=false)",
        "Format 'PROTOBUF' does not support 'WRAP_SINGLE_VALUE' set to 'false'.",
    ),
]

TIMESTAMPS = [
    (
        f"CREATE STREAM s (ts BIGINT) WITH ({OK}, «timestamp='whenever')",
        "The TIMESTAMP column set in the WITH clause does not exist in the schema: 'WHENEVER'.",
    ),
    (
        f"CREATE STREAM s (event_time BIGINT) WITH ({OK}, «timestamp='evnt_time')",
        "The TIMESTAMP column set in the WITH clause does not exist in the schema: 'EVNT_TIME'. Did you mean "
        "'EVENT_TIME'?",
    ),
    (
        f"CREATE STREAM s (ts INT) WITH ({OK}, «timestamp='ts')",
        "Timestamp column, TS, should be BIGINT, TIMESTAMP, or a STRING with a timestamp format specified, and it is "
        "INTEGER.",
    ),
    (
        f"CREATE STREAM s (ts STRING) WITH ({OK}, «timestamp='ts')",
        "Timestamp column, TS, should be BIGINT, TIMESTAMP, or a STRING with a timestamp format specified, and it is "
        "STRING.",
    ),
    (
        f"CREATE STREAM s (ts BIGINT) WITH ({OK}, timestamp='ts', «timestamp_format='yyyy')",
        "'TIMESTAMP_FORMAT' set, but the timestamp column TS with type BIGINT is not a STRING.",
    ),
    (
        f"CREATE STREAM s (ts STRING) WITH ({OK}, «timestamp_format='yyyy')",
        "'TIMESTAMP_FORMAT' needs 'TIMESTAMP', the column that it is about.",
    ),
    (
        f"CREATE STREAM s (a INT, ts BYTES HEADER('ts')) WITH ({OK}, «timestamp='ts')",
        "Timestamp column TS is a header, which cannot tell the time.",
    ),
    (
        f"CREATE STREAM s (ts STRING) WITH ({OK}, «timestamp='', timestamp_format='yyyy')",
        "Invalid value '' for property TIMESTAMP: it must not be empty.",
    ),
]

FORMAT_LIMITS = [
    (
        "CREATE STREAM s (a INT, «b INT) WITH (kafka_topic='t', value_format='KAFKA')",
        "The 'KAFKA' format only supports a single field. Got: [A INTEGER, B INTEGER]",
    ),
    (
        f"CREATE STREAM s (k INT KEY, «l INT KEY, b INT) WITH ({OK})",
        "The 'KAFKA' format only supports a single field. Got: [K INTEGER, L INTEGER]",
    ),
    *(
        (
            f"CREATE STREAM s («k {type} KEY, b INT) WITH ({OK})",
            f"The 'KAFKA' format does not support type '{base}', column: `K`.",
        )
        for type, base in (
            ("BOOLEAN", "BOOLEAN"),
            ("DECIMAL(4,2)", "DECIMAL"),
            ("DATE", "DATE"),
            ("ARRAY<INT>", "ARRAY"),
            ("STRUCT<a INT>", "STRUCT"),
        )
    ),
    *(
        (
            f"CREATE STREAM s (a INT, «b {type}) WITH (kafka_topic='t', value_format='DELIMITED')",
            f"The 'DELIMITED' format does not support type '{base}', column: `B`.",
        )
        for type, base in (("ARRAY<INT>", "ARRAY"), ("MAP<STRING,INT>", "MAP"), ("address", "STRUCT"))
    ),
    (
        f"CREATE STREAM s (a INT, «b MAP<INT, INT>) WITH ({OK})",
        "The 'JSON' format only supports MAP types with STRING keys, column: `B`.",
    ),
    (
        f"CREATE STREAM s (a INT, «b ARRAY<STRUCT<m MAP<INT, INT>>>) WITH ({OK})",
        "The 'JSON' format only supports MAP types with STRING keys, column: `B`.",
    ),
    (
        "CREATE STREAM s («k STRUCT<m MAP<STRING, INT>> KEY, a INT) WITH (kafka_topic='t', format='JSON')",
        "Map keys, including types that contain maps, are not supported as they may lead to unexpected behavior due to "
        "inconsistent serialization. Key column name: `K`. Column type: STRUCT<M MAP<STRING, INTEGER>>.",
    ),
    (
        "CREATE STREAM s («k INT KEY, a INT) WITH (kafka_topic='t', key_format='NONE', value_format='JSON')",
        "The 'NONE' format can only be used when no columns are defined. Got: [K INTEGER]",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', «value_format='NONE')",
        "The 'NONE' format can only be used for keys.",
    ),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', «format='NONE')",
        "The 'NONE' format can only be used for keys.",
    ),
    (
        "CREATE STREAM s (a INT, «`b c` INT) WITH (kafka_topic='t', value_format='AVRO')",
        "Schema is not compatible with Avro: Illegal name of a field: b c",
    ),
    (
        "CREATE STREAM s (a INT, «b STRUCT<`b c` INT>) WITH (kafka_topic='t', value_format='AVRO')",
        "Schema is not compatible with Avro: Illegal name of a field: b c",
    ),
    (
        "CREATE STREAM s (a INT, «`b-c` INT) WITH (kafka_topic='t', value_format='PROTOBUF')",
        "Schema is not compatible with Protobuf: Illegal name of a field: b-c",
    ),
    (
        "CREATE STREAM s (a INT, «b ARRAY<ARRAY<INT>>) WITH (kafka_topic='t', value_format='PROTOBUF_NOSR')",
        "The PROTOBUF format does not support ARRAY<ARRAY<INTEGER>>: arrays hold no arrays or maps there.",
    ),
]

INFERENCE = [
    (
        "CREATE STREAM s WITH (kafka_topic='absent', «value_format='AVRO')",
        "Schema for message values on topic 'absent' does not exist in the Schema Registry. Subject: absent-value. "
        "Name "
        "the columns in the statement, or register a schema for the subject.",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='users', «format='AVRO')",
        "Schema for message keys on topic 'users' does not exist in the Schema Registry. Subject: users-key. Name the "
        "columns in the statement, or register a schema for the subject.",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO', «value_schema_id=999)",
        "Schema for message values on topic 't' does not exist in the Schema Registry. Schema Id: 999.",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='users', «value_format='PROTOBUF')",
        "Value schema on topic 'users' is AVRO, and the format is PROTOBUF, which needs PROTOBUF.",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='single', «value_format='AVRO')",
        "Schema returned from schema registry is anonymous type. To use this schema with ksqlDB, set "
        "'WRAP_SINGLE_VALUE=false' in the WITH clause properties.",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='union', «value_format='AVRO')",
        "Unable to use the schema of the values on topic 'union': The Avro schema has a union of several types, which "
        "SQL has no type for: int, string.",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='tree', «value_format='AVRO')",
        "Unable to use the schema of the values on topic 'tree': The Avro schema refers to Node inside of itself, "
        "which "
        "SQL has no type for.",
    ),
    (
        "«CREATE TABLE s WITH (kafka_topic='users', value_format='AVRO')",
        "Tables require a PRIMARY KEY. Please define the PRIMARY KEY.",
    ),
    (
        "CREATE STREAM s (name INT KEY) WITH (kafka_topic='users', value_format='AVRO')",
        "The schema of the registry has a column `NAME` that the statement names as well; name all columns in the "
        "statement, or give the others another name.",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def subjects() -> None:
    forget_registry(REGISTRY)
    client = RegistryClient(REGISTRY)
    record = '{"type":"record","name":"%s","fields":[{"name":"name","type":%s}]}'
    client.register("users-value", record % ("User", '"string"'))
    client.register("single-value", '"long"')
    client.register("union-value", record % ("U", '["int", "string"]'))
    client.register("tree-value", record % ("Node", '["null", "Node"]'))


def catalog() -> Catalog:
    made = Catalog()
    made.types["ADDRESS"] = types.struct(("CITY", types.STRING))
    return made


def refused(text: str, message: str, make: object) -> None:
    sql = text.replace("«", "")
    with pytest.raises(KsqlError) as caught:
        make(sql)  # type: ignore[operator]
    assert str(caught.value) == message
    place = None if caught.value.at is None else caught.value.at.offset
    assert place == (text.index("«") if "«" in text else None)


@pytest.mark.parametrize(
    ("text", "message"), [*COLUMNS, *WITH, *TIMESTAMPS, *FORMAT_LIMITS, *INFERENCE], ids=lambda text: text[:90]
)
def test_create_is_refused(text: str, message: str) -> None:
    def create(sql: str) -> None:
        statement = parse_statement(sql)
        assert isinstance(statement, CreateSource)
        source_of(statement, catalog(), registry=RegistrySchemas(REGISTRY))

    refused(text, message, create)


def test_a_bad_timestamp_pattern_is_refused() -> None:
    statement = parse_statement(
        f"CREATE STREAM s (ts STRING) WITH ({OK}, timestamp='ts', timestamp_format='yyyy-QQQQQQ')"
    )
    assert isinstance(statement, CreateSource)
    with pytest.raises(KsqlError, match=r"^Invalid timestamp format 'yyyy-QQQQQQ': ") as caught:
        source_of(statement, catalog())
    assert caught.value.at == statement.properties[3].at


ORDERS = f"CREATE STREAM orders (id INT KEY, amount DOUBLE) WITH ({OK})"
ALTERED = [
    (
        ORDERS,
        "ALTER STREAM orders ADD COLUMN a INT, ADD COLUMN «a INT",
        "Cannot add column `A` to schema. A column with the same name already exists.",
    ),
    (
        ORDERS,
        "ALTER STREAM orders ADD COLUMN «amount INT",
        "Cannot add column `AMOUNT` to schema. A column with the same name already exists.",
    ),
    (
        ORDERS,
        "ALTER STREAM orders ADD COLUMN «id INT",
        "Cannot add column `ID` to schema. A column with the same name already exists.",
    ),
    (
        ORDERS,
        "«ALTER TABLE orders ADD COLUMN a INT",
        "Incompatible data source type is STREAM, but statement was ALTER TABLE.",
    ),
    (
        ORDERS,
        "ALTER STREAM orders ADD COLUMN «rowtime BIGINT",
        "'ROWTIME' is a reserved column name. You cannot use it as a name for a column.",
    ),
    (ORDERS, "ALTER STREAM orders ADD COLUMN a «nothing", "Cannot resolve unknown type: NOTHING."),
    (
        ORDERS.replace("JSON", "KAFKA"),
        "ALTER STREAM orders ADD COLUMN «a INT",
        "The 'KAFKA' format only supports a single field. Got: [AMOUNT DOUBLE, A INTEGER]",
    ),
    (
        ORDERS.replace("JSON", "DELIMITED"),
        "ALTER STREAM orders ADD COLUMN «a ARRAY<INT>",
        "The 'DELIMITED' format does not support type 'ARRAY', column: `A`.",
    ),
    (
        ORDERS.replace("'JSON'", "'JSON', wrap_single_value=false"),
        "ALTER STREAM orders ADD COLUMN «a INT",
        "Cannot alter stream 'ORDERS': its single value is not wrapped (WRAP_SINGLE_VALUE=false), so that there is no "
        "place "
        "for another column.",
    ),
    (
        ORDERS.replace("STREAM", "SOURCE STREAM"),
        "«ALTER STREAM orders ADD COLUMN a INT",
        "Cannot alter stream 'ORDERS': ALTER operations are not supported on source streams.",
    ),
]


@pytest.mark.parametrize(("created", "text", "message"), ALTERED, ids=lambda text: text[:90])
def test_alter_is_refused(created: str, text: str, message: str) -> None:
    statement = parse_statement(created)
    assert isinstance(statement, CreateSource)
    source = source_of(statement, catalog())

    def alter(sql: str) -> None:
        change = parse_statement(sql)
        assert isinstance(change, AlterSource)
        altered(source, change, catalog())

    refused(text, message, alter)


def test_a_querys_sink_cannot_be_altered() -> None:
    from dataclasses import replace

    statement = parse_statement(ORDERS)
    change = parse_statement("ALTER STREAM orders ADD COLUMN a INT")
    assert isinstance(statement, CreateSource) and isinstance(change, AlterSource)
    source = replace(source_of(statement, catalog()), query_id="CSAS_ORDERS_1")
    with pytest.raises(KsqlError, match=r"^ALTER command is not supported for CREATE ... AS statements.$"):
        altered(source, change, catalog())


def test_a_server_without_registry_says_so() -> None:
    statement = parse_statement("CREATE STREAM s WITH (kafka_topic='users', value_format='AVRO')")
    assert isinstance(statement, CreateSource)
    with pytest.raises(KsqlError, match="the server has none: name the columns in the statement"):
        source_of(statement, catalog(), registry=None)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (
            "ksql.persistence.default.format.value",
            "JASON",
            "Invalid value 'JASON' for config ksql.persistence.default.format.value: Unknown format: JASON. Did you "
            "mean "
            f"'JSON'? There are: {FORMATS}.",
        ),
        (
            "ksql.persistence.default.format.key",
            5,
            "Invalid value 5 for config ksql.persistence.default.format.key: a text in quotes is needed.",
        ),
    ],
)
def test_bad_defaults_are_named(setting: str, value: object, message: str) -> None:
    statement = parse_statement("CREATE STREAM s (a INT) WITH (kafka_topic='t')")
    assert isinstance(statement, CreateSource)
    with pytest.raises(KsqlError) as caught:
        source_of(statement, catalog(), statement_properties={setting: value})
    assert str(caught.value) == message
