-- Aggregates that cannot be

--@test: SUM of a text
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, SUM(t) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'SUM' does not accept parameters (STRING)

--@test: SUM of an array
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, SUM(xs) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'SUM' does not accept parameters (ARRAY<INTEGER>)

--@test: AVG of a text
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, AVG(t) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'AVG' does not accept parameters (STRING)

--@test: MAX of an array
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, MAX(xs) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'MAX' does not accept parameters (ARRAY<INTEGER>)

--@test: MIN of a boolean
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, MIN(i = 1) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'MIN' does not accept parameters (BOOLEAN)

--@test: SUM_LIST of a number
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, SUM_LIST(i) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'SUM_LIST' does not accept parameters (INTEGER)

--@test: HISTOGRAM of a number
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, HISTOGRAM(i) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'HISTOGRAM' does not accept parameters (INTEGER)

--@test: STDDEV_SAMPLE of a text
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, STDDEV_SAMPLE(t) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: does not accept parameters (STRING)

--@test: CORRELATION of one column
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, CORRELATION(d) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'CORRELATION' does not accept parameters (DOUBLE)

--@test: CORRELATION of texts
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, CORRELATION(t, t) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'CORRELATION' does not accept parameters (STRING, STRING)

--@test: TOPK of no values
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, TOPK(i, 0) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: TOPK must be asked for at least 1 value, not 0

--@test: TOPKDISTINCT of fewer than none
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, TOPKDISTINCT(i, -1) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: TOPKDISTINCT must be asked for at least 1 value, not -1

--@test: TOPK without a number
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, TOPK(i) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'TOPK' does not accept parameters (INTEGER)

--@test: TOPK with a column as its number
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, TOPK(i, i) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: must be a literal

--@test: EARLIEST_BY_OFFSET of no values
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, EARLIEST_BY_OFFSET(i, 0) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: EARLIEST_BY_OFFSET must be asked for at least 1 value, not 0

--@test: LATEST_BY_OFFSET with a text
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, LATEST_BY_OFFSET(i, 'n') AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'LATEST_BY_OFFSET' does not accept parameters (INTEGER, STRING)

--@test: COUNT of two columns
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(i, l) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Function 'COUNT' does not accept parameters (INTEGER, BIGINT)

--@test: an aggregate of an aggregate
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, SUM(COUNT(*)) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Aggregate functions can not be nested

--@test: an aggregate in WHERE
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(*) AS v FROM s WHERE COUNT(*) > 1 GROUP BY k;
--@expected.error: KsqlError
--@expected.message: WHERE does not support aggregate functions

--@test: an aggregate in GROUP BY
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(*) AS v FROM s GROUP BY COUNT(*);
--@expected.error: KsqlError
--@expected.message: GROUP BY does not support aggregate functions

--@test: no such function in an aggregate
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, COUNT(ABSS(i)) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: Can't find any functions with the name 'ABSS'. Did you mean 'ABS'?

--@test: a column that is neither grouped nor aggregated
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT k, i, COUNT(*) AS v FROM s GROUP BY k;
--@expected.error: KsqlError
--@expected.message: not part of GROUP BY

--@test: an aggregate without GROUP BY
CREATE STREAM s (k STRING KEY, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), t STRING, xs ARRAY<INT>)
  WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT COUNT(*) AS v FROM s;
--@expected.error: KsqlError
--@expected.message: Use of aggregate functions requires a GROUP BY clause
