-- Every aggregate over a table: rows that change, leave, and move to another group

--@test: COUNT of rows
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COUNT(*) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1);
ASSERT VALUES t (R, V) VALUES ('r', 2);
ASSERT VALUES t (R, V) VALUES ('r', 2);
ASSERT VALUES t (R, V) VALUES ('r', 1);
ASSERT VALUES t (R, V) VALUES ('r', 0);
ASSERT VALUES t (R, V) VALUES ('q', 1);

--@test: COUNT of values
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COUNT(i) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1);
ASSERT VALUES t (R, V) VALUES ('r', 2);
ASSERT VALUES t (R, V) VALUES ('r', 2);
ASSERT VALUES t (R, V) VALUES ('r', 1);
ASSERT VALUES t (R, V) VALUES ('r', 0);
ASSERT VALUES t (R, V) VALUES ('q', 1);

--@test: SUM of INTEGER
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, SUM(i) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 3);
ASSERT VALUES t (R, V) VALUES ('r', 8);
ASSERT VALUES t (R, V) VALUES ('r', 9);
ASSERT VALUES t (R, V) VALUES ('r', 4);
ASSERT VALUES t (R, V) VALUES ('r', 0);
ASSERT VALUES t (R, V) VALUES ('q', 4);

--@test: SUM of BIGINT
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, SUM(l) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 30);
ASSERT VALUES t (R, V) VALUES ('r', 80);
ASSERT VALUES t (R, V) VALUES ('r', 90);
ASSERT VALUES t (R, V) VALUES ('r', 40);
ASSERT VALUES t (R, V) VALUES ('r', 0);
ASSERT VALUES t (R, V) VALUES ('q', 40);

--@test: SUM of DOUBLE
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, SUM(d) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1.5);
ASSERT VALUES t (R, V) VALUES ('r', 4.0);
ASSERT VALUES t (R, V) VALUES ('r', 4.5);
ASSERT VALUES t (R, V) VALUES ('r', 2.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('q', 2.0);

--@test: SUM of DECIMAL
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, SUM(m) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1.50);
ASSERT VALUES t (R, V) VALUES ('r', 3.75);
ASSERT VALUES t (R, V) VALUES ('r', 3.25);
ASSERT VALUES t (R, V) VALUES ('r', 1.00);
ASSERT VALUES t (R, V) VALUES ('r', 0.00);
ASSERT VALUES t (R, V) VALUES ('q', 1.00);

--@test: SUM of an expression
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, SUM(i * 2 + 1) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 7);
ASSERT VALUES t (R, V) VALUES ('r', 18);
ASSERT VALUES t (R, V) VALUES ('r', 20);
ASSERT VALUES t (R, V) VALUES ('r', 9);
ASSERT VALUES t (R, V) VALUES ('r', 0);
ASSERT VALUES t (R, V) VALUES ('q', 9);

--@test: SUM_LIST
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, SUM_LIST(xs) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1);
ASSERT VALUES t (R, V) VALUES ('r', 6);
ASSERT VALUES t (R, V) VALUES ('r', 9);
ASSERT VALUES t (R, V) VALUES ('r', 4);
ASSERT VALUES t (R, V) VALUES ('r', 0);
ASSERT VALUES t (R, V) VALUES ('q', 4);

--@test: AVG of INTEGER
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, AVG(i) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 3.0);
ASSERT VALUES t (R, V) VALUES ('r', 4.0);
ASSERT VALUES t (R, V) VALUES ('r', 4.5);
ASSERT VALUES t (R, V) VALUES ('r', 4.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('q', 4.0);

--@test: AVG of DOUBLE
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, AVG(d) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1.5);
ASSERT VALUES t (R, V) VALUES ('r', 2.0);
ASSERT VALUES t (R, V) VALUES ('r', 2.25);
ASSERT VALUES t (R, V) VALUES ('r', 2.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('q', 2.0);

--@test: AVG of DECIMAL
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, AVG(m) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 1.5);
ASSERT VALUES t (R, V) VALUES ('r', 1.875);
ASSERT VALUES t (R, V) VALUES ('r', 1.625);
ASSERT VALUES t (R, V) VALUES ('r', 1.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('q', 1.0);

--@test: COLLECT_LIST
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COLLECT_LIST(i) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[3]);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[3, 5]);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[5, 4]);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[4]);
ASSERT VALUES t (R, V) VALUES ('r', FILTER(ARRAY[1], x => FALSE));
ASSERT VALUES t (R, V) VALUES ('q', ARRAY[4]);

--@test: COLLECT_LIST of arrays
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COLLECT_LIST(xs) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[ARRAY[1]]);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[ARRAY[1], ARRAY[2, 3]]);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[ARRAY[2, 3], ARRAY[4]]);
ASSERT VALUES t (R, V) VALUES ('r', ARRAY[ARRAY[4]]);
ASSERT VALUES t (R, V) VALUES ('r', FILTER(ARRAY[ARRAY[1]], x => FALSE));
ASSERT VALUES t (R, V) VALUES ('q', ARRAY[ARRAY[4]]);

--@test: HISTOGRAM
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, HISTOGRAM(t) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', MAP('b' := 1));
ASSERT VALUES t (R, V) VALUES ('r', MAP('b' := 1, 'a' := 1));
ASSERT VALUES t (R, V) VALUES ('r', MAP('a' := 1, 'b' := 1));
ASSERT VALUES t (R, V) VALUES ('r', MAP('b' := 1));
ASSERT VALUES t (R, V) VALUES ('r', FILTER(MAP('a' := 1), (k, v) => FALSE));
ASSERT VALUES t (R, V) VALUES ('q', MAP('b' := 1));

--@test: ATTR
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, ATTR(t) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 'b');
ASSERT VALUES t (R, V) VALUES ('r', NULL);
ASSERT VALUES t (R, V) VALUES ('r', NULL);
ASSERT VALUES t (R, V) VALUES ('r', 'b');
ASSERT VALUES t (R, V) VALUES ('r', NULL);
ASSERT VALUES t (R, V) VALUES ('q', 'b');

--@test: STDDEV_SAMP
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, ROUND(STDDEV_SAMP(i), 6) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('r', 2.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.5);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('q', 0.0);

--@test: STDDEV_SAMPLE
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, ROUND(STDDEV_SAMPLE(i), 6) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('r', 1.414214);
ASSERT VALUES t (R, V) VALUES ('r', 0.707107);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('r', 0.0);
ASSERT VALUES t (R, V) VALUES ('q', 0.0);

--@test: CORRELATION
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, CAST(CORRELATION(i, d) AS STRING) AS v FROM s WHERE alive GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 3, 30, 1.5, 1.50, 'b', ARRAY[1], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (4, 'b', 'r', 5, 50, 2.5, 2.25, 'a', ARRAY[2, 3], FALSE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (5, 'a', 'q', 4, 40, 2.0, 1.00, 'b', ARRAY[4], TRUE);
ASSERT VALUES t (R, V) VALUES ('r', 'NaN');
ASSERT VALUES t (R, V) VALUES ('r', '1.0');
ASSERT VALUES t (R, V) VALUES ('r', '1.0');
ASSERT VALUES t (R, V) VALUES ('r', 'NaN');
ASSERT VALUES t (R, V) VALUES ('r', 'NaN');
ASSERT VALUES t (R, V) VALUES ('q', 'NaN');

--@test: MIN cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, MIN(i) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (MIN) cannot be applied to a table source

--@test: MAX cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, MAX(i) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (MAX) cannot be applied to a table source

--@test: COLLECT_SET cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COLLECT_SET(t) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (COLLECT_SET) cannot be applied to a table source

--@test: COUNT_DISTINCT cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COUNT_DISTINCT(t) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (COUNT_DISTINCT) cannot be applied to a table source

--@test: EARLIEST_BY_OFFSET cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, EARLIEST_BY_OFFSET(i) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (EARLIEST_BY_OFFSET) cannot be applied to a table source

--@test: LATEST_BY_OFFSET cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, LATEST_BY_OFFSET(i) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (LATEST_BY_OFFSET) cannot be applied to a table source

--@test: TOPK cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, TOPK(i, 2) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (TOPK) cannot be applied to a table source

--@test: TOPKDISTINCT cannot take a row back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, TOPKDISTINCT(t, 3) AS v FROM s GROUP BY r;
--@expected.error: KsqlError
--@expected.message: The aggregation function(s) (TOPKDISTINCT) cannot be applied to a table source

--@test: nulls that are added and taken back
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COUNT(*) AS n, COUNT(i) AS c, SUM(i) AS s, AVG(i) AS a FROM s GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', NULL, NULL, NULL, NULL, NULL, NULL, TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'a', 'r', 4, NULL, NULL, NULL, NULL, NULL, TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', NULL, NULL, NULL, NULL, NULL, NULL, TRUE);
ASSERT VALUES t (R, N, C, S, A) VALUES ('r', 1, 0, 0, 0.0);
ASSERT VALUES t (R, N, C, S, A) VALUES ('r', 1, 1, 4, 4.0);
ASSERT VALUES t (R, N, C, S, A) VALUES ('r', 1, 0, 0, 0.0);

--@test: a row without a group leaves its old one
CREATE TABLE s (k STRING PRIMARY KEY, r STRING, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>, alive BOOLEAN)
  WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT r, COUNT(*) AS n FROM s GROUP BY r;
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (1, 'a', 'r', 1, NULL, NULL, NULL, NULL, NULL, TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (2, 'a', NULL, 1, NULL, NULL, NULL, NULL, NULL, TRUE);
INSERT INTO s (ROWTIME, K, R, I, L, D, M, T, XS, ALIVE) VALUES (3, 'a', 'r', 1, NULL, NULL, NULL, NULL, NULL, TRUE);
ASSERT VALUES t (R, N) VALUES ('r', 1);
ASSERT VALUES t (R, N) VALUES ('r', 0);
ASSERT VALUES t (R, N) VALUES ('r', 1);
