-- Joins of streams with tables.

--@test: an inner join sees the table as it is at that moment
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t ON s.k = t.k;
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'x', 'one');
INSERT INTO s (ROWTIME, k, a) VALUES (2, 'x', 2);
INSERT INTO t (ROWTIME, k, b) VALUES (3, 'x', 'two');
INSERT INTO s (ROWTIME, k, a) VALUES (4, 'x', 3);
INSERT INTO s (ROWTIME, k, a) VALUES (5, 'y', 4);
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (2, 'x', 2, 'one');
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (4, 'x', 3, 'two');

--@test: a left join
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, t.k AS tk, a, b FROM s LEFT JOIN t ON s.k = t.k;
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'x', 'one');
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (2, 'y', 2);
ASSERT VALUES o (k, tk, a, b) VALUES ('x', 'x', 1, 'one');
ASSERT VALUES o (k, tk, a, b) VALUES ('y', NULL, 2, NULL);

--@test: a row that was deleted from the table is no match
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s LEFT JOIN t ON s.k = t.k;
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'x', 'one');
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
--@record: t | x | null | 2
INSERT INTO s (ROWTIME, k, a) VALUES (3, 'x', 2);
ASSERT VALUES o (k, a, b) VALUES ('x', 1, 'one');
ASSERT VALUES o (k, a, b) VALUES ('x', 2, NULL);

--@test: an older row that comes later replaces what the table has
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t ON s.k = t.k;
INSERT INTO t (ROWTIME, k, b) VALUES (100, 'x', 'new');
INSERT INTO t (ROWTIME, k, b) VALUES (50, 'x', 'old');
INSERT INTO s (ROWTIME, k, a) VALUES (10, 'x', 1);
ASSERT VALUES o (ROWTIME, k, a, b) VALUES (10, 'x', 1, 'old');

--@test: a null key and a tombstone of the stream
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t ON s.k = t.k;
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'x', 'one');
INSERT INTO s (ROWTIME, k, a) VALUES (1, NULL, 1);
--@record: s | x | null | 2
INSERT INTO s (ROWTIME, k, a) VALUES (3, 'x', 2);
ASSERT VALUES o (k, a, b) VALUES ('x', 2, 'one');

--@test: by a column of the stream
CREATE STREAM s (k STRING KEY, ref INT, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.ref AS ref, s.k AS k, a, b FROM s JOIN t ON s.ref = t.id;
INSERT INTO t (ROWTIME, id, b) VALUES (1, 7, 'seven');
INSERT INTO s (ROWTIME, k, ref, a) VALUES (1, 'x', 7, 1);
INSERT INTO s (ROWTIME, k, ref, a) VALUES (2, 'y', NULL, 2);
INSERT INTO s (ROWTIME, k, ref, a) VALUES (3, 'z', 8, 3);
ASSERT VALUES o (ref, k, a, b) VALUES (7, 'x', 1, 'seven');
ASSERT STREAM o (ref INT KEY, k STRING, a INT, b STRING) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: by an expression of the stream
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT t.id AS id, s.k AS k, b FROM s JOIN t ON s.a % 10 = t.id;
INSERT INTO t (ROWTIME, id, b) VALUES (1, 7, 'seven');
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 17);
ASSERT VALUES o (id, k, b) VALUES (7, 'x', 'seven');

--@test: by a field of a struct
CREATE STREAM s (k STRING KEY, p STRUCT<id INT, q STRING>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, b STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT t.id AS id, s.p->q AS q, b FROM s LEFT JOIN t ON s.p->id = t.id;
INSERT INTO t (ROWTIME, id, b) VALUES (1, 7, 'seven');
INSERT INTO s (ROWTIME, k, p) VALUES (1, 'x', STRUCT(id := 7, q := 'v'));
ASSERT VALUES o (id, q, b) VALUES (7, 'v', 'seven');

--@test: the table is that of a query
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(*) AS c FROM s GROUP BY k;
CREATE STREAM q (k STRING KEY, b INT) WITH (KAFKA_TOPIC='q', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT q.k AS k, b, c FROM q JOIN t ON q.k = t.k;
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO q (ROWTIME, k, b) VALUES (2, 'x', 9);
ASSERT VALUES o (k, b, c) VALUES ('x', 9, 2);

--@test: WHERE on the table's column
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s LEFT JOIN t ON s.k = t.k WHERE t.b > 1 OR t.b IS NULL;
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'x', 1);
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'y', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'y', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'z', 1);
ASSERT VALUES o (k, a, b) VALUES ('y', 1, 2);
ASSERT VALUES o (k, a, b) VALUES ('z', 1, NULL);

--@test: all columns
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s JOIN t ON s.k = t.k;
INSERT INTO t (ROWTIME, k, b) VALUES (1, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 2);
ASSERT VALUES o (s_k, s_a, t_k, t_b) VALUES ('x', 2, 'x', 1);

--@test: an aggregate over a join
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, city STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT t.city AS city, SUM(s.a) AS total FROM s JOIN t ON s.k = t.k GROUP BY t.city;
INSERT INTO t (ROWTIME, k, city) VALUES (1, 'x', 'Rome');
INSERT INTO t (ROWTIME, k, city) VALUES (1, 'y', 'Rome');
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (2, 'y', 10);
ASSERT VALUES o (city, total) VALUES ('Rome', 1);
ASSERT VALUES o (city, total) VALUES ('Rome', 11);

--@test: a right join is not there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT t.k AS k, a, b FROM s RIGHT JOIN t ON s.k = t.k;
--@expected.error: KsqlError
--@expected.message: Invalid join type

--@test: a full join is not there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT ROWKEY, a, b FROM s FULL JOIN t ON s.k = t.k;
--@expected.error: KsqlError
--@expected.message: full-outer join not supported for stream-table join

--@test: a table with a stream
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT t.k AS k, a, b FROM t JOIN s ON s.k = t.k;
--@expected.error: KsqlError
--@expected.message: Invalid join order: table-stream joins are not supported; only stream-table joins

--@test: it has no window
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t WITHIN 1 HOUR ON s.k = t.k;
--@expected.error: KsqlError
--@expected.message: A window definition was provided for a Stream-Table join

--@test: the condition must be on the table's key
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t ON s.a = t.b;
--@expected.error: KsqlError
--@expected.message: Invalid join condition: stream-table joins require to join on the table's primary key
