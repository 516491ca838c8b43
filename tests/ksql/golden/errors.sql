-- What is refused, with the part of the sentence that helps.

--@test: a statement that is none
CREATE STREM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: found 'STREM'. Did you mean 'STREAM'?

--@test: a parenthesis that is missing
CREATE STREAM s (a INT WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Expected ',' or ')'

--@test: a text that does not end
CREATE STREAM s (a STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO s VALUES ('no end);
--@expected.error: KsqlError
--@expected.message: This string is not closed

--@test: a word of the language as a name
CREATE STREAM s (select INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: SELECT is a reserved word

--@test: a source that is not there
CREATE STREAM orders (k STRING KEY, a INT) WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM order_s;
--@expected.error: KsqlError
--@expected.message: Did you mean 'ORDERS'?

--@test: a column that is not there
CREATE STREAM s (k STRING KEY, price INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, prize FROM s;
--@expected.error: KsqlError
--@expected.message: Did you mean 'PRICE'?

--@test: a column that is not there, in WHERE
CREATE STREAM s (k STRING KEY, price INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE pirce > 1;
--@expected.error: KsqlError
--@expected.message: Did you mean 'PRICE'?

--@test: a column in the wrong case, in quotes
CREATE STREAM s (k STRING KEY, price INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, `price` FROM s;
--@expected.error: KsqlError
--@expected.message: Column 'price' cannot be resolved. Did you mean 'PRICE'?

--@test: a field that is not there
CREATE STREAM s (k STRING KEY, p STRUCT<street STRING>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, p->stret FROM s;
--@expected.error: KsqlError
--@expected.message: Could not find field 'STRET' in 'S.P'. Did you mean 'STREET'?

--@test: a field of what is no struct
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a->b FROM s;
--@expected.error: KsqlError
--@expected.message: '->' needs a STRUCT, but S.A is INTEGER

--@test: a function that is not there
CREATE STREAM s (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, SUBSTR1NG(a, 1) AS b FROM s;
--@expected.error: KsqlError
--@expected.message: Can't find any functions with the name 'SUBSTR1NG'

--@test: arguments of the wrong type
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, UCASE(a) AS b FROM s;
--@expected.error: KsqlError
--@expected.message: Function 'UCASE' does not accept parameters (INTEGER)

--@test: too many arguments
CREATE STREAM s (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, UCASE(a, a) AS b FROM s;
--@expected.error: KsqlError
--@expected.message: Function 'UCASE' does not accept parameters (STRING, STRING)

--@test: an alias of a source that is not there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, t.a FROM s;
--@expected.error: KsqlError
--@expected.message: Column 'T.A' cannot be resolved

--@test: a column that two sources have
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT l.k, a FROM l JOIN r WITHIN 1 HOUR ON l.k = r.k;
--@expected.error: KsqlError
--@expected.message: Column 'A' is ambiguous. Could be L.A, R.A

--@test: a text and a number compared
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE a = b;
--@expected.error: KsqlError
--@expected.message: Cannot compare

--@test: an array compared with a number
CREATE STREAM s (k STRING KEY, a INT, b ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE b > a;
--@expected.error: KsqlError
--@expected.message: Cannot compare

--@test: a text and a number added
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, b * a AS c FROM s;
--@expected.error: KsqlError
--@expected.message: Unsupported arithmetic types. STRING INTEGER

--@test: a BOOLEAN added
CREATE STREAM s (k STRING KEY, a INT, b BOOLEAN) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a + b AS c FROM s;
--@expected.error: KsqlError
--@expected.message: Unsupported arithmetic types. INTEGER BOOLEAN

--@test: NOT of a number
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE NOT a;
--@expected.error: KsqlError
--@expected.message: The operand of NOT must be a BOOLEAN

--@test: a filter that is no condition
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s WHERE a + 1;
--@expected.error: KsqlError
--@expected.message: Type error in WHERE expression: Should evaluate to boolean

--@test: results of CASE of different types
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CASE WHEN a = 1 THEN TRUE ELSE a END AS c FROM s;
--@expected.error: KsqlError
--@expected.message: Invalid Case expression

--@test: elements of different types
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ARRAY[a, TRUE] AS c FROM s;
--@expected.error: KsqlError
--@expected.message: expected INTEGER, but got BOOLEAN

--@test: an element of what has none
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a[1] AS c FROM s;
--@expected.error: KsqlError
--@expected.message: do not apply to INTEGER

--@test: an array's element by a text
CREATE STREAM s (k STRING KEY, a ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a['one'] AS c FROM s;
--@expected.error: KsqlError
--@expected.message: An array's index must be an INTEGER

--@test: a cast that is not there
CREATE STREAM s (k STRING KEY, a ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, CAST(a AS INT) AS c FROM s;
--@expected.error: KsqlError
--@expected.message: Cast of ARRAY<INTEGER> to INTEGER is not supported

--@test: a type that is not there
CREATE STREAM s (k STRING KEY, a INTEGR) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Cannot resolve unknown type: INTEGR

--@test: an aggregate in WHERE
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s WHERE COUNT(*) > 1 GROUP BY k;
--@expected.error: KsqlError
--@expected.message: WHERE does not support aggregate functions

--@test: an aggregate without GROUP BY
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT COUNT(*) AS c FROM s;
--@expected.error: KsqlError
--@expected.message: Use of aggregate functions requires a GROUP BY clause

--@test: an aggregate in an aggregate
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, SUM(COUNT(a)) AS c FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Aggregate functions can not be nested

--@test: a window without GROUP BY
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, a FROM s WINDOW TUMBLING (SIZE 10 SECONDS);
--@expected.error: KsqlError
--@expected.message: WINDOW clause requires a GROUP BY clause

--@test: a window over a table
CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a, COUNT(*) AS c FROM t WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY a;
--@expected.error: KsqlError
--@expected.message: WINDOW clause is not supported on a TABLE

--@test: EMIT FINAL without a window
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s GROUP BY k EMIT FINAL;
--@expected.error: KsqlError
--@expected.message: EMIT FINAL is only supported for windowed aggregations

--@test: bounds of a window where there is none
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, WINDOWSTART AS ws FROM s;
--@expected.error: KsqlError
--@expected.message: Column 'WINDOWSTART' cannot be resolved

--@test: bounds of a window in an aggregate
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, MAX(WINDOWSTART) AS ws FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Window bounds column WINDOWSTART can only be used in the SELECT clause of windowed aggregations

--@test: a window's unit that is not there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 FORTNIGHTS) GROUP BY k;
--@expected.error: KsqlError
--@expected.message: found 'FORTNIGHTS'

--@test: a join of streams without WITHIN
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT l.k, a, b FROM l JOIN r ON l.k = r.k;
--@expected.error: KsqlError
--@expected.message: Stream-Stream joins must have a WITHIN clause specified

--@test: a join without ON
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT l.k, a, b FROM l JOIN r WITHIN 1 HOUR;
--@expected.error: KsqlError
--@expected.message: Expected ON

--@test: a join that is not by equality
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT l.k, a, b FROM l JOIN r WITHIN 1 HOUR ON l.a < r.b;
--@expected.error: KsqlError
--@expected.message: Only equality join criteria is supported

--@test: a join of keys of different types
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k INT KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT l.k, a, b FROM l JOIN r WITHIN 1 HOUR ON l.k = r.k;
--@expected.error: KsqlError
--@expected.message: Invalid join condition: types don't match

--@test: a join condition about one source only
CREATE STREAM l (k STRING KEY, a INT) WITH (KAFKA_TOPIC='l', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT l.k, a, b FROM l JOIN r WITHIN 1 HOUR ON l.k = l.k;
--@expected.error: KsqlError
--@expected.message: A join criteria is expected to reference the source (R)

--@test: a source with itself without aliases
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT s.k FROM s JOIN s WITHIN 1 HOUR ON s.k = s.k;
--@expected.error: KsqlError
--@expected.message: The name 'S' stands for two sources

--@test: a property that is not there
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMT='JSON');
--@expected.error: KsqlError
--@expected.message: Did you mean 'VALUE_FORMAT'?

--@test: a property of a result that is not there
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (KAFKA_TOPC='x') AS SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: Did you mean 'KAFKA_TOPIC'?

--@test: no topic
CREATE STREAM s (a INT) WITH (PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Missing required property "KAFKA_TOPIC"

--@test: a topic that is not there
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Kafka topic does not exist: s

--@test: no format
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1);
--@expected.error: KsqlError
--@expected.message: Statement is missing the 'VALUE_FORMAT' property

--@test: a table without a key
CREATE TABLE t (a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Tables require a PRIMARY KEY

--@test: a table whose key is not primary
CREATE TABLE t (k STRING KEY, a INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: please use 'PRIMARY KEY' for tables

--@test: a stream whose key is primary
CREATE STREAM s (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: please use 'KEY' for streams

--@test: a column twice
CREATE STREAM s (k STRING KEY, a INT, A STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: Duplicate column names: `A`

--@test: a reserved column
CREATE STREAM s (ROWTIME BIGINT KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: 'ROWTIME' is a reserved column name

--@test: a result's column by a reserved name
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, ROWTIME FROM s;
--@expected.error: KsqlError
--@expected.message: Reserved column name in select: `ROWTIME`

--@test: a result without values
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k FROM s;
--@expected.error: KsqlError
--@expected.message: The projection contains no value columns

--@test: a NULL without a type
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, NULL AS n FROM s;
--@expected.error: KsqlError
--@expected.message: The type of column `N` is unknown

--@test: a window that has no size
CREATE TABLE t (k STRING PRIMARY KEY, a INT)
  WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING');
--@expected.error: KsqlError
--@expected.message: TUMBLING windows require 'WINDOW_SIZE'

--@test: a session that has a size
CREATE TABLE t (k STRING PRIMARY KEY, a INT)
  WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION', WINDOW_SIZE='1 HOUR');
--@expected.error: KsqlError
--@expected.message: 'WINDOW_SIZE' should not be set for SESSION windows

--@test: a topic with other partitions
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=4, VALUE_FORMAT='JSON');
--@expected.error: KsqlError
--@expected.message: already exists, with different partition/replica configuration

--@test: a topic that another query writes
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s;
CREATE STREAM p WITH (KAFKA_TOPIC='O') AS SELECT * FROM s;
--@expected.error: KsqlError
--@expected.message: The topic O is written by query

--@test: ORDER BY in a query that goes on
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s ORDER BY a;
--@expected.error: KsqlError
--@expected.message: ORDER BY is not supported

--@test: the key twice
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k AS one, k AS two, a FROM s;
--@expected.error: KsqlError
--@expected.message: The projection contains a key column more than once

--@test: rows into a windowed table
CREATE TABLE t (k STRING PRIMARY KEY, a INT)
  WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
INSERT INTO t VALUES ('x', 1);
--@expected.error: KsqlError
--@expected.message: Cannot insert values into windowed stream/table

--@test: a lambda with the wrong number of parameters
CREATE STREAM s (k STRING KEY, a ARRAY<INT>) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, TRANSFORM(a, (x, y) => x) AS b FROM s;
--@expected.error: KsqlError
--@expected.message: Function 'TRANSFORM' does not accept parameters

--@test: a SELECT alone is for the server's other endpoint
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
SELECT * FROM s EMIT CHANGES;
--@expected.error: KsqlError
--@expected.message: SELECT is answered with rows

--@test: PARTITION BY with GROUP BY
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT a, COUNT(*) AS c FROM s GROUP BY a PARTITION BY a;
--@expected.error: KsqlError
--@expected.message: PARTITION BY and GROUP BY cannot be used together

--@test: LIMIT in a query that goes on
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT * FROM s EMIT CHANGES LIMIT 5;
--@expected.error: KsqlError
--@expected.message: CREATE STREAM AS SELECT statements don't support LIMIT clause

--@test: LIMIT in INSERT INTO
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM o (k STRING KEY, a INT) WITH (KAFKA_TOPIC='o', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO o SELECT * FROM s LIMIT 5;
--@expected.error: KsqlError
--@expected.message: INSERT INTO statements don't support LIMIT clause
