"""Options and fixtures that every folder of tests may use."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("caudal")
    group.addoption(
        "--bootstrap",
        metavar="HOST:PORT",
        help="run tests/conformance against this cluster (Apache Kafka, say) instead of a Caudal broker of its own",
    )
    group.addoption(
        "--bootstrap-data",
        metavar="FOLDER",
        help="the log folder of the cluster at --bootstrap, for the tests that read its files",
    )
