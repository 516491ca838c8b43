"""Every case of `tests/ksql/golden`: SQL in, rows out, in process. Some run end to end in test_golden_server."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.ksql.testing.cases import Case, read_cases
from caudal.ksql.testing.runner import run_case

FILES = sorted((Path(__file__).parents[2] / "ksql" / "golden").glob("*.sql"))
CASES = [case for file in FILES for case in read_cases(file)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    failure = run_case(case).failure
    assert failure is None, failure
