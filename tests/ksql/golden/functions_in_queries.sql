-- Functions of numbers, arrays, maps and nulls where statements have expressions

--@test: lambdas over columns
CREATE STREAM s (k STRING KEY, xs ARRAY<INT>, m MAP<STRING, INT>, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(xs, x => x + i) AS a, FILTER(m, (n, v) => v > i) AS b, REDUCE(xs, 0, (t, x) => t + x) AS c FROM s;
INSERT INTO s (ROWTIME, K, XS, M, I) VALUES (1, 'a', ARRAY[1, 2], MAP('p' := 5, 'q' := 50), 10);
INSERT INTO s (ROWTIME, K, XS, M, I) VALUES (2, 'a', NULL, NULL, 10);
ASSERT VALUES o (ROWTIME, K, A, B, C) VALUES (1, 'a', ARRAY[11, 12], MAP('q' := 50), 3);
ASSERT VALUES o (ROWTIME, K, A, B, C) VALUES (2, 'a', NULL, NULL, 0);

--@test: a lambda's argument hides a column of the same name
CREATE STREAM s (k STRING KEY, xs ARRAY<INT>, x INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(xs, x => x * 2) AS a, x FROM s;
INSERT INTO s (ROWTIME, K, XS, X) VALUES (1, 'a', ARRAY[1, 2], 100);
ASSERT VALUES o (K, A, X) VALUES ('a', ARRAY[2, 4], 100);

--@test: a lambda within a lambda
CREATE STREAM s (k STRING KEY, xs ARRAY<ARRAY<INT>>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(xs, x => REDUCE(x, 0, (s, y) => s + y + ARRAY_LENGTH(x))) AS a FROM s;
INSERT INTO s (ROWTIME, K, XS) VALUES (1, 'a', ARRAY[ARRAY[1, 2], ARRAY[3]]);
ASSERT VALUES o (K, A) VALUES ('a', ARRAY[7, 4]);

--@test: a key as a value
CREATE STREAM s (k STRING KEY, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, AS_VALUE(k) AS id, COUNT(*) AS n FROM s GROUP BY k;
INSERT INTO s (ROWTIME, K, I) VALUES (1, 'a', 1);
ASSERT VALUES t (K, ID, N) VALUES ('a', 'a', 1);

--@test: what cannot be computed is null, and the row stays
CREATE STREAM s (k STRING KEY, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, GENERATE_SERIES(1, 3, i) AS a, GEO_DISTANCE(i * 90, 0, 0, 0) AS d, i FROM s;
INSERT INTO s (ROWTIME, K, I) VALUES (1, 'a', 0);
INSERT INTO s (ROWTIME, K, I) VALUES (2, 'a', 2);
ASSERT VALUES o (K, A, D, I) VALUES ('a', NULL, 0.0, 0);
ASSERT VALUES o (K, A, D, I) VALUES ('a', ARRAY[1, 3], NULL, 2);

--@test: a condition that cannot be computed drops the row
CREATE STREAM s (k STRING KEY, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, i FROM s WHERE ARRAY_LENGTH(GENERATE_SERIES(1, 4, i)) > 1;
INSERT INTO s (ROWTIME, K, I) VALUES (1, 'a', 0);
INSERT INTO s (ROWTIME, K, I) VALUES (2, 'a', 1);
INSERT INTO s (ROWTIME, K, I) VALUES (3, 'a', -1);
INSERT INTO s (ROWTIME, K, I) VALUES (4, 'a', 9);
ASSERT VALUES o (ROWTIME, K, I) VALUES (2, 'a', 1);

--@test: conditions on collections
CREATE STREAM s (k STRING KEY, xs ARRAY<STRING>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY_JOIN(ARRAY_SORT(xs), '') AS t FROM s WHERE ARRAY_CONTAINS(xs, 'b') AND NOT ARRAY_CONTAINS(xs, 'z');
INSERT INTO s (ROWTIME, K, XS) VALUES (1, '1', ARRAY['c', 'b', 'a']);
INSERT INTO s (ROWTIME, K, XS) VALUES (2, '2', ARRAY['b', 'z']);
INSERT INTO s (ROWTIME, K, XS) VALUES (3, '3', NULL);
INSERT INTO s (ROWTIME, K, XS) VALUES (4, '4', ARRAY['b', NULL]);
ASSERT VALUES o (K, T) VALUES ('1', 'abc');
ASSERT VALUES o (K, T) VALUES ('4', 'bnull');

--@test: a function in GROUP BY
CREATE STREAM s (k STRING KEY, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT SIGN(i) AS g, COUNT(*) AS n, SUM(ABS(i)) AS a FROM s GROUP BY SIGN(i);
INSERT INTO s (ROWTIME, K, I) VALUES (1, 'a', -5);
INSERT INTO s (ROWTIME, K, I) VALUES (2, 'b', 7);
INSERT INTO s (ROWTIME, K, I) VALUES (3, 'c', -6);
INSERT INTO s (ROWTIME, K, I) VALUES (4, 'd', NULL);
ASSERT VALUES t (G, N, A) VALUES (-1, 1, 5);
ASSERT VALUES t (G, N, A) VALUES (1, 1, 7);
ASSERT VALUES t (G, N, A) VALUES (-1, 2, 11);

--@test: a function in PARTITION BY
CREATE STREAM s (k STRING KEY, i INT, j INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT GREATEST(i, j) AS g, k FROM s PARTITION BY GREATEST(i, j);
INSERT INTO s (ROWTIME, K, I, J) VALUES (1, 'a', 5, 7);
INSERT INTO s (ROWTIME, K, I, J) VALUES (2, 'b', 5, NULL);
ASSERT VALUES o (G, K) VALUES (7, 'a');
ASSERT VALUES o (G, K) VALUES (5, 'b');

--@test: the first that is not null
CREATE STREAM s (k STRING KEY, a STRING, b STRING, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, COALESCE(a, b, 'none') AS x, IFNULL(a, '-') AS y, NULLIF(i, 0) AS z FROM s;
INSERT INTO s (ROWTIME, K, A, B, I) VALUES (1, '1', 'p', 'q', 0);
INSERT INTO s (ROWTIME, K, A, B, I) VALUES (2, '2', NULL, 'q', 1);
INSERT INTO s (ROWTIME, K, A, B, I) VALUES (3, '3', NULL, NULL, NULL);
ASSERT VALUES o (K, X, Y, Z) VALUES ('1', 'p', 'p', NULL);
ASSERT VALUES o (K, X, Y, Z) VALUES ('2', 'q', '-', 1);
ASSERT VALUES o (K, X, Y, Z) VALUES ('3', 'none', '-', NULL);

--@test: decimals keep the digits that their types promise
CREATE STREAM s (k STRING KEY, m DECIMAL(6, 3)) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ROUND(m, 1) AS a, ROUND(m) AS b, CEIL(m) AS c, FLOOR(m) AS d, TRUNC(m, 2) AS e, ABS(m) AS f, GREATEST(m, 1.5) AS g FROM s;
INSERT INTO s (ROWTIME, K, M) VALUES (1, 'a', -12.345);
INSERT INTO s (ROWTIME, K, M) VALUES (2, 'a', NULL);
ASSERT VALUES o (K, A, B, C, D, E, F, G) VALUES ('a', -12.300, -12, -12.000, -13.000, -12.340, 12.345, 1.500);
ASSERT VALUES o (K, A, B, C, D, E, F, G) VALUES ('a', NULL, NULL, NULL, NULL, NULL, NULL, 1.500);

--@test: entries of a map, taken apart
CREATE STREAM s (k STRING KEY, m MAP<STRING, BIGINT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, EXPLODE(ENTRIES(m, TRUE)) AS e FROM s;
CREATE STREAM p AS SELECT k, e->k AS name, e->v AS number FROM o;
INSERT INTO s (ROWTIME, K, M) VALUES (1, 'a', MAP('y' := 2, 'x' := 1));
ASSERT VALUES p (K, NAME, NUMBER) VALUES ('a', 'x', 1);
ASSERT VALUES p (K, NAME, NUMBER) VALUES ('a', 'y', 2);

--@test: maps made and united
CREATE STREAM s (k STRING KEY, a ARRAY<STRING>, b ARRAY<INT>, m MAP<STRING, INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, MAP_UNION(m, AS_MAP(a, b)) AS u, MAP_KEYS(m) AS x, MAP_VALUES(m) AS y FROM s;
INSERT INTO s (ROWTIME, K, A, B, M) VALUES (1, '1', ARRAY['p', 'q'], ARRAY[1, 2], MAP('q' := 9, 'r' := 8));
INSERT INTO s (ROWTIME, K, A, B, M) VALUES (2, '2', ARRAY['p', 'q'], ARRAY[1], NULL);
ASSERT VALUES o (K, U, X, Y) VALUES ('1', MAP('q' := 2, 'r' := 8, 'p' := 1), ARRAY['q', 'r'], ARRAY[9, 8]);
ASSERT VALUES o (K, U, X, Y) VALUES ('2', MAP('p' := 1, 'q' := NULL), NULL, NULL);

--@test: arrays as sets
CREATE STREAM s (k STRING KEY, a ARRAY<INT>, b ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY_UNION(a, b) AS u, ARRAY_INTERSECT(a, b) AS i, ARRAY_EXCEPT(a, b) AS e, ARRAY_DISTINCT(a) AS d, ARRAY_REMOVE(a, 1) AS r, ARRAY_CONCAT(a, b) AS c FROM s;
INSERT INTO s (ROWTIME, K, A, B) VALUES (1, '1', ARRAY[1, 2, 1, NULL], ARRAY[2, 3]);
INSERT INTO s (ROWTIME, K, A, B) VALUES (2, '2', NULL, ARRAY[2]);
ASSERT VALUES o (K, U, I, E, D, R, C) VALUES ('1', ARRAY[1, 2, NULL, 3], ARRAY[2], ARRAY[1, NULL], ARRAY[1, 2, NULL], ARRAY[2, NULL], ARRAY[1, 2, 1, NULL, 2, 3]);
ASSERT VALUES o (K, U, I, E, D, R, C) VALUES ('2', NULL, NULL, NULL, NULL, NULL, ARRAY[2]);

--@test: the extremes and parts of an array
CREATE STREAM s (k STRING KEY, a ARRAY<DOUBLE>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY_MAX(a) AS hi, ARRAY_MIN(a) AS lo, SLICE(a, 1, 2) AS p, ARRAY_SORT(a, 'DESC') AS d FROM s;
INSERT INTO s (ROWTIME, K, A) VALUES (1, 'a', ARRAY[2.5, NULL, 10.0]);
INSERT INTO s (ROWTIME, K, A) VALUES (2, 'a', ARRAY[1.0]);
ASSERT VALUES o (K, HI, LO, P, D) VALUES ('a', 10.0, 2.5, ARRAY[2.5, NULL], ARRAY[10.0, 2.5, NULL]);
ASSERT VALUES o (K, HI, LO, P, D) VALUES ('a', 1.0, 1.0, NULL, ARRAY[1.0]);

--@test: numbers of every kind
CREATE STREAM s (k STRING KEY, i INT, d DOUBLE) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, SQRT(i) AS a, POWER(i, 2) AS b, ROUND(d) AS c, TRUNC(d) AS e, CEIL(d) AS f, FLOOR(d) AS g, LEAST(i, 3) AS h, ROUND(DEGREES(PI()), 3) AS p FROM s;
INSERT INTO s (ROWTIME, K, I, D) VALUES (1, 'a', 9, -1.5);
INSERT INTO s (ROWTIME, K, I, D) VALUES (2, 'a', NULL, NULL);
ASSERT VALUES o (K, A, B, C, E, F, G, H, P) VALUES ('a', 3.0, 81.0, -1, -1, -1.0, -2.0, 3, 180.0);
ASSERT VALUES o (K, A, B, C, E, F, G, H, P) VALUES ('a', NULL, NULL, NULL, NULL, NULL, NULL, 3, 180.0);

--@test: a lambda that gives no boolean
CREATE STREAM s (k STRING KEY, xs ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, FILTER(xs, x => x + 1) AS a FROM s;
--@expected.error: KsqlError
--@expected.message: Function 'FILTER' does not accept parameters (ARRAY<INTEGER>, LAMBDA)

--@test: a name that neither the lambda nor the stream has
CREATE STREAM s (k STRING KEY, xs ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(xs, x => x + y) AS a FROM s;
--@expected.error: KsqlError
--@expected.message: Column 'Y' cannot be resolved

--@test: a lambda where none is taken
CREATE STREAM s (k STRING KEY, xs ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY_SORT(xs, x => x) AS a FROM s;
--@expected.error: KsqlError
--@expected.message: Function 'ARRAY_SORT' does not accept parameters (ARRAY<INTEGER>, LAMBDA)

--@test: arrays of maps have no order
CREATE STREAM s (k STRING KEY, xs ARRAY<MAP<STRING, INT>>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY_MAX(xs) AS a FROM s;
--@expected.error: KsqlError
--@expected.message: ARRAY_MAX does not compare values of type MAP<STRING, INTEGER>
