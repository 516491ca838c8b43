-- PARTITION BY: another key for a stream's rows.

--@test: a column becomes the key, and the key a column
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s PARTITION BY a;
INSERT INTO s (ROWTIME, k, a, b) VALUES (5, 'x', 1, 'one');
INSERT INTO s (ROWTIME, k, a, b) VALUES (6, 'y', 2, 'two');
ASSERT VALUES o (ROWTIME, a, k, b) VALUES (5, 1, 'x', 'one');
ASSERT VALUES o (ROWTIME, a, k, b) VALUES (6, 2, 'y', 'two');
ASSERT STREAM o (a INT KEY, k STRING, b STRING) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: rows keep their order and their time
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a, k FROM s PARTITION BY a;
INSERT INTO s (ROWTIME, k, a) VALUES (9, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (3, 'y', 1);
ASSERT VALUES o (ROWTIME, a, k) VALUES (9, 1, 'x');
ASSERT VALUES o (ROWTIME, a, k) VALUES (3, 1, 'y');

--@test: a column that is null gives a null key
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a, b FROM s PARTITION BY a;
INSERT INTO s (k, a, b) VALUES ('x', NULL, 'one');
ASSERT VALUES o (a, b) VALUES (NULL, 'one');

--@test: an expression
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT UCASE(k) AS u, k, a FROM s PARTITION BY UCASE(k);
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (u, k, a) VALUES ('X', 'x', 1);

--@test: an expression without a name
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a + 1, k FROM s PARTITION BY a + 1;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (KSQL_COL_0, k) VALUES (2, 'x');

--@test: all columns and an expression
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s PARTITION BY a * 10;
INSERT INTO s (k, a) VALUES ('x', 4);
ASSERT VALUES o (KSQL_COL_0, k, a) VALUES (40, 'x', 4);

--@test: an expression that fails gives a null key
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a / b AS q, k FROM s PARTITION BY a / b;
INSERT INTO s (k, a, b) VALUES ('x', 1, 0);
INSERT INTO s (k, a, b) VALUES ('y', 6, 2);
ASSERT VALUES o (q, k) VALUES (NULL, 'x');
ASSERT VALUES o (q, k) VALUES (3, 'y');

--@test: several columns
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT a, b, k FROM s PARTITION BY a, b;
INSERT INTO s (k, a, b) VALUES ('x', 1, 'p');
INSERT INTO s (k, a, b) VALUES ('y', NULL, 'q');
ASSERT VALUES o (a, b, k) VALUES (1, 'p', 'x');
ASSERT VALUES o (a, b, k) VALUES (NULL, 'q', 'y');

--@test: several columns do not fit into a KAFKA key
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a, b, k FROM s PARTITION BY a, b;
--@expected.error: KsqlError
--@expected.message: The 'KAFKA' format only supports a single field

--@test: a field of a struct
CREATE STREAM s (k STRING KEY, p STRUCT<id INT, name STRING>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT p->id, p->name, k FROM s PARTITION BY p->id;
INSERT INTO s (k, p) VALUES ('x', STRUCT(id := 3, name := 'n'));
ASSERT VALUES o (id, name, k) VALUES (3, 'n', 'x');

--@test: the key that it has already
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s PARTITION BY k;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (k, a) VALUES ('x', 1);

--@test: no key at all
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a, k FROM s PARTITION BY NULL;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (a, k) VALUES (1, 'x');
ASSERT STREAM o (a INT, k STRING) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON', KEY_FORMAT='NONE');

--@test: after WHERE, of the row's time
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT ROWTIME AS t, k FROM s WHERE a > 1 PARTITION BY ROWTIME;
INSERT INTO s (ROWTIME, k, a) VALUES (5, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (6, 'y', 2);
ASSERT VALUES o (t, k) VALUES (6, 'y');

--@test: a key copied before it goes
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT a AS id, AS_VALUE(a) AS a, k FROM s PARTITION BY a;
INSERT INTO s (k, a) VALUES ('x', 1);
ASSERT VALUES o (id, a, k) VALUES (1, 1, 'x');

--@test: the new key must be selected
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k FROM s PARTITION BY a;
--@expected.error: KsqlError
--@expected.message: must include the partitioning expression A in its projection

--@test: after a join
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, city STRING) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT t.city AS city, s.k AS k, a FROM s JOIN t ON s.k = t.k PARTITION BY t.city;
INSERT INTO t (ROWTIME, k, city) VALUES (0, 'x', 'Rome');
INSERT INTO s (ROWTIME, k, a) VALUES (1, 'x', 5);
ASSERT VALUES o (city, k, a) VALUES ('Rome', 'x', 5);

--@test: an aggregate of the stream that has another key
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM p AS SELECT a, k FROM s PARTITION BY a;
CREATE TABLE o AS SELECT a, COUNT(*) AS c FROM p GROUP BY a;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('y', 1);
INSERT INTO s (k, a) VALUES ('z', 2);
ASSERT VALUES o (a, c) VALUES (1, 1);
ASSERT VALUES o (a, c) VALUES (1, 2);
ASSERT VALUES o (a, c) VALUES (2, 1);

--@test: a table has the key that it has
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a, k FROM t PARTITION BY a;
--@expected.error: KsqlError
--@expected.message: PARTITION BY is not supported on a TABLE

--@test: a map is no key
CREATE STREAM s (k STRING KEY, m MAP<STRING, INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT m, k FROM s PARTITION BY m;
--@expected.error: KsqlError
--@expected.message: keys must not have MAP types in them

--@test: a windowed stream keeps its windows
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
CREATE STREAM r (k STRING KEY, c BIGINT)
  WITH (KAFKA_TOPIC='T', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 SECONDS');
CREATE STREAM o AS SELECT c, k FROM r PARTITION BY c;
INSERT INTO s (ROWTIME, k, n) VALUES (0, 'x', 1);
INSERT INTO s (ROWTIME, k, n) VALUES (10000, 'x', 1);
ASSERT VALUES o (c, WINDOWSTART, k) VALUES (1, 0, 'x');
ASSERT VALUES o (c, WINDOWSTART, k) VALUES (1, 10000, 'x');
