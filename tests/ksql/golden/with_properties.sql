-- The properties of WITH, one by one, where another file does not have them.

--@test: REPLICAS and RETENTION_MS of a new topic
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, REPLICAS=1, RETENTION_MS=86400000, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (PARTITIONS=1, REPLICAS=1, RETENTION_MS=3600000) AS SELECT * FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: RETENTION_MS of a table that has no windows
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, RETENTION_MS=86400000, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Non-windowed tables do not support retention

--@test: names of properties in any case
CREATE STREAM s (k STRING KEY, a INT) WITH (kafka_topic='s', Partitions=1, value_format='json', key_format='Kafka');
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES s (k, a) VALUES ('x', 1);

--@test: the topic of a result
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (KAFKA_TOPIC='a-topic.of_its-own') AS SELECT * FROM s;
ASSERT TOPIC `a-topic.of_its-own`;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: a result has the formats of its source
CREATE STREAM s (k INT KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, KEY_FORMAT='JSON', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER=';');
CREATE STREAM o AS SELECT * FROM s;
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC='O', PARTITIONS=1, VALUE_FORMAT='KAFKA');
INSERT INTO s (k, a, b) VALUES (5, 1, 'x');
ASSERT VALUES raw (v) VALUES ('1;x');

--@test: a stream without a key, and a key format
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='NONE');
CREATE STREAM o AS SELECT a, a + 1 AS b FROM s PARTITION BY a;
INSERT INTO s (a) VALUES (1);
ASSERT VALUES o (a, b) VALUES (1, 2);

--@test: the full name of an AVRO schema
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO', VALUE_SCHEMA_FULL_NAME='org.example.Row');
CREATE STREAM o WITH (VALUE_AVRO_SCHEMA_FULL_NAME='org.example.Result') AS SELECT * FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: a full name is for formats with schemas
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', VALUE_SCHEMA_FULL_NAME='org.example.Row');
--@expected.error: KsqlError
--@expected.message: 'VALUE_SCHEMA_FULL_NAME' is only valid with the format AVRO, JSON_SR or PROTOBUF

--@test: columns and a schema's id
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);
--@expected.error: KsqlError
--@expected.message: Table elements and VALUE_SCHEMA_ID cannot both exist

--@test: a schema's id for a format without schemas
CREATE STREAM s (k STRING KEY) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', VALUE_SCHEMA_ID=1);
--@expected.error: KsqlError
--@expected.message: VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID is provided

--@test: the columns of a schema by its id
CREATE STREAM a (k STRING KEY, x INT, y STRING) WITH (KAFKA_TOPIC='a', PARTITIONS=1, VALUE_FORMAT='AVRO');
INSERT INTO a VALUES ('k', 1, 'one');
CREATE STREAM b (k STRING KEY) WITH (KAFKA_TOPIC='b', PARTITIONS=1, VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);
INSERT INTO b (k, x, y) VALUES ('j', 2, 'two');
ASSERT VALUES b (k, x, y) VALUES ('j', 2, 'two');

--@test: key and value columns of a table from the registry
CREATE STREAM s (k INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='AVRO');
INSERT INTO s VALUES (7, 1, 'one');
CREATE TABLE t WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='AVRO');
ASSERT TABLE t (ROWKEY INT PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', FORMAT='AVRO');
ASSERT VALUES t (ROWKEY, a, b) VALUES (7, 1, 'one');

--@test: the key's column from the registry is ROWKEY
CREATE STREAM s (k INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='AVRO');
INSERT INTO s VALUES (7, 1, 'one');
CREATE STREAM r WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='AVRO');
ASSERT STREAM r (ROWKEY INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', FORMAT='AVRO');

--@test: the default of WRAP_SINGLE_VALUE
SET 'ksql.persistence.wrap.single.values' = 'false';
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM raw (v STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='KAFKA');
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES raw (v) VALUES ('1');

--@test: the default formats
SET 'ksql.persistence.default.format.value' = 'DELIMITED';
SET 'ksql.persistence.default.format.key' = 'JSON';
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1);
CREATE STREAM raw (k STRING KEY, v STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='KAFKA');
INSERT INTO s (k, a, b) VALUES ('x', 1, 2);
ASSERT VALUES raw (k, v) VALUES ('"x"', '1,2');

--@test: WINDOW_SIZE without WINDOW_TYPE
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_SIZE='1 HOUR');
--@expected.error: KsqlError
--@expected.message: 'WINDOW_SIZE' needs 'WINDOW_TYPE'

--@test: a WINDOW_TYPE that is not there
CREATE STREAM s (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_TYPE='SLIDING', WINDOW_SIZE='1 HOUR');
--@expected.error: KsqlError
--@expected.message: Invalid value 'SLIDING' for property WINDOW_TYPE

--@test: a windowed source without a key
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
--@expected.error: KsqlError
--@expected.message: Windowed sources require a key column

--@test: PARTITIONS that are no number
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS='many', VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Invalid value 'many' for property PARTITIONS

--@test: a property twice
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, partitions=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: PARTITIONS is given twice

--@test: TIMESTAMP_FORMAT alone
CREATE STREAM s (k STRING KEY, t STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP_FORMAT='yyyy');
--@expected.error: KsqlError
--@expected.message: 'TIMESTAMP_FORMAT' needs 'TIMESTAMP'

--@test: a record whose TIMESTAMP column is null is left out
CREATE STREAM s (k STRING KEY, ts BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='ts');
CREATE STREAM o AS SELECT k, ts FROM s;
INSERT INTO s (ROWTIME, k, ts) VALUES (5, 'x', NULL);
INSERT INTO s (ROWTIME, k, ts) VALUES (6, 'y', 1000);
ASSERT VALUES o (ROWTIME, k, ts) VALUES (1000, 'y', 1000);

--@test: a record whose TIMESTAMP text is none is left out
CREATE STREAM s (k STRING KEY, ts STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='ts', TIMESTAMP_FORMAT='yyyy-MM-dd');
CREATE STREAM o AS SELECT k, ts FROM s;
INSERT INTO s (ROWTIME, k, ts) VALUES (5, 'x', 'yesterday');
INSERT INTO s (ROWTIME, k, ts) VALUES (6, 'y', '1970-01-02');
ASSERT VALUES o (k, ts) VALUES ('y', '1970-01-02');
