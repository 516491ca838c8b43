"""CREATE OR REPLACE: which queries may go on with the state of those they replace."""

from __future__ import annotations

import pytest
from tests.unit.ksql.planner.case_files import harness

from caudal.ksql.errors import KsqlError
from caudal.ksql.planner.evolution import check_replacement, fingerprint
from caudal.ksql.planner.planned import PlannedQuery


def _plan(sql: str) -> PlannedQuery:
    return harness().execute(sql)[-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STREAM o AS SELECT k, a FROM s", "STREAM o AS SELECT k, a FROM s"),
        ("STREAM o AS SELECT k, a FROM s", "STREAM o AS SELECT k, a FROM s WHERE a > 1"),
        ("STREAM o AS SELECT k, a FROM s WHERE a > 1", "STREAM o AS SELECT k, a FROM s"),
        ("STREAM o AS SELECT k, a FROM s", "STREAM o AS SELECT k, a, b FROM s"),
        ("STREAM o AS SELECT k, a FROM s", "STREAM o AS SELECT k, a + 1 AS a FROM s"),
        ("TABLE o AS SELECT k, v FROM t", "TABLE o AS SELECT k, v, w FROM t WHERE v > 1"),
        (
            "TABLE o AS SELECT k, COUNT(*) AS n FROM s GROUP BY k",
            "TABLE o AS SELECT k, COUNT(*) AS n FROM s WHERE a > 1 GROUP BY k",
        ),
        (
            "TABLE o AS SELECT b, COUNT(*) AS n FROM s GROUP BY b",
            "TABLE o AS SELECT b, COUNT(*) AS n FROM s WHERE a > 1 GROUP BY b HAVING COUNT(*) > 5",
        ),
        (
            "STREAM o AS SELECT s.k AS k, a FROM s JOIN r WITHIN 1 HOUR ON s.k = r.k",
            "STREAM o AS SELECT s.k AS k, a, c FROM s JOIN r WITHIN 1 HOUR ON s.k = r.k WHERE c > 1",
        ),
        (
            "STREAM o AS SELECT s.a AS id, s.k AS k FROM s JOIN p ON s.a = p.id",
            "STREAM o AS SELECT s.a AS id, s.k AS k, name FROM s JOIN p ON s.a = p.id WHERE name <> 'x'",
        ),
    ],
)
def test_goes_on(old: str, new: str) -> None:
    before, after = _plan(f"CREATE {old};"), _plan(f"CREATE OR REPLACE {new};")
    check_replacement(before, after)
    assert fingerprint(before) == fingerprint(after)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "STREAM o AS SELECT k, a FROM s",
            "STREAM o AS SELECT k, c AS a FROM r",
            "the source was 'S' and would be 'R'",
        ),
        ("STREAM o AS SELECT k, a, b FROM s", "STREAM o AS SELECT k, a FROM s", "the column B STRING would be missing"),
        ("STREAM o AS SELECT k, a, b FROM s", "STREAM o AS SELECT k, b, a FROM s", "the column A INTEGER would be B"),
        (
            "STREAM o AS SELECT k, a FROM s",
            "STREAM o AS SELECT k, CAST(a AS BIGINT) AS a FROM s",
            "the column A INTEGER would be A BIGINT",
        ),
        ("STREAM o AS SELECT k, a FROM s", "STREAM o AS SELECT k AS j, a FROM s", "the key was K STRING KEY"),
        ("STREAM o AS SELECT k, a FROM s", "TABLE o AS SELECT k, COUNT(*) AS a FROM s GROUP BY k", "was a STREAM"),
        (
            "STREAM o AS SELECT b, a FROM s PARTITION BY b",
            "STREAM o AS SELECT a, b FROM s PARTITION BY a",
            "PARTITION BY",
        ),
        (
            "TABLE o AS SELECT k, COUNT(*) AS n FROM s GROUP BY k",
            "TABLE o AS SELECT k, COUNT(a) AS n FROM s GROUP BY k",
            "the aggregation was 'GROUP BY S.K: COUNT(*)' and would be 'GROUP BY S.K: COUNT(S.A)'",
        ),
        (
            "TABLE o AS SELECT k, COUNT(*) AS n FROM s GROUP BY k",
            "TABLE o AS SELECT k, COUNT(*) AS n, SUM(a) AS m FROM s GROUP BY k",
            "the aggregation was",
        ),
        (
            "TABLE o AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k",
            "TABLE o AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 2 HOURS) GROUP BY k",
            "the aggregation was",
        ),
        (
            "STREAM o AS SELECT s.k AS k, a FROM s JOIN t ON s.k = t.k",
            "STREAM o AS SELECT s.k AS k, a FROM s LEFT JOIN t ON s.k = t.k",
            "the join was 'INNER JOIN ON S.K = T.K' and would be 'LEFT JOIN ON S.K = T.K'",
        ),
        (
            "STREAM o AS SELECT k, a FROM s",
            "STREAM o AS SELECT s.k AS k, a FROM s JOIN t ON s.k = t.k",
            "its steps are others: ",
        ),
        (
            "STREAM o AS SELECT k, a FROM s",
            "STREAM o WITH (VALUE_FORMAT='DELIMITED') AS SELECT k, a FROM s",
            "the value format was 'JSON' and would be 'DELIMITED'",
        ),
        (
            "STREAM o AS SELECT k, a FROM s",
            "STREAM o WITH (KAFKA_TOPIC='x') AS SELECT k, a FROM s",
            "the topic was 'O'",
        ),
    ],
)
def test_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(KsqlError) as caught:
        check_replacement(_plan(f"CREATE {old};"), _plan(f"CREATE OR REPLACE {new};"))
    assert reason in caught.value.message
