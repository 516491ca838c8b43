-- Every type as a column, nested, compared, cast and computed with.

--@test: every type, and null in each
CREATE STREAM s (k STRING KEY, a BOOLEAN, b INT, c BIGINT, d DOUBLE, e DECIMAL(6, 3), f STRING, g BYTES, h DATE, i TIME, j TIMESTAMP)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
INSERT INTO s VALUES ('x', TRUE, 2147483647, 9223372036854775807, 1.5E10, 123.456, 'text', TO_BYTES('00ff', 'hex'), '2024-02-29', '23:59:59.999', '2024-02-29T23:59:59.999');
INSERT INTO s (k) VALUES ('y');
ASSERT VALUES o (k, a, b, c, d, e, f, g, h, i, j) VALUES ('x', TRUE, 2147483647, 9223372036854775807, 1.5E10, 123.456, 'text', TO_BYTES('00ff', 'hex'), '2024-02-29', '23:59:59.999', '2024-02-29T23:59:59.999');
ASSERT VALUES o (k, a, b, c, d, e, f, g, h, i, j) VALUES ('y', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

--@test: names for the same type
CREATE STREAM s (k VARCHAR KEY, a INTEGER, b VARCHAR) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
ASSERT STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');

--@test: the least numbers
CREATE STREAM s (k STRING KEY, a INT, b BIGINT, c DOUBLE) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('x', -2147483648, -9223372036854775807, -1.7976931348623157E308);
ASSERT VALUES s (a, b, c) VALUES (-2147483648, -9223372036854775807, -1.7976931348623157E308);

--@test: arrays, maps and structs in each other
CREATE STREAM s (k STRING KEY, a ARRAY<ARRAY<INT>>, m MAP<STRING, ARRAY<STRUCT<x INT, y STRING>>>, st STRUCT<a ARRAY<INT>, m MAP<STRING, DOUBLE>>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a[2][1] AS one, m['p'][1]->y AS two, st->m['q'] AS three, a, m, st FROM s;
INSERT INTO s VALUES ('x', ARRAY[ARRAY[1], ARRAY[2, 3]], MAP('p' := ARRAY[STRUCT(x := 1, y := 'v')]), STRUCT(a := ARRAY[5], m := MAP('q' := 1.5)));
ASSERT VALUES o (k, one, two, three, a, st) VALUES ('x', 2, 'v', 1.5, ARRAY[ARRAY[1], ARRAY[2, 3]], STRUCT(a := ARRAY[5], m := MAP('q' := 1.5)));

--@test: elements that are not there
CREATE STREAM s (k STRING KEY, a ARRAY<INT>, m MAP<STRING, INT>, st STRUCT<x STRUCT<y INT>>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a[5] AS p, a[-1] AS last, m['no'] AS q, st->x->y AS r FROM s;
INSERT INTO s VALUES ('x', ARRAY[1, 2], MAP('yes' := 1), NULL);
INSERT INTO s (k) VALUES ('y');
ASSERT VALUES o (k, p, last, q, r) VALUES ('x', NULL, 2, NULL, NULL);
ASSERT VALUES o (k, p, last, q, r) VALUES ('y', NULL, NULL, NULL, NULL);

--@test: a map with numbers as keys
CREATE STREAM s (k STRING KEY, m MAP<INT, STRING>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');
CREATE STREAM o AS SELECT k, m[7] AS v FROM s;
INSERT INTO s VALUES ('x', MAP(7 := 'seven'));
ASSERT VALUES o (k, v) VALUES ('x', 'seven');

--@test: arithmetic takes the wider type
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(4, 2))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, i + i AS a, i + l AS b, l + d AS c, i + m AS e, l * m AS f, m + d AS g FROM s;
INSERT INTO s VALUES ('x', 1, 2, 0.5, 1.25);
ASSERT VALUES o (k, a, b, c, e, f, g) VALUES ('x', 2, 3, 2.5, 2.25, 2.50, 1.75);
ASSERT STREAM o (k STRING KEY, a INT, b BIGINT, c DOUBLE, e DECIMAL(13, 2), f DECIMAL(24, 2), g DOUBLE) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: decimals in sums, products, quotients and remainders
CREATE STREAM s (k STRING KEY, a DECIMAL(4, 2), b DECIMAL(5, 3))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a + b AS p, a - b AS m, a * b AS t, a / b AS d, a % b AS r FROM s;
INSERT INTO s VALUES ('x', 10.00, 3.000);
ASSERT VALUES o (k, p, m, t, d, r) VALUES ('x', 13.000, 7.000, 30.00000, 3.33333333, 1.000);
ASSERT STREAM o (k STRING KEY, p DECIMAL(6, 3), m DECIMAL(6, 3), t DECIMAL(10, 5), d DECIMAL(13, 8), r DECIMAL(5, 3)) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: whole numbers are divided as such
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a / b AS d, a % b AS r FROM s;
INSERT INTO s (k, a, b) VALUES ('x', 7, 2);
INSERT INTO s (k, a, b) VALUES ('y', -7, 2);
ASSERT VALUES o (k, d, r) VALUES ('x', 3, 1);
ASSERT VALUES o (k, d, r) VALUES ('y', -3, -1);

--@test: casts of numbers
CREATE STREAM s (k STRING KEY, d DOUBLE, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(d AS INT) AS i, CAST(d AS BIGINT) AS l, CAST(d AS DECIMAL(6, 1)) AS m, CAST(d AS STRING) AS s, CAST(t AS INT) AS ti, CAST(t AS DOUBLE) AS td FROM s;
INSERT INTO s VALUES ('x', -1.75, '42');
ASSERT VALUES o (k, i, l, m, s, ti, td) VALUES ('x', -1, -1, -1.8, '-1.75', 42, 42.0);

--@test: a cast that fails is null
CREATE STREAM s (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(t AS INT) AS i, CAST(t AS BOOLEAN) AS b, t FROM s;
INSERT INTO s (k, t) VALUES ('x', 'true');
INSERT INTO s (k, t) VALUES ('y', '5');
INSERT INTO s (k, t) VALUES ('z', NULL);
ASSERT VALUES o (k, i, b, t) VALUES ('x', NULL, TRUE, 'true');
ASSERT VALUES o (k, i, b, t) VALUES ('y', 5, FALSE, '5');
ASSERT VALUES o (k, i, b, t) VALUES ('z', NULL, NULL, NULL);

--@test: casts to text
CREATE STREAM s (k STRING KEY, b BOOLEAN, l BIGINT, m DECIMAL(6, 2), d DATE, t TIME, ts TIMESTAMP)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(b AS STRING) AS b, CAST(l AS STRING) AS l, CAST(m AS STRING) AS m, CAST(d AS STRING) AS d, CAST(t AS STRING) AS t, CAST(ts AS STRING) AS ts FROM s;
INSERT INTO s VALUES ('x', FALSE, 12, 1.5, '2024-02-29', '01:02:03', '2024-02-29T01:02:03.004');
ASSERT VALUES o (k, b, l, m, d, t, ts) VALUES ('x', 'false', '12', '1.50', '2024-02-29', '01:02:03', '2024-02-29T01:02:03.004');

--@test: casts of arrays, maps and structs
CREATE STREAM s (k STRING KEY, a ARRAY<INT>, m MAP<STRING, INT>, st STRUCT<x INT, y STRING>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(a AS ARRAY<STRING>) AS a, CAST(m AS MAP<STRING, DOUBLE>) AS m, CAST(st AS STRUCT<x BIGINT, z INT>) AS st FROM s;
INSERT INTO s VALUES ('x', ARRAY[1, 2], MAP('p' := 3), STRUCT(x := 4, y := 'v'));
ASSERT VALUES o (k, a, m, st) VALUES ('x', ARRAY['1', '2'], MAP('p' := 3.0), STRUCT(x := CAST(4 AS BIGINT), z := CAST(NULL AS INT)));

--@test: a decimal that is too large for its type
CREATE STREAM s (k STRING KEY, d DOUBLE) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(d AS DECIMAL(4, 2)) AS m FROM s;
INSERT INTO s (k, d) VALUES ('x', 99.994);
INSERT INTO s (k, d) VALUES ('y', 100.0);
ASSERT VALUES o (k, m) VALUES ('x', 99.99);
ASSERT VALUES o (k, m) VALUES ('y', NULL);

--@test: comparisons of numbers of different types
CREATE STREAM s (k STRING KEY, i INT, d DOUBLE, m DECIMAL(4, 2))
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, i = d AS a, i < m AS b, d >= m AS c, i <> 1 AS e FROM s;
INSERT INTO s VALUES ('x', 1, 1.0, 1.01);
ASSERT VALUES o (k, a, b, c, e) VALUES ('x', TRUE, TRUE, FALSE, FALSE);

--@test: comparisons of texts, and bytes
CREATE STREAM s (k STRING KEY, a STRING, b STRING, x BYTES) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a < b AS lt, a = b AS eq, x = TO_BYTES('ff', 'hex') AS bytes FROM s;
INSERT INTO s VALUES ('x', 'Zoo', 'apple', TO_BYTES('ff', 'hex'));
ASSERT VALUES o (k, lt, eq, bytes) VALUES ('x', TRUE, FALSE, TRUE);

--@test: comparisons of times with texts
CREATE STREAM s (k STRING KEY, d DATE, t TIME, ts TIMESTAMP)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, d > '2024-01-01' AS a, t = '12:00:00' AS b, ts BETWEEN '2024-02-29' AND '2024-02-29T12:00:00' AS c, ts > d AS e FROM s;
INSERT INTO s VALUES ('x', '2024-02-29', '12:00:00', '2024-02-29T11:00:00');
ASSERT VALUES o (k, a, b, c, e) VALUES ('x', TRUE, TRUE, TRUE, TRUE);

--@test: dates, times and timestamps from each other
CREATE STREAM s (k STRING KEY, ts TIMESTAMP) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(ts AS DATE) AS d, CAST(ts AS TIME) AS t, CAST(CAST(ts AS DATE) AS TIMESTAMP) AS midnight FROM s;
INSERT INTO s VALUES ('x', '2024-02-29T11:12:13.014');
ASSERT VALUES o (k, d, t, midnight) VALUES ('x', '2024-02-29', '11:12:13.014', '2024-02-29T00:00:00');

--@test: before the epoch
CREATE STREAM s (k STRING KEY, d DATE, ts TIMESTAMP) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(d AS STRING) AS d, UNIX_TIMESTAMP(ts) AS ms, CAST(ts AS DATE) AS day FROM s;
INSERT INTO s VALUES ('x', '1969-12-31', '1969-12-31T23:59:59.999');
ASSERT VALUES o (k, d, ms, day) VALUES ('x', '1969-12-31', -1, '1969-12-31');

--@test: typed literals
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, DATE '2024-02-29' AS d, TIME '01:02:03' AS t, TIMESTAMP '2024-02-29T01:02:03' AS ts, 1.50 AS m, 1.5E0 AS f, 3000000000 AS l, 'it''s' AS s FROM s;
INSERT INTO s VALUES ('x', 1);
ASSERT VALUES o (k, d, t, ts, m, f, l, s) VALUES ('x', '2024-02-29', '01:02:03', '2024-02-29T01:02:03', 1.50, 1.5, 3000000000, 'it''s');
ASSERT STREAM o (k STRING KEY, d DATE, t TIME, ts TIMESTAMP, m DECIMAL(3, 2), f DOUBLE, l BIGINT, s STRING) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');

--@test: a decimal with more places than it may have
CREATE STREAM s (k STRING KEY, m DECIMAL(2, 3)) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: DECIMAL precision must be >= scale

--@test: a map whose keys are structs
CREATE STREAM s (k STRING KEY, m MAP<STRUCT<x INT>, INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: The 'JSON' format only supports MAP types with STRING keys

--@test: keys of every type that KAFKA has
CREATE STREAM a (k INT KEY, v INT) WITH (KAFKA_TOPIC='a', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM b (k BIGINT KEY, v INT) WITH (KAFKA_TOPIC='b', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM c (k DOUBLE KEY, v INT) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM d (k BYTES KEY, v INT) WITH (KAFKA_TOPIC='d', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO a VALUES (-1, 1);
INSERT INTO b VALUES (-1, 2);
INSERT INTO c VALUES (-1.5, 3);
INSERT INTO d VALUES (TO_BYTES('00', 'hex'), 4);
ASSERT VALUES a (k, v) VALUES (-1, 1);
ASSERT VALUES b (k, v) VALUES (-1, 2);
ASSERT VALUES c (k, v) VALUES (-1.5, 3);
ASSERT VALUES d (k, v) VALUES (TO_BYTES('00', 'hex'), 4);
