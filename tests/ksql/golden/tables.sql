-- Tables of tables: projections, filters, deletions, and rows in another order than their times.

--@test: a projection
CREATE TABLE t (k STRING PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k AS id, a * 2 AS twice, UCASE(b) AS b FROM t;
INSERT INTO t (ROWTIME, k, a, b) VALUES (5, 'x', 1, 'p');
INSERT INTO t (ROWTIME, k, a, b) VALUES (6, 'x', 2, NULL);
ASSERT VALUES o (ROWTIME, id, twice, b) VALUES (5, 'x', 2, 'P');
ASSERT VALUES o (ROWTIME, id, twice, b) VALUES (6, 'x', 4, NULL);
ASSERT TABLE o (id STRING PRIMARY KEY, twice INT, b STRING) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: a row that is deleted
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, a FROM t;
INSERT INTO t (ROWTIME, k, a) VALUES (5, 'x', 1);
--@record: t | x | null | 6
INSERT INTO t (ROWTIME, k, a) VALUES (7, 'x', 2);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT NULL VALUES o (k) KEY ('x');
ASSERT VALUES o (k, a) VALUES ('x', 2);

--@test: a record without a key is no row
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, a FROM t;
--@record: t | null | {"A": 1} | 5
INSERT INTO t (ROWTIME, k, a) VALUES (6, 'x', 2);
ASSERT VALUES o (k, a) VALUES ('x', 2);

--@test: rows as they come, whatever their times
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, a FROM t;
INSERT INTO t (ROWTIME, k, a) VALUES (9, 'x', 1);
INSERT INTO t (ROWTIME, k, a) VALUES (5, 'x', 2);
ASSERT VALUES o (ROWTIME, k, a) VALUES (9, 'x', 1);
ASSERT VALUES o (ROWTIME, k, a) VALUES (5, 'x', 2);

--@test: a filter says nothing of rows that were never in the result
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM t WHERE a > 5;
INSERT INTO t (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO t (ROWTIME, k, a) VALUES (2, 'x', 6);
INSERT INTO t (ROWTIME, k, a) VALUES (3, 'y', 2);
INSERT INTO t (ROWTIME, k, a) VALUES (4, 'x', 7);
INSERT INTO t (ROWTIME, k, a) VALUES (5, 'x', 5);
INSERT INTO t (ROWTIME, k, a) VALUES (6, 'x', 4);
ASSERT VALUES o (k, a) VALUES ('x', 6);
ASSERT VALUES o (k, a) VALUES ('x', 7);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: a row that is deleted where a filter had left it out
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM t WHERE a > 5;
INSERT INTO t (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO t (ROWTIME, k, a) VALUES (1, 'y', 6);
--@record: t | x | null | 2
--@record: t | y | null | 3
ASSERT VALUES o (k, a) VALUES ('y', 6);
ASSERT NULL VALUES o (k) KEY ('y');

--@test: a filter by the window of a windowed table
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
CREATE TABLE o AS SELECT * FROM t WHERE WINDOWSTART = 0 AND c > 1;
INSERT INTO s (ROWTIME, k, n) VALUES (0, 'a', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (1, 'a', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (10000, 'a', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (10001, 'a', 1);
ASSERT VALUES o (k, WINDOWSTART, c) VALUES ('a', 0, 2);

--@test: a filter that is taken away again
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM t WHERE a > 5;
INSERT INTO t (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO t (ROWTIME, k, a) VALUES (2, 'y', 6);
CREATE OR REPLACE TABLE o AS SELECT * FROM t;
INSERT INTO t (ROWTIME, k, a) VALUES (3, 'x', 2);
ASSERT VALUES o (k, a) VALUES ('y', 6);
ASSERT VALUES o (k, a) VALUES ('x', 2);

--@test: a filter that is added, for the rows to come
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM t;
INSERT INTO t (ROWTIME, k, a) VALUES (1, 'x', 1);
CREATE OR REPLACE TABLE o AS SELECT * FROM t WHERE a > 5;
INSERT INTO t (ROWTIME, k, a) VALUES (3, 'y', 6);
INSERT INTO t (ROWTIME, k, a) VALUES (4, 'y', 7);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('y', 6);
ASSERT VALUES o (k, a) VALUES ('y', 7);

--@test: a table of a table of a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE p AS SELECT k, a + 1 AS a FROM t;
CREATE TABLE o AS SELECT k, a * 2 AS a FROM p;
INSERT INTO t (ROWTIME, k, a) VALUES (1, 'x', 1);
--@record: t | x | null | 2
ASSERT VALUES o (k, a) VALUES ('x', 4);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: a key of several columns
CREATE TABLE t (a INT PRIMARY KEY, b STRING PRIMARY KEY, n INT)
  WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='JSON');
CREATE TABLE o AS SELECT b, a, n FROM t;
INSERT INTO t (ROWTIME, a, b, n) VALUES (1, 1, 'x', 5);
--@record: t | {"A": 1, "B": "x"} | null | 2
ASSERT VALUES o (a, b, n) VALUES (1, 'x', 5);
ASSERT NULL VALUES o (a, b) KEY (1, 'x');

--@test: the latest row of a stream for each key
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, LATEST_BY_OFFSET(a) AS a FROM s GROUP BY k;
INSERT INTO s (ROWTIME, k, a) VALUES (9, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (5, 'x', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (6, 'x', NULL);
ASSERT VALUES o (ROWTIME, k, a) VALUES (9, 'x', 1);
ASSERT VALUES o (ROWTIME, k, a) VALUES (9, 'x', 2);
ASSERT VALUES o (ROWTIME, k, a) VALUES (9, 'x', 2);
