"""The golden cases of SQL, in process: what `tests/ksql/golden/*.sql` says goes in and comes out."""

from __future__ import annotations

import pytest
from tests.ksql.golden_files import Case, cases, run


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden(case: Case) -> None:
    run(case)
