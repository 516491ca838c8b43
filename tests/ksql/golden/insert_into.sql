-- INSERT INTO … VALUES and INSERT INTO … SELECT.

--@test: values in the order of the columns
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1, 'one');
ASSERT VALUES s (k, a, b) VALUES ('x', 1, 'one');

--@test: values for some columns
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (b) VALUES ('one');
ASSERT VALUES s (k, a, b) VALUES (NULL, NULL, 'one');

--@test: a time for the row
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (ROWTIME, k, a) VALUES (1510923225000, 'x', 1);
ASSERT VALUES s (ROWTIME, k, a) VALUES (1510923225000, 'x', 1);

--@test: expressions as values
CREATE STREAM s (k STRING KEY, a INT, b STRING, c ARRAY<INT>, d MAP<STRING, INT>, e STRUCT<f INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x' || 'y', 2 * 3 - 1, UCASE('p'), ARRAY[1, 1 + 1], MAP('k' := 3), STRUCT(f := -4));
ASSERT VALUES s (k, a, b, c, d, e) VALUES ('xy', 5, 'P', ARRAY[1, 2], MAP('k' := 3), STRUCT(f := -4));

--@test: values become the columns' types
CREATE STREAM s (k STRING KEY, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t DATE)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1, 2, 3, '2024-02-29');
ASSERT VALUES s (k, l, d, m, t) VALUES ('x', 1, 2.0, 3.00, '2024-02-29');

--@test: a row without a key is none of a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO t (a) VALUES (1);
--@expected.error: KsqlError
--@expected.message: Value for primary key column(s) K is required for tables

--@test: too few values
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 1);
--@expected.error: KsqlError
--@expected.message: Expected a value for each column

--@test: a column that is not there
CREATE STREAM s (k STRING KEY, amount INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (k, amuont) VALUES ('x', 1);
--@expected.error: KsqlError
--@expected.message: Column name `AMUONT` does not exist

--@test: a value of another type
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 'one');
--@expected.error: KsqlError
--@expected.message: Invalid input syntax for type INTEGER: 'one'

--@test: a number that does not fit
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', 3000000000);
--@expected.error: KsqlError
--@expected.message: Expected type INTEGER, but got BIGINT

--@test: into pseudo columns
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s (ROWOFFSET, k, a) VALUES (1, 'x', 1);
--@expected.error: KsqlError
--@expected.message: Inserting into column `ROWOFFSET` is not allowed

--@test: the rows of two queries in one stream
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE a > 0;
INSERT INTO o SELECT k, a * 10 AS a FROM r;
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, a) VALUES (2, 'y', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (3, 'z', 3);
ASSERT VALUES o (ROWTIME, k, a) VALUES (1, 'x', 1);
ASSERT VALUES o (ROWTIME, k, a) VALUES (2, 'y', 20);
ASSERT VALUES o (ROWTIME, k, a) VALUES (3, 'z', 3);

--@test: into a stream that no query has made
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
INSERT INTO o SELECT * FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: with another key
CREATE STREAM s (k STRING KEY, id INT, a STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (id INT KEY, a STRING) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT id, a FROM s PARTITION BY id;
INSERT INTO s (k, id, a) VALUES ('x', 1, 'one');
ASSERT VALUES o (id, a) VALUES (1, 'one');

--@test: of a join
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, c INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT s.k AS k, a + b AS c FROM s JOIN t ON s.k = t.k;
INSERT INTO t (ROWTIME, k, b) VALUES (0, 'x', 10);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
ASSERT VALUES o (k, c) VALUES ('x', 11);

--@test: a query with a name of its own
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o WITH (QUERY_ID='copy_rows') SELECT * FROM s;
TERMINATE copy_rows;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO o (k, a) VALUES ('y', 2);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: a name that a query has already
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o WITH (QUERY_ID='copy_rows') SELECT * FROM s;
INSERT INTO o WITH (QUERY_ID='copy_rows') SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: Query ID 'COPY_ROWS' already exists

--@test: other columns
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, b INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: Incompatible schema between results and sink

--@test: other types
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: Incompatible schema between results and sink

--@test: into a table
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO t SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: INSERT INTO can only be used to insert into a stream. T is a table

--@test: of a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT * FROM t;
--@expected.error: KsqlError
--@expected.message: the query produces a TABLE

--@test: the key stands among the columns
CREATE STREAM s (a INT, k STRING KEY, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES (1, 'x', 2);
ASSERT VALUES s (a, k, b) VALUES (1, 'x', 2);

--@test: a row of nulls is a row of the table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, a IS NULL AS n FROM t;
INSERT INTO t (k) VALUES ('x');
ASSERT VALUES o (k, n) VALUES ('x', TRUE);
