-- HAVING: rows of an aggregate that come and go with a condition.

--@test: rows come when they fit and go when they do not
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, SUM(n) AS total FROM s GROUP BY k HAVING SUM(n) > 10;
INSERT INTO s (k, n) VALUES ('x', 5);
INSERT INTO s (k, n) VALUES ('x', 6);
INSERT INTO s (k, n) VALUES ('x', -5);
INSERT INTO s (k, n) VALUES ('x', 10);
INSERT INTO s (k, n) VALUES ('y', 11);
ASSERT VALUES o (k, total) VALUES ('x', 11);
ASSERT NULL VALUES o (k) KEY ('x');
ASSERT VALUES o (k, total) VALUES ('x', 16);
ASSERT VALUES o (k, total) VALUES ('y', 11);

--@test: rows that never fitted are not taken back
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k HAVING COUNT(*) = 3;
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 1);
ASSERT VALUES o (k, c) VALUES ('x', 3);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: an aggregate that is not selected
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k HAVING MAX(n) > 5 AND MIN(n) < 2;
INSERT INTO s (k, n) VALUES ('x', 6);
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 3);
ASSERT VALUES o (k, c) VALUES ('x', 2);
ASSERT VALUES o (k, c) VALUES ('x', 3);

--@test: only in HAVING
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, AS_VALUE(k) AS copy FROM s GROUP BY k HAVING COUNT(*) > 1;
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 1);
ASSERT VALUES o (k, copy) VALUES ('x', 'x');

--@test: what is grouped by
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k HAVING k <> 'x';
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('y', 1);
ASSERT VALUES o (k, c) VALUES ('y', 1);

--@test: an expression of aggregates
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, AVG(n) AS mean FROM s GROUP BY k HAVING SUM(n) / COUNT(*) >= 2 AND COUNT(*) > 1;
INSERT INTO s (k, n) VALUES ('x', 4);
INSERT INTO s (k, n) VALUES ('x', 2);
INSERT INTO s (k, n) VALUES ('x', -3);
ASSERT VALUES o (k, mean) VALUES ('x', 3.0);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: a condition that is null does not hold
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c, MAX(n) AS m FROM s GROUP BY k HAVING MAX(n) > 0;
INSERT INTO s (k, n) VALUES ('x', NULL);
INSERT INTO s (k, n) VALUES ('x', 1);
ASSERT VALUES o (k, c, m) VALUES ('x', 2, 1);

--@test: of a table's groups
CREATE TABLE t (k STRING PRIMARY KEY, g STRING, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT g, COUNT(*) AS c FROM t GROUP BY g HAVING COUNT(*) > 1;
INSERT INTO t (k, g, n) VALUES ('a', 'x', 1);
INSERT INTO t (k, g, n) VALUES ('b', 'x', 1);
INSERT INTO t (k, g, n) VALUES ('a', 'y', 1);
ASSERT VALUES o (g, c) VALUES ('x', 2);
ASSERT NULL VALUES o (g) KEY ('x');

--@test: WHERE first, then HAVING
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s WHERE n > 0 GROUP BY k HAVING COUNT(*) > 1;
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 0);
INSERT INTO s (k, n) VALUES ('x', 2);
ASSERT VALUES o (k, c) VALUES ('x', 2);

--@test: a column that is not grouped
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k HAVING n > 1;
--@expected.error: KsqlError
--@expected.message: Non-aggregate HAVING expression not part of GROUP BY: S.N

--@test: without GROUP BY
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, n FROM s HAVING n > 1;
--@expected.error: KsqlError
--@expected.message: HAVING requires a GROUP BY clause

--@test: not a condition
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k HAVING SUM(n) + 1;
--@expected.error: KsqlError
--@expected.message: Type error in HAVING expression: Should evaluate to boolean

--@test: a name that the projection gives
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k HAVING c > 1;
--@expected.error: KsqlError
--@expected.message: Column 'C' cannot be resolved
