-- Joined sources need equal numbers of partitions, unless the query lays one of them anew.

--@test: topics of unequal partitions cannot be joined
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=3, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k AS k, a, b FROM s JOIN t ON s.k = t.k;
--@expected.error: KsqlError
--@expected.message: Can't join S with T since the number of partitions don't match. S partitions = 2; T partitions = 3.

--@test: what is repartitioned on the way may be joined
CREATE STREAM s (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, b INT) WITH (KAFKA_TOPIC='t', PARTITIONS=3, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.a AS a, b FROM s JOIN t ON s.a = t.k;
INSERT INTO t VALUES ('y', 1);
INSERT INTO s VALUES ('x', 'y');
ASSERT VALUES o (a, b) VALUES ('y', 1);
