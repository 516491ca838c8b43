"""What a query may not be: the sentence, and where it points."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.ksql.planner.case_files import cases, harness

from caudal.ksql.errors import KsqlError


@pytest.mark.parametrize("case", cases("errors"))
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(KsqlError) as caught:
        harness().execute(case["sql"])
    assert case["error"] in caught.value.message
    at = caught.value.at
    assert ("none" if at is None else f"{at.line}:{at.column}") == str(case["at"])
    assert "\n" not in caught.value.message
