"""A global table whose schemas cannot be had: asked for again, then said."""

from __future__ import annotations

import pytest

from caudal.runtime.errors import Interrupted, StreamsError
from caudal.runtime.spark.global_tables import ATTEMPTS, _patiently
from caudal.serde import SchemasUnavailable


def test_a_record_is_tried_again_and_then_its_reason_is_said() -> None:
    tried: list[int] = []

    def until(success: int) -> None:
        tried.append(1)
        if len(tried) < success:
            raise Interrupted(SchemasUnavailable("no registry at http://r:8081"))

    _patiently(lambda: until(ATTEMPTS))
    assert len(tried) == ATTEMPTS
    tried.clear()
    with pytest.raises(StreamsError, match="no registry at http://r:8081"):
        _patiently(lambda: until(ATTEMPTS + 1))
    assert len(tried) == ATTEMPTS
