-- Expressions: operators and their order, conditions, texts, arrays, maps, structs, lambdas.

--@test: the order of operators
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a + b * 2 AS p, (a + b) * 2 AS q, a - b - 1 AS r, -a + b AS s, a * b % 4 AS t, - -a AS u FROM s;
INSERT INTO s VALUES ('x', 5, 3);
ASSERT VALUES o (p, q, r, s, t, u) VALUES (11, 16, 1, -2, 3, 5);

--@test: AND before OR, NOT before both
CREATE STREAM s (k STRING KEY, a BOOLEAN, b BOOLEAN, c BOOLEAN)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a OR b AND c AS p, (a OR b) AND c AS q, NOT a OR b AS r, NOT (a OR b) AS s FROM s;
INSERT INTO s VALUES ('x', TRUE, FALSE, FALSE);
ASSERT VALUES o (p, q, r, s) VALUES (TRUE, FALSE, FALSE, FALSE);

--@test: arithmetic with a null is null
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a + b AS p, a * b AS q, -b AS r FROM s;
INSERT INTO s VALUES ('x', 5, NULL);
ASSERT VALUES o (k, p, q, r) VALUES ('x', NULL, NULL, NULL);

--@test: comparisons
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a = 2 AS p, a <> 2 AS q, a != 3 AS r, a < 2 AS s, a <= 2 AS t, a > 2 AS u, a >= 2 AS v FROM s;
INSERT INTO s VALUES ('x', 2);
ASSERT VALUES o (p, q, r, s, t, u, v) VALUES (TRUE, FALSE, TRUE, FALSE, TRUE, FALSE, TRUE);

--@test: IS NULL and IS DISTINCT FROM
CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a IS NULL AS p, a IS NOT NULL AS q, a IS DISTINCT FROM b AS r, a IS NOT DISTINCT FROM b AS s FROM s;
INSERT INTO s (k, a, b) VALUES ('x', 1, 1);
INSERT INTO s (k, a, b) VALUES ('x', 1, 2);
INSERT INTO s (k, a, b) VALUES ('x', NULL, 1);
INSERT INTO s (k, a, b) VALUES ('x', NULL, NULL);
ASSERT VALUES o (p, q, r, s) VALUES (FALSE, TRUE, FALSE, TRUE);
ASSERT VALUES o (p, q, r, s) VALUES (FALSE, TRUE, TRUE, FALSE);
ASSERT VALUES o (p, q, r, s) VALUES (TRUE, FALSE, TRUE, FALSE);
ASSERT VALUES o (p, q, r, s) VALUES (TRUE, FALSE, FALSE, TRUE);

--@test: a comparison with null does not hold in a filter, nor its contrary
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM p AS SELECT * FROM s WHERE a = 1;
CREATE STREAM q AS SELECT * FROM s WHERE a <> 1;
INSERT INTO s (k, a) VALUES ('x', NULL);
INSERT INTO s (k, a) VALUES ('y', 1);
INSERT INTO s (k, a) VALUES ('z', 2);
ASSERT VALUES p (k, a) VALUES ('y', 1);
ASSERT VALUES q (k, a) VALUES ('z', 2);

--@test: BETWEEN
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE a BETWEEN 2 AND 4;
CREATE STREAM n AS SELECT k, a FROM s WHERE a NOT BETWEEN 2 AND 4;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 2);
INSERT INTO s (k, a) VALUES ('x', 4);
INSERT INTO s (k, a) VALUES ('x', 5);
ASSERT VALUES o (a) VALUES (2);
ASSERT VALUES o (a) VALUES (4);
ASSERT VALUES n (a) VALUES (1);
ASSERT VALUES n (a) VALUES (5);

--@test: BETWEEN of texts, and bounds the wrong way round
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, k BETWEEN 'b' AND 'd' AS p, a BETWEEN 4 AND 2 AS q FROM s;
INSERT INTO s VALUES ('c', 3);
ASSERT VALUES o (p, q) VALUES (TRUE, FALSE);

--@test: IN
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a IN (1, 2) AS p, a NOT IN (1, 2) AS q, k IN ('x', 'y') AS r FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('z', 3);
ASSERT VALUES o (p, q, r) VALUES (TRUE, FALSE, TRUE);
ASSERT VALUES o (p, q, r) VALUES (FALSE, TRUE, FALSE);

--@test: IN takes numbers of other types and expressions
CREATE STREAM s (k STRING KEY, a INT, b DOUBLE) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, b IN (1, 2.5) AS p, a IN (b, a + 1, 7) AS q FROM s;
INSERT INTO s (k, a, b) VALUES ('x', 1, 1.0);
INSERT INTO s (k, a, b) VALUES ('x', 3, 2.5);
ASSERT VALUES o (p, q) VALUES (TRUE, TRUE);
ASSERT VALUES o (p, q) VALUES (TRUE, FALSE);

--@test: LIKE
CREATE STREAM s (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, t LIKE 'a%' AS p, t LIKE '_b_' AS q, t LIKE '%c' AS r, t NOT LIKE '%b%' AS s, t LIKE 'abc' AS u FROM s;
INSERT INTO s (k, t) VALUES ('x', 'abc');
INSERT INTO s (k, t) VALUES ('x', 'ABC');
INSERT INTO s (k, t) VALUES ('x', 'aab');
ASSERT VALUES o (p, q, r, s, u) VALUES (TRUE, TRUE, TRUE, FALSE, TRUE);
ASSERT VALUES o (p, q, r, s, u) VALUES (FALSE, FALSE, FALSE, TRUE, FALSE);
ASSERT VALUES o (p, q, r, s, u) VALUES (TRUE, FALSE, FALSE, FALSE, FALSE);

--@test: LIKE with an escape, and what is special elsewhere
CREATE STREAM s (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, t LIKE '100!%' ESCAPE '!' AS p, t LIKE '1.0%' AS q FROM s;
INSERT INTO s (k, t) VALUES ('x', '100%');
INSERT INTO s (k, t) VALUES ('x', '1000');
INSERT INTO s (k, t) VALUES ('x', '1.05');
ASSERT VALUES o (p, q) VALUES (TRUE, FALSE);
ASSERT VALUES o (p, q) VALUES (FALSE, FALSE);
ASSERT VALUES o (p, q) VALUES (FALSE, TRUE);

--@test: CASE by conditions
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CASE WHEN a > 10 THEN 'large' WHEN a > 5 THEN 'middle' ELSE 'small' END AS size FROM s;
INSERT INTO s (k, a) VALUES ('x', 11);
INSERT INTO s (k, a) VALUES ('x', 6);
INSERT INTO s (k, a) VALUES ('x', 5);
INSERT INTO s (k, a) VALUES ('x', NULL);
ASSERT VALUES o (size) VALUES ('large');
ASSERT VALUES o (size) VALUES ('middle');
ASSERT VALUES o (size) VALUES ('small');
ASSERT VALUES o (size) VALUES ('small');

--@test: CASE by a value
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CASE a WHEN 1 THEN 'one' WHEN 2 THEN 'two' END AS name FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 2);
INSERT INTO s (k, a) VALUES ('x', 3);
ASSERT VALUES o (name) VALUES ('one');
ASSERT VALUES o (name) VALUES ('two');
ASSERT VALUES o (name) VALUES (NULL);

--@test: CASE computes only what it needs
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CASE WHEN a = 0 THEN -1 ELSE 100 / a END AS q FROM s;
INSERT INTO s (k, a) VALUES ('x', 0);
INSERT INTO s (k, a) VALUES ('x', 7);
ASSERT VALUES o (q) VALUES (-1);
ASSERT VALUES o (q) VALUES (14);

--@test: CASE with a null among its results
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CASE WHEN a = 1 THEN NULL ELSE a END AS v FROM s;
INSERT INTO s (k, a) VALUES ('x', 1);
INSERT INTO s (k, a) VALUES ('x', 2);
ASSERT VALUES o (v) VALUES (NULL);
ASSERT VALUES o (v) VALUES (2);

--@test: texts put together
CREATE STREAM s (k STRING KEY, a STRING, b INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a || '-' || CAST(b AS STRING) AS p, 'x' + a AS q, CONCAT(a, '!') AS r FROM s;
INSERT INTO s VALUES ('x', 'p', 1);
ASSERT VALUES o (p, q, r) VALUES ('p-1', 'xp', 'p!');

--@test: a BOOLEAN as the condition
CREATE STREAM s (k STRING KEY, b BOOLEAN) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE b;
CREATE STREAM n AS SELECT * FROM s WHERE NOT b;
INSERT INTO s (k, b) VALUES ('x', TRUE);
INSERT INTO s (k, b) VALUES ('y', FALSE);
INSERT INTO s (k, b) VALUES ('z', NULL);
ASSERT VALUES o (k) VALUES ('x');
ASSERT VALUES n (k) VALUES ('y');

--@test: elements of arrays
CREATE STREAM s (k STRING KEY, a ARRAY<INT>, i INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a[1] AS p, a[-1] AS q, a[i] AS r, a[i + 1] AS s, a[ARRAY_LENGTH(a)] AS t FROM s;
INSERT INTO s VALUES ('x', ARRAY[10, 20, 30], 2);
ASSERT VALUES o (p, q, r, s, t) VALUES (10, 30, 20, 30, 30);

--@test: arrays, maps and structs that are made
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY[a, a + 1, NULL] AS p, MAP('k' := a, b := 2) AS q, STRUCT(x := a, `y` := ARRAY[b]) AS r FROM s;
INSERT INTO s VALUES ('x', 1, 'p');
ASSERT VALUES o (p, q, r) VALUES (ARRAY[1, 2, NULL], MAP('k' := 1, 'p' := 2), STRUCT(x := 1, `y` := ARRAY['p']));

--@test: elements of what is made
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY['p', 'q'][a] AS p, MAP('u' := a)['u'] AS q, STRUCT(f := a * 2)->f AS r FROM s;
INSERT INTO s VALUES ('x', 2);
ASSERT VALUES o (p, q, r) VALUES ('q', 2, 4);

--@test: lambdas over arrays
CREATE STREAM s (k STRING KEY, a ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(a, x => x * x) AS p, FILTER(a, x => x > 1) AS q, REDUCE(a, 100, (acc, x) => acc + x) AS r FROM s;
INSERT INTO s VALUES ('x', ARRAY[1, 2, 3]);
ASSERT VALUES o (p, q, r) VALUES (ARRAY[1, 4, 9], ARRAY[2, 3], 106);

--@test: lambdas over maps
CREATE STREAM s (k STRING KEY, m MAP<STRING, INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(m, (k, v) => UCASE(k), (k, v) => v + 1) AS p, FILTER(m, (k, v) => v > 1) AS q, REDUCE(m, 0, (s, k, v) => s + v) AS r FROM s;
INSERT INTO s VALUES ('x', MAP('a' := 1, 'b' := 2));
ASSERT VALUES o (p, q, r) VALUES (MAP('A' := 2, 'B' := 3), MAP('b' := 2), 3);

--@test: lambdas with columns of the row, and within each other
CREATE STREAM s (k STRING KEY, a ARRAY<ARRAY<INT>>, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(a, x => REDUCE(x, 0, (s, y) => s + y * n)) AS p FROM s;
INSERT INTO s VALUES ('x', ARRAY[ARRAY[1, 2], ARRAY[3]], 10);
ASSERT VALUES o (p) VALUES (ARRAY[30, 30]);

--@test: a function within a function
CREATE STREAM s (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, LEN(TRIM(UCASE(SUBSTRING(t, 2)))) AS p, COALESCE(NULLIF(t, 'none'), 'nothing') AS q FROM s;
INSERT INTO s (k, t) VALUES ('x', ' abc ');
INSERT INTO s (k, t) VALUES ('x', 'none');
ASSERT VALUES o (p, q) VALUES (3, ' abc ');
ASSERT VALUES o (p, q) VALUES (3, 'nothing');

--@test: names of functions and keywords in any case
CREATE STREAM s (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
create stream o as select k, uCase(t) as u, case when t = 'a' then 1 end as n from s where t is not null;
INSERT INTO s (k, t) VALUES ('x', 'a');
INSERT INTO s (k, t) VALUES ('y', NULL);
ASSERT VALUES o (k, u, n) VALUES ('x', 'A', 1);

--@test: a column by its source's name, and by an alias
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k, s.a + 1 AS b FROM s;
CREATE STREAM p AS SELECT x.k, x.a + 2 AS b FROM s AS x WHERE x.a > 0;
INSERT INTO s VALUES ('x', 1);
ASSERT VALUES o (k, b) VALUES ('x', 2);
ASSERT VALUES p (k, b) VALUES ('x', 3);

--@test: a row goes on where one of its columns fails
CREATE STREAM s (k STRING KEY, a INT, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, 1 / a AS q, CAST(t AS INT) AS i, a FROM s;
INSERT INTO s VALUES ('x', 0, 'no');
ASSERT VALUES o (k, q, i, a) VALUES ('x', NULL, NULL, 0);

--@test: a remainder by zero, and one of decimals
CREATE STREAM s (k STRING KEY, a INT, m DECIMAL(4, 2)) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, 5 % a AS p, m / a AS q FROM s;
INSERT INTO s VALUES ('x', 0, 1.00);
ASSERT VALUES o (k, p, q) VALUES ('x', NULL, NULL);

--@test: division of a DOUBLE
CREATE STREAM s (k STRING KEY, d DOUBLE) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, d / 0.5E0 AS p FROM s;
INSERT INTO s VALUES ('x', 1.0);
ASSERT VALUES o (p) VALUES (2.0);

--@test: long conditions
CREATE STREAM s (k STRING KEY, a INT, b INT, t STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM (SELECT k, a FROM s WHERE (a > 1 AND (b < 5 OR t LIKE 'p%')) OR NOT (a IN (0, 1) OR b IS NULL)) AS q WHERE a <> 3;
INSERT INTO s (k, a, b, t) VALUES ('one', 2, 4, 'x');
INSERT INTO s (k, a, b, t) VALUES ('two', 2, 9, 'pq');
INSERT INTO s (k, a, b, t) VALUES ('three', 3, 4, 'x');
INSERT INTO s (k, a, b, t) VALUES ('four', 0, NULL, 'x');
ASSERT VALUES o (k) VALUES ('one');
ASSERT VALUES o (k) VALUES ('two');

--@test: a text put together with a null
CREATE STREAM s (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, 'x' || a AS p, CONCAT('x', a, 'y') AS q, CONCAT_WS('-', 'x', a, 'y') AS r FROM s;
INSERT INTO s VALUES ('x', NULL);
ASSERT VALUES o (p, q, r) VALUES ('x', 'xy', 'x-y');

--@test: numbers go around at their ends
CREATE STREAM s (k STRING KEY, a INT, l BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a + 1 AS p, l + 1 AS q FROM s;
INSERT INTO s VALUES ('x', 2147483647, 9223372036854775807);
ASSERT VALUES o (p, q) VALUES (-2147483648, CAST('-9223372036854775808' AS BIGINT));

--@test: a comparison with null is false
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a > 1 AS p, a = 1 AS q, a <> 1 AS r, a IN (1, 2) AS t FROM s;
INSERT INTO s VALUES ('x', NULL);
ASSERT VALUES o (p, q, r, t) VALUES (FALSE, FALSE, FALSE, FALSE);

--@test: ROWTIME compared with a text
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE ROWTIME >= '2024-02-29' AND '2024-02-29T12:00' > ROWTIME;
INSERT INTO s (ROWTIME, k, a) VALUES (1709164799999, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1709164800000, 'y', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (1709208000000, 'z', 3);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: ROWTIME between texts with a zone
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE ROWTIME BETWEEN '2024-02-29T01:00:00+0100' AND '2024-02-29T00:00:00.500';
INSERT INTO s (ROWTIME, k, a) VALUES (1709164799999, 'x', 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1709164800500, 'y', 2);
INSERT INTO s (ROWTIME, k, a) VALUES (1709164800501, 'z', 3);
ASSERT VALUES o (k, a) VALUES ('y', 2);

--@test: ROWTIME compared with a text that is no time
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE ROWTIME >= 'yesterday';
--@expected.error: KsqlError
--@expected.message: Failed to parse timestamp 'yesterday'

--@test: a number compared with a text stays refused
CREATE STREAM s (k STRING KEY, a BIGINT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WHERE a >= '2024-02-29';
--@expected.error: KsqlError
--@expected.message: Cannot compare
