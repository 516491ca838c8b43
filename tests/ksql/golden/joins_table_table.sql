-- Joins of tables with tables by their primary keys.

--@test: an inner join is there when both sides are
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, a, b FROM l JOIN r ON l.k = r.k;
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, b) VALUES (10, 'x', 10);
INSERT INTO r (ROWTIME, k, b) VALUES (11, 'y', 20);
INSERT INTO l (ROWTIME, k, a) VALUES (5, 'x', 2);
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (10, 'x', 1, 10);
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (10, 'x', 2, 10);

--@test: an inner join goes when one side does
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, a, b FROM l JOIN r ON l.k = r.k;
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'y', 2);
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'x', 10);
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'y', 20);
--@record: l | x | null | 2
--@record: r | y | null | 3
INSERT INTO l (ROWTIME, k, a) VALUES (4, 'x', 5);
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 10);
ASSERT VALUES o (k, a, b) VALUES ('y', 2, 20);
ASSERT NULL VALUES o (k) KEY ('x');
ASSERT NULL VALUES o (k) KEY ('y');
ASSERT VALUES o (k, a, b) VALUES ('x', 5, 10);

--@test: a left join
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, r.k AS rk, a, b FROM l LEFT JOIN r ON l.k = r.k;
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'x', 10);
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'y', 20);
--@record: r | x | null | 2
--@record: l | x | null | 3
INSERT INTO l (ROWTIME, k, a) VALUES (4, 'y', 2);
ASSERT VALUES o (k, rk, a, b) VALUES ('x', NULL, 1, NULL);
ASSERT VALUES o (k, rk, a, b) VALUES ('x', 'x', 1, 10);
ASSERT VALUES o (k, rk, a, b) VALUES ('x', NULL, 1, NULL);
ASSERT NULL VALUES o (k) KEY ('x');
ASSERT VALUES o (k, rk, a, b) VALUES ('y', 'y', 2, 20);

--@test: a right join
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT r.k AS k, a, b FROM l RIGHT JOIN r ON l.k = r.k;
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'x', 1);
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 10);
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'y', 20);
--@record: l | x | null | 2
--@record: r | x | null | 3
ASSERT VALUES o (k, a, b) VALUES ('x', NULL, 1);
ASSERT VALUES o (k, a, b) VALUES ('x', 10, 1);
ASSERT VALUES o (k, a, b) VALUES ('x', NULL, 1);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: a full join
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT ROWKEY AS k, l.k AS lk, r.k AS rk, a, b FROM l FULL OUTER JOIN r ON l.k = r.k;
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'x', 10);
INSERT INTO r (ROWTIME, k, b) VALUES (2, 'y', 20);
--@record: l | x | null | 3
--@record: r | x | null | 4
ASSERT VALUES o (k, lk, rk, a, b) VALUES ('x', 'x', NULL, 1, NULL);
ASSERT VALUES o (k, lk, rk, a, b) VALUES ('x', 'x', 'x', 1, 10);
ASSERT VALUES o (k, lk, rk, a, b) VALUES ('y', NULL, 'y', NULL, 20);
ASSERT VALUES o (k, lk, rk, a, b) VALUES ('x', NULL, 'x', NULL, 10);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: rows without a key are no rows of a table
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, a, b FROM l LEFT JOIN r ON l.k = r.k;
--@record: l | null | {"A": 1} | 0
--@record: r | null | {"B": 1} | 0
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
ASSERT VALUES o (k, a, b) VALUES ('x', 1, NULL);

--@test: WHERE takes joined rows back
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, a, b FROM l JOIN r ON l.k = r.k WHERE a + b > 10;
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, b) VALUES (1, 'x', 10);
INSERT INTO r (ROWTIME, k, b) VALUES (2, 'x', 9);
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 10);
ASSERT NULL VALUES o (k) KEY ('x');

--@test: all columns
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM l JOIN r ON l.k = r.k;
INSERT INTO l (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO r (ROWTIME, k, a) VALUES (1, 'x', 2);
ASSERT VALUES o (l_k, l_a, r_k, r_a) VALUES ('x', 1, 'x', 2);
ASSERT TABLE o (l_k STRING PRIMARY KEY, l_a INT, r_k STRING, r_a INT) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: keys of several columns
CREATE TABLE l (k STRING PRIMARY KEY, j INT PRIMARY KEY, a INT)
  WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, j INT PRIMARY KEY, b INT)
  WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON', KEY_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, l.j AS j, a, b FROM l JOIN r ON l.k = r.k AND l.j = r.j;
INSERT INTO l (ROWTIME, k, j, a) VALUES (1, 'x', 1, 1);
INSERT INTO r (ROWTIME, k, j, b) VALUES (1, 'x', 2, 10);
INSERT INTO r (ROWTIME, k, j, b) VALUES (1, 'x', 1, 20);
ASSERT VALUES o (k, j, a, b) VALUES ('x', 1, 1, 20);

--@test: a table with one that was aggregated
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, SUM(n) AS total FROM s GROUP BY k;
CREATE TABLE r (k STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT r.k AS k, name, total FROM r LEFT JOIN t ON r.k = t.k;
INSERT INTO r (ROWTIME, k, name) VALUES (1, 'x', 'Ada');
INSERT INTO s (ROWTIME, k, n) VALUES (1, 'x', 3);
INSERT INTO s (ROWTIME, k, n) VALUES (2, 'x', 4);
ASSERT VALUES o (k, name, total) VALUES ('x', 'Ada', NULL);
ASSERT VALUES o (k, name, total) VALUES ('x', 'Ada', 3);
ASSERT VALUES o (k, name, total) VALUES ('x', 'Ada', 7);

--@test: windowed tables are joined window by window
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
CREATE TABLE t AS SELECT k, SUM(n) AS total FROM s WINDOW TUMBLING (SIZE 10 SECONDS) WHERE n > 1 GROUP BY k;
CREATE TABLE o AS SELECT c.k AS k, c.n AS n, total FROM c JOIN t ON c.k = t.k;
INSERT INTO s (ROWTIME, k, n) VALUES (1, 'x', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (1, 'x', 5);
INSERT INTO s (ROWTIME, k, n) VALUES (10000, 'x', 7);
ASSERT VALUES o (k, WINDOWSTART, n, total) VALUES ('x', 0, 2, 5);
ASSERT VALUES o (k, WINDOWSTART, n, total) VALUES ('x', 10000, 1, 7);

--@test: it has no window
CREATE TABLE l (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT l.k AS k, a, b FROM l JOIN r WITHIN 5 SECONDS ON l.k = r.k;
--@expected.error: KsqlError
--@expected.message: A window definition was provided for a Table-Table join

--@test: a windowed table with one that is not
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
CREATE TABLE r (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT c.k AS k, n, b FROM c JOIN r ON c.k = r.k;
--@expected.error: KsqlError
--@expected.message: Can not join windowed source to non-windowed source

--@test: sessions are joined session by session
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE a AS SELECT k, COUNT(*) AS c FROM s WINDOW SESSION (10 SECONDS) GROUP BY k;
CREATE TABLE b AS SELECT k, SUM(n) AS t FROM s WINDOW SESSION (10 SECONDS) GROUP BY k;
CREATE TABLE o AS SELECT a.k AS k, c, t FROM a JOIN b ON a.k = b.k;
INSERT INTO s (ROWTIME, k, n) VALUES (1, 'x', 5);
INSERT INTO s (ROWTIME, k, n) VALUES (20000, 'x', 6);
ASSERT VALUES o (k, WINDOWSTART, WINDOWEND, c, t) VALUES ('x', 1, 1, 1, 5);
ASSERT VALUES o (k, WINDOWSTART, WINDOWEND, c, t) VALUES ('x', 20000, 20000, 1, 6);

--@test: a session's table with one of time windows
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE a AS SELECT k, COUNT(*) AS c FROM s WINDOW SESSION (10 SECONDS) GROUP BY k;
CREATE TABLE b AS SELECT k, SUM(n) AS t FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
CREATE TABLE o AS SELECT a.k AS k, c, t FROM a JOIN b ON a.k = b.k;
--@expected.error: KsqlError
--@expected.message: Incompatible windowed sources
