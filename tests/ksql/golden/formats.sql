-- Formats of keys and values: what is in the topic, and from one to another.

--@test: JSON as it is written
CREATE STREAM s (k STRING KEY, a INT, b STRING, c DOUBLE, d BOOLEAN, e ARRAY<INT>, f MAP<STRING, INT>, g STRUCT<x INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1, 'q"', 1.5, TRUE, ARRAY[1, NULL], MAP('p' := 2), STRUCT(x := CAST(NULL AS INT)));
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='KAFKA');
ASSERT VALUES raw (k, v) VALUES ('x', '{"A":1,"B":"q\"","C":1.5,"D":true,"E":[1,null],"F":{"p":2},"G":{"X":null}}');

--@test: JSON of decimals, bytes and times
CREATE STREAM s (k STRING KEY, m DECIMAL(5, 2), b BYTES, d DATE, t TIME, ts TIMESTAMP)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1.5, TO_BYTES('ff', 'hex'), '1970-01-03', '00:00:01', '1970-01-01T00:00:02');
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='KAFKA');
ASSERT VALUES raw (v) VALUES ('{"M":1.50,"B":"/w==","D":2,"T":1000,"TS":2000}');

--@test: JSON as others write it
CREATE STREAM s (k STRING KEY, a INT, b STRING, c DOUBLE, d BIGINT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
--@record: s | x | {"a": 1, "unknown": [1, 2], "B": "text", "c": 2} | 1
--@record: s | x | {"b": 5, "A": null} | 2
--@record: s | x | {} | 3
ASSERT VALUES o (ROWTIME, k, a, b, c, d) VALUES (1, 'x', 1, 'text', 2.0, NULL);
ASSERT VALUES o (ROWTIME, k, a, b, c, d) VALUES (2, 'x', NULL, '5', NULL, NULL);
ASSERT VALUES o (ROWTIME, k, a, b, c, d) VALUES (3, 'x', NULL, NULL, NULL, NULL);

--@test: JSON numbers that do not fit are skipped
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
--@record: s | x | {"a": 3000000000} | 1
--@record: s | x | {"a": [1]} | 2
--@record: s | x | {"a": 7} | 3
ASSERT VALUES o (ROWTIME, a) VALUES (3, 7);

--@test: a single value without its object
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=FALSE);
CREATE STREAM o AS SELECT k, a + 1 AS b FROM s;
CREATE STREAM u WITH (WRAP_SINGLE_VALUE=FALSE) AS SELECT k, a * 2 AS b FROM s;
--@record: s | x | 4 | 1
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC='O', PARTITIONS=1, VALUE_FORMAT='KAFKA');
CREATE STREAM raw2 (v STRING) WITH (KAFKA_TOPIC='U', PARTITIONS=1, VALUE_FORMAT='KAFKA');
ASSERT VALUES raw (v) VALUES ('{"B":5}');
ASSERT VALUES raw2 (v) VALUES ('8');

--@test: an array as the single value
CREATE STREAM s (k STRING KEY, a ARRAY<STRING>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=FALSE);
CREATE STREAM o AS SELECT k, a[1] AS b FROM s;
--@record: s | x | ["p", "q"] | 1
ASSERT VALUES o (k, b) VALUES ('x', 'p');

--@test: keys in JSON
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
--@record: s | "x" | {"A": 1} | 1
INSERT INTO s (k, a) VALUES ('y', 2);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: a key of several columns in JSON
CREATE STREAM s (k STRING KEY, j INT KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='JSON');
CREATE STREAM o AS SELECT k, j, a FROM s;
--@record: s | {"K": "x", "J": 1} | {"A": 1} | 1
ASSERT VALUES o (k, j, a) VALUES ('x', 1, 1);

--@test: a struct as the key
CREATE STREAM s (k STRUCT<x INT, y STRING> KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='JSON');
CREATE STREAM o AS SELECT k, k->x AS x, a FROM s;
INSERT INTO s VALUES (STRUCT(x := 1, y := 'p'), 5);
ASSERT VALUES o (k, x, a) VALUES (STRUCT(x := 1, y := 'p'), 1, 5);

--@test: KAFKA numbers as bytes
CREATE STREAM s (k INT KEY, v BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='KAFKA');
CREATE STREAM o AS SELECT k, v + 1 AS w FROM s;
--@record: s | 0x00000007 | 0x00000000000000ff | 1
CREATE STREAM raw (k BYTES KEY, v BYTES) WITH (KAFKA_TOPIC='O', PARTITIONS=1, FORMAT='KAFKA');
ASSERT VALUES raw (k, v) VALUES (TO_BYTES('00000007', 'hex'), TO_BYTES('0000000000000100', 'hex'));

--@test: KAFKA values of the wrong length are skipped
CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='KAFKA');
CREATE STREAM o AS SELECT k, v AS w FROM s;
--@record: s | 0x00000007 | 0x0001 | 1
--@record: s | 0x00000007 | 0x00000001 | 2
ASSERT VALUES o (k, w) VALUES (7, 1);

--@test: KAFKA has one column
CREATE STREAM s (k INT KEY, v INT, w INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='KAFKA');
--@expected.error: KsqlError
--@expected.message: The 'KAFKA' format only supports a single field

--@test: KAFKA has no arrays
CREATE STREAM s (k INT KEY, v ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='KAFKA');
--@expected.error: KsqlError
--@expected.message: The 'KAFKA' format does not support type 'ARRAY'

--@test: DELIMITED
CREATE STREAM s (k STRING KEY, a INT, b STRING, c DOUBLE, d BOOLEAN, m DECIMAL(4, 2))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;
--@record: s | x | 1,"one, two",1.5,true,2.50 | 1
--@record: s | x | 2,,,, | 2
INSERT INTO s VALUES ('y', 3, 'a "b", c', NULL, FALSE, 1);
ASSERT VALUES o (k, a, b, c, d, m) VALUES ('x', 1, 'one, two', 1.5, TRUE, 2.50);
ASSERT VALUES o (k, a, b, c, d, m) VALUES ('x', 2, NULL, NULL, NULL, NULL);
ASSERT VALUES o (k, a, b, c, d, m) VALUES ('y', 3, 'a "b", c', NULL, FALSE, 1.00);

--@test: DELIMITED as it is written
CREATE STREAM s (k STRING KEY, a INT, b STRING, c STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
INSERT INTO s VALUES ('x', 1, 'p,q', NULL);
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='KAFKA');
ASSERT VALUES raw (v) VALUES ('1,"p,q",');

--@test: DELIMITED by a bar, in the result by a tab
CREATE STREAM s (k STRING KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='|');
CREATE STREAM o WITH (VALUE_DELIMITER='TAB') AS SELECT * FROM s;
--@record: s | x | 1|p,q | 1
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC='O', PARTITIONS=1, VALUE_FORMAT='KAFKA');
CREATE STREAM check WITH (VALUE_FORMAT='JSON') AS SELECT SPLIT(v, CHR(9)) AS parts FROM raw;
ASSERT VALUES check (parts) VALUES (ARRAY['1', 'p,q']);

--@test: DELIMITED by spaces
CREATE STREAM s (k STRING KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='SPACE');
CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;
--@record: s | x | 1 word | 1
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 'word');

--@test: DELIMITED keys
CREATE STREAM s (k STRING KEY, j INT KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='DELIMITED');
CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT * FROM s;
--@record: s | x,5 | {"A": 1} | 1
ASSERT VALUES o (k, j, a) VALUES ('x', 5, 1);

--@test: DELIMITED has no arrays
CREATE STREAM s (k STRING KEY, a ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
--@expected.error: KsqlError
--@expected.message: The 'DELIMITED' format does not support type 'ARRAY'

--@test: DELIMITED with too few columns is skipped
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
CREATE STREAM o AS SELECT * FROM s;
--@record: s | x | 1 | 1
--@record: s | x | 1,2 | 2
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 2);

--@test: a delimiter of two characters
CREATE STREAM s (k STRING KEY, a INT, b INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='::');
--@expected.error: KsqlError
--@expected.message: Invalid value '::' for property VALUE_DELIMITER

--@test: AVRO, and its columns from the registry
CREATE STREAM s (k STRING KEY, a INT, b STRING, c ARRAY<STRUCT<x INT>>, m DECIMAL(5, 2), d DATE)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
INSERT INTO s VALUES ('x', 1, NULL, ARRAY[STRUCT(x := 2)], 1.5, '2024-02-29');
CREATE STREAM r (k STRING KEY) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
CREATE STREAM o AS SELECT k, a, b, c[1]->x AS x, m, d FROM r;
ASSERT VALUES o (k, a, b, x, m, d) VALUES ('x', 1, NULL, 2, 1.50, '2024-02-29');
ASSERT STREAM r (k STRING KEY, a INT, b STRING, c ARRAY<STRUCT<x INT>>, m DECIMAL(5, 2), d DATE) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');

--@test: JSON_SR, and its columns from the registry
CREATE STREAM s (k STRING KEY, a BIGINT, b BOOLEAN, c MAP<STRING, DOUBLE>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON_SR');
INSERT INTO s VALUES ('x', 1, TRUE, MAP('p' := 1.5));
CREATE STREAM r (k STRING KEY) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON_SR');
CREATE STREAM o AS SELECT * FROM r;
ASSERT VALUES o (k, a, b, c) VALUES ('x', 1, TRUE, MAP('p' := 1.5));

--@test: PROTOBUF, and its columns from the registry
CREATE STREAM s (k STRING KEY, a INT, b STRING, c ARRAY<INT>, e STRUCT<x BIGINT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='PROTOBUF');
INSERT INTO s VALUES ('x', 1, 'one', ARRAY[1, 2], STRUCT(x := 5));
CREATE STREAM r (k STRING KEY) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='PROTOBUF');
CREATE STREAM o AS SELECT * FROM r;
ASSERT VALUES o (k, a, b, c, e) VALUES ('x', 1, 'one', ARRAY[1, 2], STRUCT(x := 5));

--@test: PROTOBUF writes a null as the type's default
CREATE STREAM s (k STRING KEY, a INT, b STRING, c BOOLEAN)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='PROTOBUF');
CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;
INSERT INTO s (k) VALUES ('x');
ASSERT VALUES o (k, a, b, c) VALUES ('x', 0, '', FALSE);

--@test: PROTOBUF with optional fields keeps nulls
CREATE STREAM s (k STRING KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='PROTOBUF', VALUE_PROTOBUF_NULLABLE_REPRESENTATION='OPTIONAL');
CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;
INSERT INTO s (k, b) VALUES ('x', '');
ASSERT VALUES o (k, a, b) VALUES ('x', NULL, '');

--@test: PROTOBUF with wrappers keeps nulls
CREATE STREAM s (k STRING KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='PROTOBUF', VALUE_PROTOBUF_NULLABLE_REPRESENTATION='WRAPPER');
CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;
INSERT INTO s (k, a) VALUES ('x', 0);
ASSERT VALUES o (k, a, b) VALUES ('x', 0, NULL);

--@test: PROTOBUF without a registry
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='PROTOBUF_NOSR');
CREATE STREAM o AS SELECT k, a + 1 AS c, b FROM s;
--@record: s | x | 0x08051203616263 | 1
ASSERT VALUES o (k, c, b) VALUES ('x', 6, 'abc');

--@test: keys in AVRO
CREATE STREAM s (k INT KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='AVRO');
CREATE STREAM o WITH (FORMAT='JSON') AS SELECT * FROM s;
INSERT INTO s VALUES (5, 1);
ASSERT VALUES o (k, a) VALUES (5, 1);

--@test: keys in PROTOBUF and JSON_SR
CREATE STREAM s (k INT KEY, j STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='PROTOBUF');
CREATE STREAM r (k INT KEY, j STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, FORMAT='JSON_SR');
INSERT INTO r SELECT * FROM s;
INSERT INTO s VALUES (5, 'p', 1);
ASSERT VALUES r (k, j, a) VALUES (5, 'p', 1);

--@test: a tombstone stays one in another format
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (VALUE_FORMAT='AVRO') AS SELECT k, a FROM s;
--@record: s | x | null | 1
INSERT INTO s (k, a) VALUES ('y', 1);
ASSERT NULL VALUES o (k) KEY ('x');
ASSERT VALUES o (k, a) VALUES ('y', 1);

--@test: values go from each format to the next
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
CREATE STREAM j WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;
CREATE STREAM a WITH (VALUE_FORMAT='AVRO') AS SELECT * FROM j;
CREATE STREAM p WITH (VALUE_FORMAT='PROTOBUF') AS SELECT * FROM a;
CREATE STREAM r WITH (VALUE_FORMAT='JSON_SR') AS SELECT * FROM p;
CREATE STREAM o WITH (VALUE_FORMAT='DELIMITED') AS SELECT * FROM r;
INSERT INTO s VALUES ('x', 1, 'one');
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 'one');

--@test: the key's format changes in a result
CREATE STREAM s (k INT KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT k, COUNT(*) AS c FROM s GROUP BY k;
CREATE TABLE raw (k STRING PRIMARY KEY, c BIGINT) WITH (KAFKA_TOPIC='O', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='KAFKA');
INSERT INTO s VALUES (5, 1);
ASSERT VALUES raw (k, c) VALUES ('5', 1);

--@test: keys without a format have no columns
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='NONE');
--@expected.error: KsqlError
--@expected.message: The 'NONE' format can only be used when no columns are defined

--@test: NONE is for keys
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='NONE');
--@expected.error: KsqlError
--@expected.message: The 'NONE' format can only be used for keys

--@test: a format that is not there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JOSN');
--@expected.error: KsqlError
--@expected.message: Unknown format: JOSN. Did you mean 'JSON'?

--@test: FORMAT is both
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='JSON', KEY_FORMAT='KAFKA');
--@expected.error: KsqlError
--@expected.message: Cannot supply both 'KEY_FORMAT' and 'FORMAT' properties

--@test: a KAFKA value is not wrapped
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='KAFKA', WRAP_SINGLE_VALUE=TRUE);
--@expected.error: KsqlError
--@expected.message: Format 'KAFKA' does not support 'WRAP_SINGLE_VALUE' set to 'true'

--@test: columns that no schema is there for
CREATE STREAM s WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
--@expected.error: KsqlError
--@expected.message: does not exist in the Schema Registry. Subject: s-value

--@test: columns must be there where no registry has them
CREATE STREAM s WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: The statement does not define any columns

--@test: columns from the registry before the first row
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
CREATE STREAM r (k STRING KEY) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
CREATE STREAM o AS SELECT k, a + 1 AS b FROM r;
INSERT INTO s VALUES ('x', 1);
ASSERT VALUES o (k, b) VALUES ('x', 2);
