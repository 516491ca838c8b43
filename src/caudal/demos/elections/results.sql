-- The elections in KSQL: the same totals as the Streams application, from the same topics.
-- Run it beside the demonstration:  caudal ksql -f results.sql   (with a Schema Registry: DEFINE format = 'AVRO')
DEFINE format = 'JSON';
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM counts (
  station_id VARCHAR KEY, night INT, community VARCHAR, version INT, electors INT, votes MAP<VARCHAR, BIGINT>
) WITH (KAFKA_TOPIC = 'elections.counts', VALUE_FORMAT = '${format}');

CREATE TABLE previous (station_id VARCHAR PRIMARY KEY, votes MAP<VARCHAR, BIGINT>)
  WITH (KAFKA_TOPIC = 'elections.previous', VALUE_FORMAT = 'JSON');

-- The newest version of each station's report, whatever order they came in.
CREATE TABLE newest WITH (KAFKA_TOPIC = 'elections.ksql.newest') AS
  SELECT station_id, TOPK(night * 1000 + version, night, community, electors, votes, 1) AS report
  FROM counts GROUP BY station_id;

-- Beside the station's result of last time.
CREATE TABLE stations WITH (KAFKA_TOPIC = 'elections.ksql.stations') AS
  SELECT n.station_id AS station_id,
    n.report[1]->`col0` AS night, n.report[1]->`col1` AS community, n.report[1]->`col2` AS electors,
    n.report[1]->`col3` AS votes, p.votes AS before
  FROM newest n LEFT JOIN previous p ON n.station_id = p.station_id;

-- A corrected report leaves the sum before the new one enters it.
CREATE TABLE totals WITH (KAFKA_TOPIC = 'elections.ksql.totals', KEY_FORMAT = 'JSON') AS
  SELECT night, community, COUNT(*) AS stations, SUM(electors) AS electors_counted,
    SUM(votes['encina']) AS encina, SUM(votes['olivo']) AS olivo, SUM(votes['tejo']) AS tejo,
    SUM(votes['haya']) AS haya, SUM(votes['almendro']) AS almendro, SUM(votes['pino']) AS pino,
    SUM(before['encina']) AS encina_before, SUM(before['olivo']) AS olivo_before, SUM(before['tejo']) AS tejo_before,
    SUM(before['haya']) AS haya_before, SUM(before['almendro']) AS almendro_before, SUM(before['pino']) AS pino_before
  FROM stations GROUP BY night, community;

CREATE STREAM turnout (place VARCHAR KEY, voters INT, `at` BIGINT)
  WITH (KAFKA_TOPIC = 'elections.turnout', VALUE_FORMAT = '${format}', TIMESTAMP = '`at`');

CREATE TABLE turnout_by_hour WITH (KAFKA_TOPIC = 'elections.ksql.turnout-by-hour') AS
  SELECT place, SUM(voters) AS voters
  FROM turnout WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 2 DAYS) GROUP BY place;
