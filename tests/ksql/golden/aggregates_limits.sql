-- Limits of what aggregates keep, from properties.

--@test: COLLECT_LIST and COLLECT_SET keep as many as the server says
SET 'ksql.functions.collect_list.limit'='2';
SET 'ksql.functions.collect_set.limit'='1';
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COLLECT_LIST(a) AS l, COLLECT_SET(a) AS d FROM s GROUP BY k;
INSERT INTO s VALUES ('x', 1);
INSERT INTO s VALUES ('x', 2);
INSERT INTO s VALUES ('x', 3);
ASSERT VALUES o (k, l, d) VALUES ('x', ARRAY[1], ARRAY[1]);
ASSERT VALUES o (k, l, d) VALUES ('x', ARRAY[1, 2], ARRAY[1]);
ASSERT VALUES o (k, l, d) VALUES ('x', ARRAY[1, 2], ARRAY[1]);
