-- GROUP BY: what rows are grouped by, of streams and tables.

--@test: the key
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k;
INSERT INTO s (ROWTIME, k, n) VALUES (5, 'x', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (3, 'x', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (4, 'y', 1);
ASSERT VALUES o (ROWTIME, k, c) VALUES (5, 'x', 1);
ASSERT VALUES o (ROWTIME, k, c) VALUES (5, 'x', 2);
ASSERT VALUES o (ROWTIME, k, c) VALUES (4, 'y', 1);

--@test: a column, and a null in it
CREATE STREAM s (k STRING KEY, a INT, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a, SUM(n) AS total FROM s GROUP BY a;
INSERT INTO s (k, a, n) VALUES ('x', 1, 10);
INSERT INTO s (k, a, n) VALUES ('y', NULL, 100);
INSERT INTO s (k, a, n) VALUES ('z', 1, 20);
ASSERT VALUES o (a, total) VALUES (1, 10);
ASSERT VALUES o (a, total) VALUES (1, 30);
ASSERT TABLE o (a INT PRIMARY KEY, total INT) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: an expression with a name
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT n % 2 AS odd, COUNT(*) AS c FROM s GROUP BY n % 2;
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('y', 2);
INSERT INTO s (k, n) VALUES ('z', 3);
ASSERT VALUES o (odd, c) VALUES (1, 1);
ASSERT VALUES o (odd, c) VALUES (0, 1);
ASSERT VALUES o (odd, c) VALUES (1, 2);

--@test: an expression without a name
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT n + 1, COUNT(*) FROM s GROUP BY n + 1;
INSERT INTO s (k, n) VALUES ('x', 1);
ASSERT VALUES o (KSQL_COL_0, KSQL_COL_1) VALUES (2, 1);

--@test: an expression that fails leaves the row out
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a / b AS q, COUNT(*) AS c FROM s GROUP BY a / b;
INSERT INTO s (k, a, b) VALUES ('x', 1, 0);
INSERT INTO s (k, a, b) VALUES ('y', 4, 2);
ASSERT VALUES o (q, c) VALUES (2, 1);

--@test: several columns
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT a, b, COUNT(*) AS c FROM s GROUP BY a, b;
INSERT INTO s (k, a, b) VALUES ('x', 1, 'p');
INSERT INTO s (k, a, b) VALUES ('y', 1, 'q');
INSERT INTO s (k, a, b) VALUES ('z', NULL, 'p');
INSERT INTO s (k, a, b) VALUES ('w', 1, 'p');
ASSERT VALUES o (a, b, c) VALUES (1, 'p', 1);
ASSERT VALUES o (a, b, c) VALUES (1, 'q', 1);
ASSERT VALUES o (a, b, c) VALUES (1, 'p', 2);

--@test: several columns in parentheses, in another order
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT COUNT(*) AS c, b, a FROM s GROUP BY (a, b);
INSERT INTO s (k, a, b) VALUES ('x', 1, 'p');
ASSERT VALUES o (a, b, c) VALUES (1, 'p', 1);

--@test: a field of a struct
CREATE STREAM s (k STRING KEY, p STRUCT<city STRING, n INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT p->city, SUM(p->n) AS total FROM s GROUP BY p->city;
INSERT INTO s (k, p) VALUES ('x', STRUCT(city := 'Rome', n := 1));
INSERT INTO s (k, p) VALUES ('y', NULL);
INSERT INTO s (k, p) VALUES ('z', STRUCT(city := 'Rome', n := 2));
ASSERT VALUES o (city, total) VALUES ('Rome', 1);
ASSERT VALUES o (city, total) VALUES ('Rome', 3);

--@test: a struct
CREATE STREAM s (k STRING KEY, p STRUCT<x INT, y INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT p, COUNT(*) AS c FROM s GROUP BY p;
INSERT INTO s (k, p) VALUES ('x', STRUCT(x := 1, y := 2));
INSERT INTO s (k, p) VALUES ('y', STRUCT(x := 1, y := 2));
INSERT INTO s (k, p) VALUES ('z', STRUCT(x := 1, y := 3));
ASSERT VALUES o (p, c) VALUES (STRUCT(x := 1, y := 2), 1);
ASSERT VALUES o (p, c) VALUES (STRUCT(x := 1, y := 2), 2);
ASSERT VALUES o (p, c) VALUES (STRUCT(x := 1, y := 3), 1);

--@test: an element of an array and one of a map
CREATE STREAM s (k STRING KEY, xs ARRAY<STRING>, m MAP<STRING, STRING>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT xs[1] AS x, m['v'] AS v, COUNT(*) AS c FROM s GROUP BY xs[1], m['v'];
INSERT INTO s (k, xs, m) VALUES ('x', ARRAY['a', 'b'], MAP('v' := 'w'));
INSERT INTO s (k, xs, m) VALUES ('y', ARRAY['a'], MAP('u' := 'w'));
ASSERT VALUES o (x, v, c) VALUES ('a', 'w', 1);

--@test: what is grouped by, in an expression of the projection
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a, a * 10 AS ten, COUNT(*) + a AS c FROM s GROUP BY a;
INSERT INTO s (k, a) VALUES ('x', 3);
ASSERT VALUES o (a, ten, c) VALUES (3, 30, 4);

--@test: the group's key copied into the value
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, AS_VALUE(k) AS copy, COUNT(*) AS c FROM s GROUP BY k;
INSERT INTO s (k, a) VALUES ('x', 3);
ASSERT VALUES o (k, copy, c) VALUES ('x', 'x', 1);

--@test: the group must be selected
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT COUNT(*) AS c FROM s GROUP BY a;
--@expected.error: KsqlError
--@expected.message: must include the grouping expression A in its projection

--@test: the groups of a table follow its rows
CREATE TABLE t (k STRING PRIMARY KEY, city STRING, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT city, COUNT(*) AS c, SUM(n) AS total FROM t GROUP BY city;
INSERT INTO t (ROWTIME, k, city, n) VALUES (0, 'x', 'Rome', 1);
INSERT INTO t (ROWTIME, k, city, n) VALUES (1, 'y', 'Rome', 2);
INSERT INTO t (ROWTIME, k, city, n) VALUES (2, 'x', 'Oslo', 4);
ASSERT VALUES o (city, c, total) VALUES ('Rome', 1, 1);
ASSERT VALUES o (city, c, total) VALUES ('Rome', 2, 3);
ASSERT VALUES o (city, c, total) VALUES ('Rome', 1, 2);
ASSERT VALUES o (city, c, total) VALUES ('Oslo', 1, 4);

--@test: a row that is deleted leaves its group
CREATE TABLE t (k STRING PRIMARY KEY, city STRING, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT city, COUNT(*) AS c, SUM(n) AS total FROM t GROUP BY city;
INSERT INTO t (ROWTIME, k, city, n) VALUES (0, 'x', 'Rome', 1);
INSERT INTO t (ROWTIME, k, city, n) VALUES (1, 'y', 'Rome', 2);
--@record: t | x | null | 2
ASSERT VALUES o (city, c, total) VALUES ('Rome', 1, 1);
ASSERT VALUES o (city, c, total) VALUES ('Rome', 2, 3);
ASSERT VALUES o (city, c, total) VALUES ('Rome', 1, 2);

--@test: a row of a table whose group becomes null
CREATE TABLE t (k STRING PRIMARY KEY, city STRING, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT city, COUNT(*) AS c FROM t GROUP BY city;
INSERT INTO t (ROWTIME, k, city, n) VALUES (0, 'x', 'Rome', 1);
INSERT INTO t (ROWTIME, k, city, n) VALUES (1, 'y', 'Rome', 1);
INSERT INTO t (ROWTIME, k, city, n) VALUES (2, 'x', NULL, 1);
INSERT INTO t (ROWTIME, k, city, n) VALUES (3, 'x', 'Oslo', 1);
ASSERT VALUES o (city, c) VALUES ('Rome', 1);
ASSERT VALUES o (city, c) VALUES ('Rome', 2);
ASSERT VALUES o (city, c) VALUES ('Rome', 1);
ASSERT VALUES o (city, c) VALUES ('Oslo', 1);

--@test: a row of a table that is written again
CREATE TABLE t (k STRING PRIMARY KEY, city STRING, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT city, SUM(n) AS total FROM t WHERE n > 0 GROUP BY city;
INSERT INTO t (ROWTIME, k, city, n) VALUES (0, 'x', 'Rome', 1);
INSERT INTO t (ROWTIME, k, city, n) VALUES (1, 'y', 'Rome', 5);
INSERT INTO t (ROWTIME, k, city, n) VALUES (2, 'y', 'Rome', -1);
ASSERT VALUES o (city, total) VALUES ('Rome', 1);
ASSERT VALUES o (city, total) VALUES ('Rome', 6);
ASSERT VALUES o (city, total) VALUES ('Rome', 1);

--@test: groups of a table by an expression
CREATE TABLE t (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT SUBSTRING(k, 1, 1) AS initial, COUNT(*) AS c FROM t GROUP BY SUBSTRING(k, 1, 1);
INSERT INTO t (ROWTIME, k, n) VALUES (0, 'ab', 1);
INSERT INTO t (ROWTIME, k, n) VALUES (1, 'ac', 1);
ASSERT VALUES o (initial, c) VALUES ('a', 1);
ASSERT VALUES o (initial, c) VALUES ('a', 2);

--@test: a name that the projection gives is not one to group by
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a + 1 AS b, COUNT(*) AS c FROM s GROUP BY b;
--@expected.error: KsqlError
--@expected.message: Column 'B' cannot be resolved

--@test: an aggregate is not one to group by
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT COUNT(*) AS c FROM s GROUP BY COUNT(*);
--@expected.error: KsqlError
--@expected.message: GROUP BY does not support aggregate functions

--@test: without an aggregate
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: GROUP BY requires aggregate functions in either the SELECT or HAVING clause

--@test: a column that is neither grouped nor aggregated
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, b, COUNT(*) AS c FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Non-aggregate SELECT expression(s) not part of GROUP BY: S.B

--@test: the result is a table
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Your SELECT query produces a TABLE. Please use CREATE TABLE AS SELECT statement instead

--@test: a group for each day of a timestamp
CREATE STREAM s (k STRING KEY, t TIMESTAMP) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o WITH (KEY_FORMAT='JSON') AS SELECT CAST(t AS DATE) AS day, COUNT(*) AS c FROM s GROUP BY CAST(t AS DATE);
INSERT INTO s (k, t) VALUES ('x', '2024-02-29T23:59:59');
INSERT INTO s (k, t) VALUES ('y', '2024-02-29T00:00:00');
INSERT INTO s (k, t) VALUES ('z', '2024-03-01T00:00:00');
ASSERT VALUES o (day, c) VALUES ('2024-02-29', 1);
ASSERT VALUES o (day, c) VALUES ('2024-02-29', 2);
ASSERT VALUES o (day, c) VALUES ('2024-03-01', 1);

--@test: the last row of a group leaves, and its count stays as zero
CREATE TABLE t (k STRING PRIMARY KEY, g STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT g, COUNT(*) AS c FROM t GROUP BY g;
INSERT INTO t (k, g) VALUES ('a', 'x');
INSERT INTO t (k, g) VALUES ('a', 'y');
ASSERT VALUES o (g, c) VALUES ('x', 1);
ASSERT VALUES o (g, c) VALUES ('x', 0);
ASSERT VALUES o (g, c) VALUES ('y', 1);
