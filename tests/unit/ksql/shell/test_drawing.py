"""Every kind of answer, drawn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.ksql.shell.seen import Seen

from caudal.ksql.shell.drawing import DRAWERS, draw, type_text

FIELDS = [
    {"name": "ID", "schema": {"type": "INTEGER"}, "type": "KEY"},
    {"name": "V", "schema": {"type": "ARRAY", "memberSchema": {"type": "STRING"}}},
    {"name": "H", "schema": {"type": "BYTES"}, "type": "HEADER", "headerKey": "trace"},
]
SOURCE = {"name": "T", "type": "TABLE", "fields": FIELDS, "extended": False}
RUNNING = {"id": "CTAS_T_1", "queryString": "CREATE TABLE T\nAS SELECT 1;", "statusCount": {"RUNNING": 1}}
EXTENDED = {
    **SOURCE,
    "extended": True,
    "keyFormat": "KAFKA",
    "valueFormat": "JSON",
    "topic": "t",
    "partitions": 4,
    "replication": 1,
    "statement": "CREATE TABLE T …;",
    "readQueries": [RUNNING],
    "writeQueries": [],
    "sourceConstraints": ["U"],
    "statistics": "messages-per-sec: 1",
    "queryOffsetSummaries": [
        {
            "groupId": "g",
            "topicSummaries": [
                {
                    "kafkaTopic": "t",
                    "offsets": [{"partition": 0, "logStartOffset": 0, "logEndOffset": 7, "consumerOffset": 5}],
                }
            ],
        }
    ],
}
QUERY = {
    "id": "CTAS_T_1",
    "statementText": "CREATE TABLE T AS SELECT 1;",
    "state": "RUNNING",
    "sources": ["S"],
    "sinks": ["T"],
    "fields": FIELDS[:1],
    "executionPlan": "PROJECT\n  SOURCE S\n",
    "topology": "Sub-topology: 0",
    "overriddenProperties": {"auto.offset.reset": "earliest"},
    "queryErrors": [{"type": "USER", "errorMessage": "It broke."}],
}

CASES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"@type": "currentStatus", "commandStatus": {"status": "SUCCESS", "message": "Stream created"}},
        ["Stream created"],
    ),
    ({"@type": "warning_entity", "message": "It is there."}, ["It is there."]),
    ({"@type": "error_entity", "errorMessage": "It is not."}, ["Error: It is not."]),
    ({"@type": "terminate_query", "queryId": "Q", "wasTerminated": True}, ["Query Q terminated."]),
    (
        {"@type": "terminate_query", "queryId": "Q", "wasTerminated": False},
        ["Query Q was not terminated: it had ended before."],
    ),
    ({"@type": "pause_query", "queryId": "Q"}, ["Query Q paused."]),
    ({"@type": "resume_query", "queryId": "Q"}, ["Query Q resumed."]),
    ({"@type": "connector_info", "info": {"name": "C"}}, ["Created connector C"]),
    ({"@type": "drop_connector", "connectorName": "C"}, ["Dropped connector C"]),
    ({"@type": "assert_topic", "topicName": "t", "exists": True}, ["Topic t exists."]),
    (
        {"@type": "assert_schema", "subject": "s", "id": 3, "exists": False},
        ["Schema with subject s and id 3 does not exist."],
    ),
    ({"@type": "streams", "streams": []}, ["There are no streams."]),
    (
        {
            "@type": "streams",
            "streams": [
                {"name": "S2", "topic": "b", "keyFormat": "KAFKA", "valueFormat": "JSON", "isWindowed": False},
                {"name": "S1", "topic": "a", "keyFormat": "KAFKA", "valueFormat": "AVRO", "isWindowed": True},
            ],
            "warnings": [{"message": "Mind the gap."}],
        },
        [
            "Stream Name | Kafka Topic | Key Format | Value Format | Windowed",
            "------------+-------------+------------+--------------+---------",
            "S1          | a           | KAFKA      | AVRO         | true",
            "S2          | b           | KAFKA      | JSON         | false",
            "Warning: Mind the gap.",
        ],
    ),
    (
        {"@type": "tables", "tables": [{"name": "T", "topic": "t", "format": "JSON"}]},
        [
            "Table Name | Kafka Topic | Key Format | Value Format | Windowed",
            "-----------+-------------+------------+--------------+---------",
            "T          | t           |            | JSON         | false",
        ],
    ),
    (
        {
            "@type": "queries",
            "queries": [{**RUNNING, "queryType": "PERSISTENT", "sinks": ["T"], "sinkKafkaTopics": ["T"]}],
        },
        [
            "Query ID | Query Type | Status     | Sink Name | Sink Kafka Topic",
            "---------+------------+------------+-----------+-----------------",
            "CTAS_T_1 | PERSISTENT | RUNNING: 1 | T         | T",
            "",
            "CTAS_T_1: CREATE TABLE T AS SELECT 1;",
        ],
    ),
    (
        {
            "@type": "kafka_topics",
            "topics": [{"name": "a", "replicaInfo": [1, 1, 1]}, {"name": "b", "replicaInfo": [1, 2]}],
        },
        [
            "Kafka Topic | Partitions | Partition Replicas",
            "------------+------------+-------------------",
            "a           | 3          | 1",
            "b           | 2          | 1, 2",
        ],
    ),
    (
        {
            "@type": "kafka_topics_extended",
            "topics": [{"name": "a", "replicaInfo": [1], "consumerCount": 2, "consumerGroupCount": 1}],
        },
        [
            "Kafka Topic | Partitions | Partition Replicas | Consumers | ConsumerGroups",
            "------------+------------+--------------------+-----------+---------------",
            "a           | 1          | 1                  | 2         | 1",
        ],
    ),
    (
        {
            "@type": "properties",
            "properties": [{"name": "a", "scope": "KSQL", "level": "SERVER", "value": "1"}],
            "overwrittenProperties": ["a"],
        },
        [
            "Property | Scope | Level  | Set here | Value",
            "---------+-------+--------+----------+------",
            "a        | KSQL  | SERVER | yes      | 1",
        ],
    ),
    (
        {"@type": "function_names", "functions": [{"name": "UCASE", "type": "SCALAR", "category": "STRING"}]},
        ["Function Name | Category | Kind", "--------------+----------+-------", "UCASE         | STRING   | SCALAR"],
    ),
    (
        {
            "@type": "type_list",
            "types": {"ADDR": {"type": "STRUCT", "fields": [{"name": "A", "schema": {"type": "INTEGER"}}]}},
        },
        ["Type Name | Schema", "----------+------------------", "ADDR      | STRUCT<A INTEGER>"],
    ),
    (
        {"@type": "variables", "variables": [{"name": "a", "value": "x"}]},
        ["Variable Name | Value", "--------------+------", "a             | x"],
    ),
    (
        {
            "@type": "connector_list",
            "connectors": [{"name": "c", "type": "SOURCE", "className": "x.Y", "state": "RUNNING"}],
        },
        [
            "Connector Name | Type   | Class | Status",
            "---------------+--------+-------+--------",
            "c              | SOURCE | x.Y   | RUNNING",
        ],
    ),
    (
        {
            "@type": "connector_plugins_list",
            "connectorsPlugins": [{"className": "x.Y", "type": "SINK", "version": "1"}],
        },
        ["Class | Type | Version", "------+------+--------", "x.Y   | SINK | 1"],
    ),
    (
        {"@type": "sourceDescription", "sourceDescription": SOURCE},
        [
            "Name                 : T",
            "Field | Type",
            "------+------------------------",
            "ID    | INTEGER (primary key)",
            "V     | ARRAY<VARCHAR(STRING)>",
            "H     | BYTES (header('trace'))",
            "For runtime statistics and query details run: DESCRIBE T EXTENDED;",
        ],
    ),
    (
        {"@type": "source_descriptions", "sourceDescriptions": [EXTENDED]},
        [
            "Name                 : T",
            "Type                 : TABLE",
            "Timestamp field      : Not set - using <ROWTIME>",
            "Key format           : KAFKA",
            "Value format         : JSON",
            "Kafka topic          : t (partitions: 4, replication: 1)",
            "Statement            : CREATE TABLE T …;",
            "",
            "Field | Type",
            "------+------------------------",
            "ID    | INTEGER (primary key)",
            "V     | ARRAY<VARCHAR(STRING)>",
            "H     | BYTES (header('trace'))",
            "",
            "Queries that read from this source:",
            "CTAS_T_1 (RUNNING: 1) : CREATE TABLE T AS SELECT 1;",
            "",
            "Sources that have a DROP constraint on this source: U",
            "",
            "Runtime statistics:",
            "messages-per-sec: 1",
            "",
            "Consumer group       : g",
            "Kafka topic t",
            "Partition | Start Offset | End Offset | Offset | Lag",
            "----------+--------------+------------+--------+----",
            "0         | 0            | 7          | 5      | 2",
        ],
    ),
    ({"@type": "source_descriptions", "sourceDescriptions": []}, ["There is nothing to describe."]),
    (
        {"@type": "queryDescription", "queryDescription": QUERY},
        [
            "ID                   : CTAS_T_1",
            "SQL                  : CREATE TABLE T AS SELECT 1;",
            "Status               : RUNNING",
            "Sources              : S",
            "Sinks                : T",
            "",
            "Field | Type",
            "------+--------------",
            "ID    | INTEGER (key)",
            "",
            "Execution plan",
            "--------------",
            "PROJECT",
            "  SOURCE S",
            "",
            "Processing topology",
            "-------------------",
            "Sub-topology: 0",
            "",
            "Overridden properties",
            "Property          | Value",
            "------------------+---------",
            "auto.offset.reset | earliest",
            "",
            "Error (USER): It broke.",
        ],
    ),
    ({"@type": "query_descriptions", "queryDescriptions": []}, ["There are no queries."]),
    ({"@type": "executionPlan", "executionPlan": "PLAN"}, ["PLAN"]),
    (
        {
            "@type": "describe_function",
            "name": "LPAD",
            "author": "Caudal",
            "description": "Fills up.",
            "type": "SCALAR",
            "path": "internal",
            "functions": [
                {
                    "arguments": [
                        {"name": "text", "type": "VARCHAR", "description": "What is filled up"},
                        {"name": "more", "type": "INT", "description": "", "isVariadic": True},
                    ],
                    "returnType": "VARCHAR",
                    "description": "",
                }
            ],
        },
        [
            "Name                 : LPAD",
            "Author               : Caudal",
            "Overview             : Fills up.",
            "Type                 : SCALAR",
            "Variations           :",
            "",
            "    LPAD(text VARCHAR, more INT[]) -> VARCHAR",
            "        text: What is filled up",
        ],
    ),
    (
        {
            "@type": "connector_description",
            "connectorClass": "x.Y",
            "status": {
                "name": "c",
                "type": "source",
                "connector": {"state": "RUNNING", "worker_id": "w"},
                "tasks": [{"id": 0, "state": "FAILED", "trace": "boom"}],
            },
            "topics": ["a", "b"],
            "sources": [],
        },
        [
            "Name                 : c",
            "Class                : x.Y",
            "Type                 : source",
            "State                : RUNNING",
            "WorkerId             : w",
            "Topics               : a, b",
            "",
            "Task ID | State  | Error Trace",
            "--------+--------+------------",
            "0       | FAILED | boom",
        ],
    ),
    ({"@type": "something_new", "a": 1}, ["{", '  "@type": "something_new",', '  "a": 1', "}"]),
]


@pytest.mark.parametrize(("entity", "expected"), CASES, ids=[case[0]["@type"] for case in CASES])
def test_an_entity_as_people_see_it(entity: dict[str, Any], expected: list[str], screen: Seen) -> None:
    draw(entity, screen)
    assert screen.lines == expected


def test_a_topology_that_is_part_of_the_plan_is_shown_once(screen: Seen) -> None:
    draw({"@type": "queryDescription", "queryDescription": {"executionPlan": "P\nT 1\n", "topology": "T 1\n"}}, screen)
    assert screen.text.count("T 1") == 1


def test_every_kind_has_a_case() -> None:
    drawn = {case[0]["@type"] for case in CASES}
    assert set(DRAWERS) - drawn <= {"expression_evaluation", "queryDescriptions"}


@pytest.mark.parametrize("kind", sorted({case[0]["@type"] for case in CASES}))
def test_what_is_missing_leaves_a_gap_and_nothing_worse(kind: str, screen: Seen) -> None:
    draw({"@type": kind}, screen)


def test_names_are_data_and_never_markup_or_control(screen: Seen) -> None:
    name = "[red]S[/red]\x1b[31m:smile:"
    draw({"@type": "streams", "streams": [{"name": name, "topic": "t"}]}, screen)
    assert "[red]S[/red]\\x1b[31m:smile:" in screen.text


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "STRING"}, "VARCHAR(STRING)"),
        ({"type": "MAP", "memberSchema": {"type": "INTEGER"}}, "MAP<VARCHAR(STRING), INTEGER>"),
        ({"type": "MAP", "keySchema": {"type": "BIGINT"}, "memberSchema": {"type": "DATE"}}, "MAP<BIGINT, DATE>"),
        ({"type": "DECIMAL", "parameters": {"precision": 4, "scale": 2}}, "DECIMAL(4, 2)"),
        ({"type": "DECIMAL"}, "DECIMAL"),
    ],
)
def test_types_as_sql_writes_them(schema: dict[str, Any], expected: str) -> None:
    assert type_text(schema) == expected
