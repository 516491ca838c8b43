-- UNION and subqueries in FROM, which ksqlDB does not have.

--@test: two streams as one
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s UNION ALL SELECT k, b FROM r;
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, b) VALUES (2, 'y', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (3, 'x', 3);
ASSERT VALUES o (ROWTIME, k, a) VALUES (1, 'x', 1);
ASSERT VALUES o (ROWTIME, k, a) VALUES (2, 'y', 2);
ASSERT VALUES o (ROWTIME, k, a) VALUES (3, 'x', 3);

--@test: three, each with its filter
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE a = 1 UNION ALL SELECT k, a * 10 FROM s WHERE a = 2 UNION ALL SELECT k, -a FROM s WHERE a > 2;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 2);
INSERT INTO s (k, a) VALUES ('x', 3);
ASSERT VALUES o (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 20);
ASSERT VALUES o (k, a) VALUES ('x', -3);

--@test: columns of other types
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, b STRING) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s UNION ALL SELECT k, b FROM r;
--@expected.error: KsqlError
--@expected.message: Both sides of a UNION must have the same columns

--@test: a subquery
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, b + 1 AS c FROM (SELECT k, a * 2 AS b FROM s WHERE a > 0) AS q WHERE b < 10;
INSERT INTO s (k, a) VALUES ('x', 0);
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 5);
ASSERT VALUES o (k, c) VALUES ('x', 3);

--@test: an aggregate of a union
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, SUM(a) AS total FROM (SELECT k, a FROM s UNION ALL SELECT k, a FROM r) AS u GROUP BY k;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO r (k, a) VALUES ('x', 10);
ASSERT VALUES o (k, total) VALUES ('x', 1);
ASSERT VALUES o (k, total) VALUES ('x', 11);

--@test: an aggregate of a subquery with another key
CREATE STREAM s (k STRING KEY, city STRING, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT city, SUM(n) AS total FROM (SELECT city, n * 2 AS n FROM s PARTITION BY city) AS q GROUP BY city;
INSERT INTO s (k, city, n) VALUES ('x', 'Rome', 1);
INSERT INTO s (k, city, n) VALUES ('y', 'Rome', 2);
ASSERT VALUES o (city, total) VALUES ('Rome', 2);
ASSERT VALUES o (city, total) VALUES ('Rome', 6);

--@test: a join with a subquery
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, q.c AS c FROM s JOIN (SELECT k, b * 2 AS c FROM t) AS q ON s.k = q.k;
INSERT INTO t (ROWTIME, k, b) VALUES (0, 'x', 5);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
ASSERT VALUES o (k, a, c) VALUES ('x', 1, 10);

--@test: a filter on a subquery that aggregates
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, c FROM (SELECT k, COUNT(*) AS c FROM s GROUP BY k) AS q WHERE c > 1;
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('x', 1);
INSERT INTO s (k, n) VALUES ('y', 1);
ASSERT VALUES o (k, c) VALUES ('x', 2);

--@test: a subquery in a window
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, SUM(m) AS total FROM (SELECT k, n + 1 AS m FROM s) AS q WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
INSERT INTO s (ROWTIME, k, n) VALUES (0, 'x', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (9999, 'x', 2);
INSERT INTO s (ROWTIME, k, n) VALUES (10000, 'x', 3);
ASSERT VALUES o (k, WINDOWSTART, total) VALUES ('x', 0, 2);
ASSERT VALUES o (k, WINDOWSTART, total) VALUES ('x', 0, 5);
ASSERT VALUES o (k, WINDOWSTART, total) VALUES ('x', 10000, 4);
