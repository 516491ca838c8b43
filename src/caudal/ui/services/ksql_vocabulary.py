"""The words of KSQL as the editor colours and offers them: by place, and which follow which.

The parser's own lists (ksql/syntax/words.py) say what is reserved; these say what a person may want to write next.
"""

from __future__ import annotations

from caudal.ksql.syntax.words import QUOTED_WHEN_WRITTEN, STATEMENTS


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


THINGS = _words("STREAMS TABLES QUERIES TOPICS FUNCTIONS TYPES PROPERTIES VARIABLES CONNECTORS SOURCE SINK ALL")
UNITS = _words("MILLISECONDS SECONDS MINUTES HOURS DAYS")
FORMATS = _words("AVRO DELIMITED JSON JSON_SR KAFKA NONE PROTOBUF PROTOBUF_NOSR")
TYPES = _words("ARRAY< BIGINT BOOLEAN BYTES DATE DECIMAL( DOUBLE INTEGER MAP< STRING STRUCT< TIME TIMESTAMP VARCHAR")
PSEUDO = _words("ROWTIME ROWPARTITION ROWOFFSET WINDOWSTART WINDOWEND")
WITH = _words(
    """
    FORMAT KAFKA_TOPIC KEY_DELIMITER KEY_FORMAT KEY_SCHEMA_ID PARTITIONS REPLICAS RETENTION_MS SOURCED_BY_CONNECTOR
    TIMESTAMP TIMESTAMP_FORMAT VALUE_DELIMITER VALUE_FORMAT VALUE_SCHEMA_ID WINDOW_SIZE WINDOW_TYPE WRAP_SINGLE_VALUE
    """
)
EXPRESSION = _words(
    "AND AS BETWEEN CASE CAST( DISTINCT ELSE END FALSE IN IS LIKE NOT NULL OR STRUCT( THEN TRUE WHEN ARRAY[ MAP("
)
CLAUSES = _words(
    "FROM WHERE GROUP PARTITION HAVING WINDOW EMIT LIMIT JOIN INNER LEFT RIGHT FULL ON WITHIN GRACE WITH VALUES"
)
# The words that follow a word, where only those may.
AFTER: dict[str, tuple[str, ...]] = {
    "SHOW": (*THINGS, "CONNECTOR PLUGINS"),
    "LIST": (*THINGS, "CONNECTOR PLUGINS"),
    "CREATE": ("STREAM", "TABLE", "OR REPLACE", "SOURCE", "SINK", "TYPE"),
    "REPLACE": ("STREAM", "TABLE", "SOURCE"),
    "ALTER": ("STREAM", "TABLE", "SYSTEM"),
    "ASSERT": ("TOPIC", "SCHEMA", "NOT EXISTS"),
    "INSERT": ("INTO",),
    "EMIT": ("CHANGES", "FINAL"),
    "WINDOW": ("TUMBLING (SIZE ", "HOPPING (SIZE ", "SESSION ("),
    "GROUP": ("BY",),
    "PARTITION": ("BY",),
    "ADVANCE": ("BY",),
    "GRACE": ("PERIOD",),
    "LEFT": ("JOIN", "OUTER JOIN"),
    "RIGHT": ("JOIN", "OUTER JOIN"),
    "FULL": ("JOIN", "OUTER JOIN"),
    "INNER": ("JOIN",),
    "OUTER": ("JOIN",),
    "IS": ("NULL", "NOT NULL", "DISTINCT FROM", "NOT DISTINCT FROM"),
    "CHANGES": ("LIMIT",),
}


# -- colours -----------------------------------------------------------------------------------------------------------

PLAIN_TYPES = frozenset(one.rstrip("<(") for one in (*TYPES, "INT"))
MORE = _words(
    "CHANGES FINAL SESSION OR REPLACE IF SOURCE SINK TYPE KEY PRIMARY HEADERS HEADER ADD COLUMN PERIOD ESCAPE"
)
COLOURED = frozenset({*QUOTED_WHEN_WRITTEN, *STATEMENTS, *THINGS, *MORE}) - PLAIN_TYPES
