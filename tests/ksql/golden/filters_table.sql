-- WHERE on tables: rows come, change and go; what was never shown is never taken back.

--@test: a row that never fitted leaves no tombstone
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT * FROM t WHERE a > 5;
INSERT INTO t (k, a) VALUES ('x', 1);
INSERT INTO t (k, a) VALUES ('x', 6);
INSERT INTO t (k, a) VALUES ('x', 2);
INSERT INTO t (k, a) VALUES ('x', 1);
INSERT INTO t (k, a) VALUES ('y', 7);
ASSERT VALUES o (k, a) VALUES ('x', 6);
ASSERT NULL VALUES o (k) KEY ('x');
ASSERT VALUES o (k, a) VALUES ('y', 7);

--@test: of a subquery
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, b FROM (SELECT k, a + 1 AS b FROM t) i WHERE b > 5;
INSERT INTO t (k, a) VALUES ('x', 1);
INSERT INTO t (k, a) VALUES ('y', 7);
INSERT INTO t (k, a) VALUES ('y', 1);
ASSERT VALUES o (k, b) VALUES ('y', 8);
ASSERT NULL VALUES o (k) KEY ('y');

--@test: of two tables
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE u (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='u', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT t.k AS k, a, b FROM t JOIN u ON t.k = u.k WHERE a > b;
INSERT INTO t (k, a) VALUES ('x', 1);
INSERT INTO u (k, b) VALUES ('x', 2);
INSERT INTO t (k, a) VALUES ('x', 3);
INSERT INTO u (k, b) VALUES ('x', 4);
INSERT INTO t (k, a) VALUES ('x', 4);
ASSERT VALUES o (k, a, b) VALUES ('x', 3, 2);
ASSERT NULL VALUES o (k) KEY ('x');
