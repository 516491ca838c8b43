"""Which failures of a Spark query no other start mends."""

from __future__ import annotations

import pytest

from caudal.runtime.spark.query import permanent_cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "Job aborted\n  File worker.py, line 3\nModuleNotFoundError: No module named 'caudal'\n\tat Executor",
            "ModuleNotFoundError: No module named 'caudal'",
        ),
        (
            'x\nCaused by: java.io.IOException: Cannot run program "/no/python": error=2, No such file or directory\ny',
            'java.io.IOException: Cannot run program "/no/python": error=2, No such file or directory',
        ),
        ("PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] 3.11 and 3.12", None),
        ('Cannot run program "python": error=11, Resource temporarily unavailable', ""),
        ("Python worker exited unexpectedly (crashed)", ""),
        ("org.apache.kafka.common.errors.TimeoutException: Timeout expired", ""),
    ],
)
def test_only_what_fails_every_time_is_permanent(text: str, cause: str | None) -> None:
    assert permanent_cause(RuntimeError(text)) == (text if cause is None else cause or None)


def test_a_query_without_an_error_is_not_hopeless() -> None:
    assert permanent_cause(None) is None
