"""The pages whose code needs a Spark session, on the one that all tests share, with a broker of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caudal.testing import embedded_broker
from tests.docs.blocks import blocks_of
from tests.docs.coverage import WITH_SPARK, own_test
from tests.docs.running import PageRun

pytestmark = pytest.mark.timeout(300)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_SPARK)
def test_the_page_on_spark(page: str, spark: Any, tmp_path: Path) -> None:
    blocks = [block for block in blocks_of(page) if own_test(block) is None]
    with embedded_broker() as broker:
        for topic in ("orders", "large-orders"):
            broker.create_topic(topic, 2)
        PageRun(page, tmp_path, spark=spark, bootstrap=broker.bootstrap).run(blocks)
