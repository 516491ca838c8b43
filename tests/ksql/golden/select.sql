-- Projections and filters of streams: columns, aliases, expressions, keys, pseudo columns, tombstones.

--@test: all columns
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
INSERT INTO s (ROWTIME, k, a, b) VALUES (5, 'x', 1, 'one');
INSERT INTO s (ROWTIME, k, a, b) VALUES (6, NULL, 2, NULL);
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (5, 'x', 1, 'one');
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (6, NULL, 2, NULL);

--@test: some columns, in another order, under other names
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT b AS text, k AS id, a number FROM s;
INSERT INTO s (k, a, b) VALUES ('x', 1, 'one');
ASSERT VALUES o (id, number, text) VALUES ('x', 1, 'one');

--@test: expressions without a name are numbered
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a + 1, a * 2 AS twice, a - 1 FROM s;
INSERT INTO s (k, a) VALUES ('x', 10);
ASSERT VALUES o (k, KSQL_COL_0, twice, KSQL_COL_1) VALUES ('x', 11, 20, 9);

--@test: the key must be selected
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a FROM s;
--@expected.error: KsqlError
--@expected.message: The query used to build `O` must include the key column K in its projection

--@test: the key can be copied into the value
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, AS_VALUE(k) AS copy, a FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, copy, a) VALUES ('x', 'x', 1);

--@test: quoted names keep their case
CREATE STREAM s (`k` STRING KEY, `Number` INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT `k`, `Number` + 1 AS `next` FROM s;
INSERT INTO s (`k`, `Number`) VALUES ('x', 1);
ASSERT VALUES o (`k`, `next`) VALUES ('x', 2);

--@test: a name that does not exist, with what was meant
CREATE STREAM s (k STRING KEY, customer STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, custmer FROM s;
--@expected.error: KsqlError
--@expected.message: Did you mean 'CUSTOMER'?

--@test: a filter
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE a > 5 AND a < 10;
INSERT INTO s (k, a) VALUES ('x', 5);
INSERT INTO s (k, a) VALUES ('x', 7);
INSERT INTO s (k, a) VALUES ('x', NULL);
INSERT INTO s (k, a) VALUES ('x', 9);
ASSERT VALUES o (k, a) VALUES ('x', 7);
ASSERT VALUES o (k, a) VALUES ('x', 9);

--@test: a filter on the key
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE k = 'y';
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('y', 2);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: ROWTIME in a projection and a filter
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ROWTIME AS t, a FROM s WHERE ROWTIME >= 100;
INSERT INTO s (ROWTIME, k, a) VALUES (99, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (100, 'x', 2);
ASSERT VALUES o (ROWTIME, k, t, a) VALUES (100, 'x', 100, 2);

--@test: partition and offset
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ROWPARTITION AS p, ROWOFFSET AS n FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('y', 1);
ASSERT VALUES o (k, p, n) VALUES ('x', 0, 0);
ASSERT VALUES o (k, p, n) VALUES ('y', 0, 1);

--@test: an expression that fails is null, and the row goes on
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a / b AS q, a FROM s;
INSERT INTO s (k, a, b) VALUES ('x', 4, 0);
INSERT INTO s (k, a, b) VALUES ('x', 4, 2);
ASSERT VALUES o (k, q, a) VALUES ('x', NULL, 4);
ASSERT VALUES o (k, q, a) VALUES ('x', 2, 4);

--@test: a filter that fails drops the row
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE a / b = 2;
INSERT INTO s (k, a, b) VALUES ('x', 4, 0);
INSERT INTO s (k, a, b) VALUES ('y', 4, 2);
ASSERT VALUES o (k, a, b) VALUES ('y', 4, 2);

--@test: fields of a struct, and all of them
CREATE STREAM s (k STRING KEY, p STRUCT<name STRING, pos STRUCT<x INT, y INT>>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, p->name, p->pos->* FROM s;
INSERT INTO s (k, p) VALUES ('a', STRUCT(name := 'n', pos := STRUCT(x := 1, y := 2)));
INSERT INTO s (k, p) VALUES ('b', NULL);
ASSERT VALUES o (k, name, x, y) VALUES ('a', 'n', 1, 2);
ASSERT VALUES o (k, name, x, y) VALUES ('b', NULL, NULL, NULL);

--@test: two columns of one name
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a AS n, a + 1 AS n FROM s;
--@expected.error: KsqlError
--@expected.message: N

--@test: a stream is not made of a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM t;
--@expected.error: KsqlError
--@expected.message: Your SELECT query produces a TABLE. Please use CREATE TABLE AS SELECT statement instead.

--@test: queries one behind the other
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM one AS SELECT k, a + 1 AS a FROM s;
CREATE STREAM two AS SELECT k, a * 10 AS a FROM one WHERE a > 1;
INSERT INTO s (k, a) VALUES ('x', 0);
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES one (k, a) VALUES ('x', 1);
ASSERT VALUES one (k, a) VALUES ('x', 2);
ASSERT VALUES two (k, a) VALUES ('x', 20);

--@test: a stream without a key
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a + 1 AS b FROM s;
INSERT INTO s (a) VALUES (1);
ASSERT VALUES o (b) VALUES (2);

--@test: a table's rows that stop to fit are deleted
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM t WHERE a > 5;
INSERT INTO t (k, a) VALUES ('x', 6);
INSERT INTO t (k, a) VALUES ('x', 5);
ASSERT VALUES o (k, a) VALUES ('x', 6);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: INSERT INTO adds to a stream
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
CREATE STREAM o AS SELECT k, a FROM s;
INSERT INTO o SELECT k, a FROM r;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO r (k, a) VALUES ('y', 2);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: the value's format can be another
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='DELIMITED');
CREATE STREAM o WITH (VALUE_FORMAT='JSON', KAFKA_TOPIC='out') AS SELECT * FROM s;
INSERT INTO s (k, a, b) VALUES ('x', 1, 'b');
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 'b');
ASSERT STREAM o (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='out', VALUE_FORMAT='JSON');
