-- Statements: making, replacing, changing and dropping sources; types, variables, settings, queries; WITH and ON ERROR.

--@test: IF NOT EXISTS leaves what is there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM IF NOT EXISTS s (k STRING KEY, b STRING) WITH (KAFKA_TOPIC='s2', PARTITIONS=1, VALUE_FORMAT='JSON');
ASSERT STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');

--@test: IF NOT EXISTS of a query
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
CREATE STREAM IF NOT EXISTS o AS SELECT k, a * 2 AS a FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: a name that is taken
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Cannot add stream 'S': A stream with the same name already exists

--@test: a table by the name of a stream
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE s (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: A stream with the same name already exists

--@test: OR REPLACE adds columns to a source
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE OR REPLACE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1, 'one');
ASSERT VALUES s (k, a, b) VALUES ('x', 1, 'one');

--@test: OR REPLACE does not take columns away
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE OR REPLACE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Cannot upgrade data source S

--@test: OR REPLACE does not change the topic
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE OR REPLACE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='other', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Cannot upgrade data source S

--@test: OR REPLACE of a query with another filter, for the rows to come
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE a > 1;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 2);
CREATE OR REPLACE STREAM o AS SELECT k, a FROM s WHERE a > 2;
INSERT INTO s (k, a) VALUES ('x', 2);
INSERT INTO s (k, a) VALUES ('x', 3);
ASSERT VALUES o (k, a) VALUES ('x', 2);
ASSERT VALUES o (k, a) VALUES ('x', 3);

--@test: OR REPLACE of a query with one more column
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
CREATE OR REPLACE STREAM o AS SELECT k, a, a * 2 AS b FROM s;
INSERT INTO s (k, a) VALUES ('x', 2);
ASSERT VALUES o (k, a, b) VALUES ('x', 1, NULL);
ASSERT VALUES o (k, a, b) VALUES ('x', 2, 4);

--@test: OR REPLACE goes on with the state of an aggregate
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, SUM(a) AS total FROM s GROUP BY k;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 2);
CREATE OR REPLACE TABLE o AS SELECT k, SUM(a) AS total FROM s WHERE a < 100 GROUP BY k;
INSERT INTO s (k, a) VALUES ('x', 100);
INSERT INTO s (k, a) VALUES ('x', 4);
ASSERT VALUES o (k, total) VALUES ('x', 1);
ASSERT VALUES o (k, total) VALUES ('x', 3);
ASSERT VALUES o (k, total) VALUES ('x', 7);

--@test: OR REPLACE of another aggregate
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, SUM(a) AS total FROM s GROUP BY k;
CREATE OR REPLACE TABLE o AS SELECT k, SUM(a) AS total, COUNT(*) AS c FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Cannot replace the query and continue from its state

--@test: OR REPLACE of a query that has another source
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
CREATE OR REPLACE STREAM o AS SELECT k, a FROM r;
--@expected.error: KsqlError
--@expected.message: Cannot replace the query

--@test: OR REPLACE of what is not there yet
CREATE OR REPLACE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE OR REPLACE STREAM o AS SELECT k, a + 1 AS b FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, b) VALUES ('x', 2);

--@test: what is read cannot be dropped
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
DROP STREAM s;
--@expected.error: KsqlError
--@expected.message: Cannot drop S

--@test: what is written by INSERT INTO cannot be dropped
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT * FROM s;
DROP STREAM o;
--@expected.error: KsqlError
--@expected.message: Cannot drop O

--@test: dropping a result ends its query
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
DROP STREAM o;
CREATE STREAM o WITH (KAFKA_TOPIC='o2') AS SELECT k, a * 10 AS a FROM s;
DROP STREAM o DELETE TOPIC;
DROP STREAM s;
ASSERT NOT EXISTS TOPIC o2;
ASSERT TOPIC s;

--@test: dropping what is not there
DROP STREAM nothing;
--@expected.error: KsqlError
--@expected.message: NOTHING does not exist

--@test: IF EXISTS of what is not there
DROP STREAM IF EXISTS nothing;
DROP TABLE IF EXISTS nothing DELETE TOPIC;
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (a) VALUES (1);
ASSERT VALUES s (a) VALUES (1);

--@test: dropping a stream as a table
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
DROP TABLE s;
--@expected.error: KsqlError
--@expected.message: Incompatible data source type is STREAM, but statement was DROP TABLE

--@test: ALTER adds columns
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1);
ALTER STREAM s ADD COLUMN b STRING, ADD c ARRAY<INT>;
INSERT INTO s VALUES ('y', 2, 'two', ARRAY[2]);
ASSERT VALUES s (k, a, b, c) VALUES ('x', 1, NULL, NULL);
ASSERT VALUES s (k, a, b, c) VALUES ('y', 2, 'two', ARRAY[2]);

--@test: ALTER of a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
ALTER TABLE t ADD b DOUBLE;
ASSERT TABLE t (k STRING PRIMARY KEY, a INT, b DOUBLE) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');

--@test: ALTER with a column that is there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
ALTER STREAM s ADD COLUMN a STRING;
--@expected.error: KsqlError
--@expected.message: A column with the same name already exists

--@test: ALTER of a query's result
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
ALTER STREAM o ADD COLUMN b STRING;
--@expected.error: KsqlError
--@expected.message: ALTER command is not supported for CREATE ... AS statements

--@test: a type of one's own
CREATE TYPE address AS STRUCT<street STRING, number INT>;
CREATE TYPE person AS STRUCT<name STRING, home address, others ARRAY<address>>;
CREATE STREAM s (k STRING KEY, p person) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, p->home->street AS street, ARRAY_LENGTH(p->others) AS n FROM s;
INSERT INTO s VALUES ('x', STRUCT(name := 'Ada', home := STRUCT(street := 'High', number := 1), others := ARRAY[STRUCT(street := 'Low', number := 2)]));
ASSERT VALUES o (k, street, n) VALUES ('x', 'High', 1);

--@test: a type in a CAST
CREATE TYPE money AS DECIMAL(8, 2);
CREATE STREAM s (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(t AS money) AS m FROM s;
INSERT INTO s VALUES ('x', '1.5');
ASSERT VALUES o (k, m) VALUES ('x', 1.50);
ASSERT STREAM o (k STRING KEY, m DECIMAL(8, 2)) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: a type that is there already
CREATE TYPE money AS DECIMAL(8, 2);
CREATE TYPE IF NOT EXISTS money AS DECIMAL(9, 3);
CREATE TYPE money AS DECIMAL(9, 3);
--@expected.error: KsqlError
--@expected.message: Cannot register custom type 'MONEY' since it is already registered

--@test: a type that was dropped
CREATE TYPE money AS DECIMAL(8, 2);
DROP TYPE money;
DROP TYPE IF EXISTS money;
CREATE STREAM s (k STRING KEY, m money) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Cannot resolve unknown type: MONEY

--@test: variables
DEFINE topic = 'orders';
DEFINE least = '5';
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='${topic}', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a, '${least}' AS l FROM s WHERE a > ${least};
INSERT INTO s (k, a) VALUES ('x', 5);
INSERT INTO s (k, a) VALUES ('x', 6);
ASSERT VALUES o (k, a, l) VALUES ('x', 6, '5');
ASSERT TOPIC orders;

--@test: a variable that is not there any more
DEFINE name = 's';
UNDEFINE name;
CREATE STREAM ${name} (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: The variable 'name' is not defined

--@test: SET where a query begins
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (k, a) VALUES ('x', 1);
SET 'auto.offset.reset' = 'latest';
CREATE STREAM late AS SELECT k, a FROM s;
UNSET 'auto.offset.reset';
CREATE STREAM early AS SELECT k, a FROM s;
INSERT INTO s (k, a) VALUES ('y', 2);
ASSERT VALUES late (k, a) VALUES ('y', 2);
ASSERT VALUES early (k, a) VALUES ('x', 1);
ASSERT VALUES early (k, a) VALUES ('y', 2);

--@test: SET of what is no property
SET 'no.such.property' = '1';
--@expected.error: KsqlError
--@expected.message: Not recognizable as ksql, streams, consumer, or producer property

--@test: TERMINATE ends a query and leaves its result
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
TERMINATE ALL;
INSERT INTO s (k, a) VALUES ('y', 2);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: TERMINATE of what is not there
TERMINATE csas_nothing_1;
--@expected.error: KsqlError
--@expected.message: Unknown queryId: CSAS_NOTHING_1

--@test: PAUSE holds a query, RESUME lets it go on
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
CREATE STREAM marker (a INT) WITH (KAFKA_TOPIC='marker', PARTITIONS=1, VALUE_FORMAT='JSON');
PAUSE ALL;
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO o (ROWTIME, k, a) VALUES (2, 'between', 0);
RESUME ALL;
INSERT INTO s (ROWTIME, k, a) VALUES (3, 'y', 2);
ASSERT VALUES o (k, a) VALUES ('between', 0);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: SHOW, LIST, DESCRIBE and EXPLAIN answer
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TYPE money AS DECIMAL(8, 2);
DEFINE v = '1';
CREATE STREAM o AS SELECT k, a FROM s WHERE a > ${v};
SHOW STREAMS;
LIST STREAMS EXTENDED;
SHOW TABLES;
SHOW TYPES;
SHOW FUNCTIONS;
SHOW VARIABLES;
SHOW PROPERTIES;
SHOW QUERIES;
DESCRIBE o;
DESCRIBE t EXTENDED;
DESCRIBE STREAMS;
DESCRIBE FUNCTION ucase;
EXPLAIN SELECT k, COUNT(*) FROM s GROUP BY k EMIT CHANGES;
EXPLAIN CREATE STREAM p AS SELECT * FROM s;
INSERT INTO s (k, a) VALUES ('x', 2);
ASSERT VALUES o (k, a) VALUES ('x', 2);

--@test: DESCRIBE of what is not there
CREATE STREAM orders (k STRING KEY, a INT) WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');
DESCRIBE ordres;
--@expected.error: KsqlError
--@expected.message: Did you mean 'ORDERS'?

--@test: DESCRIBE FUNCTION of what is not there
DESCRIBE FUNCTION substrin;
--@expected.error: KsqlError
--@expected.message: Can't find any functions with the name 'SUBSTRIN'. Did you mean 'SUBSTRING'?

--@test: EXPLAIN of a query that is not there
EXPLAIN csas_nothing_1;
--@expected.error: KsqlError
--@expected.message: Unknown queryId: CSAS_NOTHING_1

--@test: a source table is read-only
CREATE SOURCE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO t VALUES ('x', 1);
--@expected.error: KsqlError
--@expected.message: Cannot insert values into read-only table: T

--@test: a source stream is read-only for queries too
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE SOURCE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO r SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: Cannot insert into read-only stream: R

--@test: the topic of a source stream stays
CREATE SOURCE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
DROP STREAM r DELETE TOPIC;
--@expected.error: KsqlError
--@expected.message: Cannot delete topic for read-only source: R

--@test: a source table is read by queries
CREATE SOURCE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM s (k STRING KEY, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t ON s.k = t.k;
--@record: t | x | {"A": 1} | 0
INSERT INTO s (ROWTIME, k, b) VALUES (1, 'x', 2);
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 2);

--@test: the time of a row from a column
CREATE STREAM s (k STRING KEY, ts BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='ts');
CREATE STREAM o AS SELECT k, ROWTIME AS t FROM s;
INSERT INTO s (ROWTIME, k, ts) VALUES (5, 'x', 1000);
ASSERT VALUES o (ROWTIME, k, t) VALUES (1000, 'x', 1000);

--@test: the time of a row from a text
CREATE STREAM s (k STRING KEY, ts STRING)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='ts', TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm:ssX');
CREATE STREAM o AS SELECT k, ts FROM s;
INSERT INTO s (ROWTIME, k, ts) VALUES (5, 'x', '1970-01-02 00:00:01Z');
ASSERT VALUES o (ROWTIME, k) VALUES (86401000, 'x');

--@test: the time of a row from a TIMESTAMP
CREATE STREAM s (k STRING KEY, ts TIMESTAMP)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='ts');
CREATE STREAM o AS SELECT k, ts FROM s;
INSERT INTO s (ROWTIME, k, ts) VALUES (5, 'x', '1970-01-01T00:00:02.5');
ASSERT VALUES o (ROWTIME, k) VALUES (2500, 'x');

--@test: the time of a result from a column
CREATE STREAM s (k STRING KEY, ts BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (TIMESTAMP='later') AS SELECT k, ts + 1 AS later FROM s;
INSERT INTO s (ROWTIME, k, ts) VALUES (5, 'x', 1000);
ASSERT VALUES o (ROWTIME, k, later) VALUES (1001, 'x', 1001);

--@test: a TIMESTAMP column that is not there
CREATE STREAM s (k STRING KEY, ts BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='tz');
--@expected.error: KsqlError
--@expected.message: The TIMESTAMP column set in the WITH clause does not exist in the schema

--@test: a TIMESTAMP column that is no time
CREATE STREAM s (k STRING KEY, ts BOOLEAN) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='ts');
--@expected.error: KsqlError
--@expected.message: Timestamp column, TS, should be BIGINT, TIMESTAMP, or a STRING

--@test: all headers of a record
CREATE STREAM s (k STRING KEY, a INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a, ARRAY_LENGTH(h) AS n, h[1]->key AS name, FROM_BYTES(h[2]->value, 'utf8') AS v FROM s;
--@record: s | x | {"A": 1} | 5 | one=p,two=q
--@record: s | x | {"A": 2} | 6
ASSERT VALUES o (ROWTIME, k, a, n, name, v) VALUES (5, 'x', 1, 2, 'one', 'q');
ASSERT VALUES o (ROWTIME, k, a, n, name, v) VALUES (6, 'x', 2, 0, NULL, NULL);

--@test: one header of a record, the last of its name
CREATE STREAM s (k STRING KEY, a INT, trace BYTES HEADER('trace'))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a, FROM_BYTES(trace, 'utf8') AS t FROM s;
--@record: s | x | {"A": 1} | 5 | trace=p,other=q
--@record: s | x | {"A": 2} | 6 | trace=p,trace=r
--@record: s | x | {"A": 3} | 7 | other=q
ASSERT VALUES o (k, a, t) VALUES ('x', 1, 'p');
ASSERT VALUES o (k, a, t) VALUES ('x', 2, 'r');
ASSERT VALUES o (k, a, t) VALUES ('x', 3, NULL);

--@test: headers are not inserted
CREATE STREAM s (k STRING KEY, a INT, trace BYTES HEADER('trace'))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (k, a, trace) VALUES ('x', 1, NULL);
--@expected.error: KsqlError
--@expected.message: Cannot insert into HEADER columns: TRACE

--@test: a header column is BYTES
CREATE STREAM s (k STRING KEY, trace STRING HEADER('trace'))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Invalid type for HEADER('trace') column

--@test: TTL is for tables
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON', TTL='7 days');
--@expected.error: KsqlError
--@expected.message: 'TTL' is only valid for tables

--@test: a table with a TTL
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON', TTL='7 days');
CREATE TABLE o WITH (TTL='1 hour') AS SELECT k, a + 1 AS b FROM t;
INSERT INTO t (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, b) VALUES ('x', 2);

--@test: a record that cannot be read is skipped
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
--@record: s | x | no json | 1
--@record: s | x | {"A": "no number"} | 2
--@record: s | x | {"A": 3} | 3
ASSERT VALUES o (k, a) VALUES ('x', 3);

--@test: ON ERROR DLQ keeps what cannot be read
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON') ON ERROR DLQ;
CREATE STREAM o AS SELECT k, a FROM s;
CREATE STREAM letters (v STRING) WITH (KAFKA_TOPIC='s-dlq', PARTITIONS=1, VALUE_FORMAT='KAFKA');
--@record: s | x | no json | 1
--@record: s | x | {"A": 3} | 3
ASSERT VALUES o (k, a) VALUES ('x', 3);
ASSERT VALUES letters (v) VALUES ('no json');

--@test: ON ERROR FAIL ends the query
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON') ON ERROR FAIL;
CREATE STREAM o AS SELECT k, a FROM s;
--@record: s | x | no json | 1
--@expected.error: KsqlError
--@expected.message: it is not JSON

--@test: ASSERT TOPIC
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
ASSERT TOPIC s WITH (PARTITIONS=1);
ASSERT NOT EXISTS TOPIC other;
ASSERT TOPIC other TIMEOUT 0 SECONDS;
--@expected.error: KsqlError
--@expected.message: Topic other does not exist

--@test: ASSERT SCHEMA
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
ASSERT SCHEMA SUBJECT 's-value';
ASSERT NOT EXISTS SCHEMA SUBJECT 'other-value';
ASSERT SCHEMA SUBJECT 'other-value' TIMEOUT 0 SECONDS;
--@expected.error: KsqlError
--@expected.message: Schema with subject name other-value does not exist

--@test: a connector needs Kafka Connect
CREATE SOURCE CONNECTOR c WITH ('connector.class'='X');
--@expected.error: KsqlError
--@expected.message: ksql.connect.url

--@test: names with quotes and comments on the way
/* a comment
   over lines; with a semicolon */
CREATE STREAM `s-1` (`the key` STRING KEY, `a.b` INT, "q" INT) -- with a comment; too
  WITH (KAFKA_TOPIC='s1', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT `the key`, `a.b` + `q` AS `sum; of both` FROM `s-1`;
INSERT INTO `s-1` (`the key`, `a.b`, `q`) VALUES ('it''s', 1, 2);
ASSERT VALUES o (`the key`, `sum; of both`) VALUES ('it''s', 3);

--@test: ALTER SYSTEM is for all that follows
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (k, a) VALUES ('x', 1);
ALTER SYSTEM 'auto.offset.reset'='latest';
CREATE STREAM o AS SELECT k, a FROM s;
INSERT INTO s (k, a) VALUES ('y', 2);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: RUN SCRIPT is the shell's
RUN SCRIPT 'script.sql';
--@expected.error: KsqlError
--@expected.message: RUN SCRIPT is a command of the shell

--@test: DROP CONNECTOR needs Kafka Connect
DROP CONNECTOR c;
--@expected.error: KsqlError
--@expected.message: ksql.connect.url

--@test: several statements of a source's life
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s;
TERMINATE ALL;
DROP STREAM o DELETE TOPIC;
ALTER STREAM s ADD COLUMN b INT;
CREATE STREAM o AS SELECT k, a + b AS c FROM s;
INSERT INTO s VALUES ('x', 1, 2);
ASSERT VALUES o (k, c) VALUES ('x', 3);

--@test: a type that is dropped stays where it was used
CREATE TYPE money AS DECIMAL(4, 2);
CREATE STREAM s (k STRING KEY, a money) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
DROP TYPE money;
INSERT INTO s VALUES ('x', 1.5);
ASSERT VALUES s (a) VALUES (1.50);

--@test: ALTER leaves the queries that are there as they are
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
ALTER STREAM s ADD COLUMN b INT;
INSERT INTO s VALUES ('x', 1, 2);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: OR REPLACE of a stream as a table
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE OR REPLACE TABLE s (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Incompatible data sources: S is a stream already
