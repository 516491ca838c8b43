"""The editor's text as steps, and what SET and DEFINE leave behind."""

from __future__ import annotations

import pytest

from caudal.ui.services.ksql import Refused
from caudal.ui.services.ksql_script import Kind, Settings, Step, step_at, steps

SCRIPT = "SET 'a.b'='c';\nSELECT * FROM s EMIT CHANGES;\n-- now\nSELECT * FROM t;\nPRINT 'x';\nSHOW STREAMS;"


def test_each_statement_goes_its_way() -> None:
    kinds = [step.kind for step in steps(SCRIPT)]
    assert kinds == [Kind.SESSION, Kind.PUSH, Kind.PULL, Kind.PRINT, Kind.OTHER]


def test_a_step_knows_where_it_begins() -> None:
    assert all(SCRIPT.startswith(step.text, step.begin) for step in steps(SCRIPT))


def test_the_statement_at_the_cursor() -> None:
    assert step_at(SCRIPT, SCRIPT.index("FROM t")) == Step("SELECT * FROM t", SCRIPT.index("SELECT * FROM t"))
    assert step_at("  SHOW STREAMS;", 0) == Step("SHOW STREAMS", 2)
    assert step_at("", 0) is None


def test_set_and_define_hold_until_they_are_undone() -> None:
    settings = Settings()
    for text in ("SET 'auto.offset.reset' = 'earliest'", "DEFINE who = 'ana'", "DEFINE WHO = 'eva'"):
        settings.apply(Step(text, 0))
    assert settings.properties == {"auto.offset.reset": "earliest"}
    assert settings.filled(Step("SELECT '${who}' FROM s", 0)) == "SELECT 'eva' FROM s;"
    settings.apply(Step("UNSET 'auto.offset.reset'", 0))
    settings.apply(Step("UNDEFINE who", 0))
    assert settings == Settings()


def test_a_set_that_cannot_be_read_says_where() -> None:
    with pytest.raises(Refused) as refused:
        Settings().apply(Step("SET 'a' 'b'", 0))
    assert refused.value.problem.column == 9


def test_what_makes_other_names() -> None:
    assert Step("create stream s (a int)", 0).changes_names
    assert not Step("SHOW STREAMS", 0).changes_names
