-- Joins of tables with tables by a foreign key: a column or expression of the left is the key of the right.

--@test: an inner join, with several rows for one
CREATE TABLE o (id INT PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, 1, 'a', 10);
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, 2, 'a', 20);
INSERT INTO c (ROWTIME, id, name) VALUES (3, 'a', 'Eve');
ASSERT VALUES j (ROWTIME, id, n, name) VALUES (1, 1, 10, 'Ada');
ASSERT VALUES j (ROWTIME, id, n, name) VALUES (2, 2, 20, 'Ada');
ASSERT VALUES j (ROWTIME, id, n, name) VALUES (3, 1, 10, 'Eve');
ASSERT VALUES j (ROWTIME, id, n, name) VALUES (3, 2, 20, 'Eve');
ASSERT TABLE j (id INT PRIMARY KEY, n INT, name STRING) WITH (KAFKA_TOPIC='J', VALUE_FORMAT='JSON');

--@test: the foreign key changes to another that is there
CREATE TABLE o (id INT PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'b', 'Bob');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, 1, 'a', 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, 1, 'b', 11);
INSERT INTO c (ROWTIME, id, name) VALUES (3, 'a', 'Eve');
INSERT INTO c (ROWTIME, id, name) VALUES (4, 'b', 'Max');
ASSERT VALUES j (id, n, name) VALUES (1, 10, 'Ada');
ASSERT VALUES j (id, n, name) VALUES (1, 11, 'Bob');
ASSERT VALUES j (id, n, name) VALUES (1, 11, 'Max');

--@test: the foreign key changes to one that is not there
CREATE TABLE o (id INT PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, 1, 'a', 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, 1, 'b', 11);
INSERT INTO c (ROWTIME, id, name) VALUES (3, 'b', 'Bob');
ASSERT VALUES j (id, n, name) VALUES (1, 10, 'Ada');
ASSERT NULL VALUES j (id) KEY (1);
ASSERT VALUES j (id, n, name) VALUES (1, 11, 'Bob');

--@test: a deletion on the left
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', 'a', 10);
--@record: o | 1 | null | 2
INSERT INTO c (ROWTIME, id, name) VALUES (3, 'a', 'Eve');
INSERT INTO o (ROWTIME, id, c, n) VALUES (4, '2', 'a', 20);
ASSERT VALUES j (id, n, name) VALUES ('1', 10, 'Ada');
ASSERT NULL VALUES j (id) KEY ('1');
ASSERT VALUES j (id, n, name) VALUES ('2', 20, 'Eve');

--@test: a deletion on the right takes all its rows away
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', 'a', 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '2', 'a', 20);
--@record: c | a | null | 2
ASSERT VALUES j (id, n, name) VALUES ('1', 10, 'Ada');
ASSERT VALUES j (id, n, name) VALUES ('2', 20, 'Ada');
ASSERT NULL VALUES j (id) KEY ('1');
ASSERT NULL VALUES j (id) KEY ('2');

--@test: a left join keeps the left row
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, c.id AS cid, n, name FROM o LEFT JOIN c ON o.c = c.id;
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', 'a', 10);
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
--@record: c | a | null | 2
--@record: o | 1 | null | 3
ASSERT VALUES j (id, cid, n, name) VALUES ('1', NULL, 10, NULL);
ASSERT VALUES j (id, cid, n, name) VALUES ('1', 'a', 10, 'Ada');
ASSERT VALUES j (id, cid, n, name) VALUES ('1', NULL, 10, NULL);
ASSERT NULL VALUES j (id) KEY ('1');

--@test: a left join whose foreign key changes
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o LEFT JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'b', 'Bob');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', 'a', 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, '1', 'x', 11);
INSERT INTO o (ROWTIME, id, c, n) VALUES (3, '1', 'b', 12);
ASSERT VALUES j (id, n, name) VALUES ('1', 10, 'Ada');
ASSERT VALUES j (id, n, name) VALUES ('1', 11, NULL);
ASSERT VALUES j (id, n, name) VALUES ('1', 12, 'Bob');

--@test: a null foreign key has no match
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', NULL, 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, '2', 'a', 20);
ASSERT VALUES j (id, n, name) VALUES ('2', 20, 'Ada');

--@test: a null foreign key in a left join
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o LEFT JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', NULL, 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, '1', 'a', 20);
ASSERT VALUES j (id, n, name) VALUES ('1', 10, NULL);
ASSERT VALUES j (id, n, name) VALUES ('1', 20, 'Ada');

--@test: the foreign key becomes null
CREATE TABLE o (id STRING PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, n, name FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, '1', 'a', 10);
INSERT INTO o (ROWTIME, id, c, n) VALUES (2, '1', NULL, 11);
ASSERT VALUES j (id, n, name) VALUES ('1', 10, 'Ada');
ASSERT NULL VALUES j (id) KEY ('1');

--@test: an expression as the foreign key
CREATE TABLE o (id INT PRIMARY KEY, c STRING, n INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id AS id, name FROM o JOIN c ON LCASE(o.c) = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c, n) VALUES (1, 1, 'A', 10);
ASSERT VALUES j (id, name) VALUES (1, 'Ada');

--@test: all columns
CREATE TABLE o (id INT PRIMARY KEY, c STRING) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT * FROM o JOIN c ON o.c = c.id;
INSERT INTO c (ROWTIME, id, name) VALUES (1, 'a', 'Ada');
INSERT INTO o (ROWTIME, id, c) VALUES (1, 1, 'a');
ASSERT VALUES j (o_id, o_c, c_id, c_name) VALUES (1, 'a', 'a', 'Ada');

--@test: the left key must be selected
CREATE TABLE o (id INT PRIMARY KEY, c STRING) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.c, name FROM o JOIN c ON o.c = c.id;
--@expected.error: KsqlError
--@expected.message: must include the key column O.ID in its projection

--@test: a right join is not there
CREATE TABLE o (id INT PRIMARY KEY, c STRING) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id, name FROM o RIGHT JOIN c ON o.c = c.id;
--@expected.error: KsqlError
--@expected.message: right-outer join not supported for foreign-key table-table join

--@test: a full join is not there
CREATE TABLE o (id INT PRIMARY KEY, c STRING) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='c', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT o.id, name FROM o FULL JOIN c ON o.c = c.id;
--@expected.error: KsqlError
--@expected.message: full-outer join not supported for foreign-key table-table join

--@test: a table with itself
CREATE TABLE e (id INT PRIMARY KEY, boss INT, name STRING) WITH (KAFKA_TOPIC='e', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a.id AS id, a.name AS name, b.name AS boss FROM e AS a JOIN e AS b ON a.boss = b.id;
INSERT INTO e (ROWTIME, id, boss, name) VALUES (1, 1, NULL, 'Ada');
INSERT INTO e (ROWTIME, id, boss, name) VALUES (1, 2, 1, 'Bob');
INSERT INTO e (ROWTIME, id, boss, name) VALUES (2, 1, NULL, 'Eve');
ASSERT VALUES o (id, name, boss) VALUES (2, 'Bob', 'Ada');
ASSERT VALUES o (id, name, boss) VALUES (2, 'Bob', 'Eve');
