"""The servers of the pages: started once, when the first page needs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.platform import Platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    running = Platform(tmp_path_factory.mktemp("pages"))
    try:
        running.wait()
        yield running
    finally:
        running.stop()
