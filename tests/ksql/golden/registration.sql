-- Schemas are in the registry when a statement is done, not with the first record.

--@test: CREATE with columns registers key and value
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, FORMAT='AVRO');
ASSERT SCHEMA SUBJECT 's-key' TIMEOUT 0 SECONDS;
ASSERT SCHEMA SUBJECT 's-value' TIMEOUT 0 SECONDS;

--@test: CREATE AS registers
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (VALUE_FORMAT='PROTOBUF') AS SELECT * FROM s;
ASSERT SCHEMA SUBJECT 'O-value' TIMEOUT 0 SECONDS;
ASSERT NOT EXISTS SCHEMA SUBJECT 's-value';

--@test: what has a schema keeps it where a stream reads some of it
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON_SR');
CREATE STREAM some (k STRING KEY, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON_SR');
CREATE STREAM all_of_it (k STRING KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON_SR');
CREATE STREAM o AS SELECT k, a, b FROM all_of_it;
INSERT INTO s VALUES ('x', 1, 'y');
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 'y');

--@test: a result that may not follow what is there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
CREATE STREAM t (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='AVRO');
CREATE STREAM o WITH (KAFKA_TOPIC='s') AS SELECT * FROM t;
--@expected.error: KsqlError
--@expected.message: Could not register the schema for subject 's-value'
