"""Which words are reserved, and which begin a statement.

A reserved word needs back-quotes to be a name. Fewer words are reserved here than in ksqlDB (a column may be called
`size` or `topic`); the text that `format.py` writes quotes all of ksqlDB's, so that it can be read there too.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = _words(
    """
    SELECT FROM AS ALL DISTINCT WHERE WITHIN WINDOW GROUP BY HAVING LIMIT AT OR AND IN NOT EXISTS BETWEEN LIKE IS NULL
    TRUE FALSE CASE WHEN THEN ELSE END JOIN FULL OUTER INNER LEFT RIGHT ON WITH VALUES CREATE INSERT INTO DELETE DROP
    CAST TABLE STREAM DESCRIBE
    """
)

# Reserved words that go on with a statement: where one of these stands in the place of a name, the name is missing.
CONTINUING = _words(
    "FROM AS WHERE WITHIN WINDOW GROUP BY HAVING LIMIT OR AND IN BETWEEN LIKE IS WHEN THEN ELSE END JOIN ON"
)

QUOTED_WHEN_WRITTEN = RESERVED | _words(
    """
    MILLISECOND YEARS MONTHS DAYS HOURS MINUTES SECONDS MILLISECONDS TUMBLING HOPPING SIZE ADVANCE RETENTION TOPIC
    STREAMS EXTENDED PRINT LIST TOPICS QUERY QUERIES TERMINATE LOAD TO RENAME SAMPLE EXPORT CATALOG PROPERTIES BEGINNING
    UNSET RUN SCRIPT DECIMAL CONNECTOR CONNECTORS NAMESPACE MATERIALIZED VIEW
    ARRAY MAP STRUCT EMIT PARTITION GRACE ORDER UNION TABLES FUNCTION
    """
)

# One unit's names, and how many milliseconds it has.
UNITS = {
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
    "MILLISECOND": 1,
}
MILLISECONDS = UNITS | {f"{name}S": size for name, size in UNITS.items()}

# Their first argument is a unit without quotes: TIMESTAMPADD(DAYS, 1, t).
UNIT_FUNCTIONS = frozenset(["TIMESTAMPADD", "TIMESTAMPSUB", "DATEADD", "DATESUB", "TIMEADD", "TIMESUB"])

STATEMENTS = (
    "SELECT",
    "CREATE",
    "INSERT",
    "DROP",
    "ALTER",
    "SHOW",
    "LIST",
    "DESCRIBE",
    "EXPLAIN",
    "PRINT",
    "TERMINATE",
    "PAUSE",
    "RESUME",
    "SET",
    "UNSET",
    "DEFINE",
    "UNDEFINE",
    "ASSERT",
    "RUN",
)
