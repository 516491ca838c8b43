"""Who runs which blocks: a page's own test where it has one, tests/docs for all others."""

from __future__ import annotations

from collections.abc import Mapping

from tests.docs.blocks import Block

# page → languages → the test that runs them. `None` for a language: every block of the page.
ELSEWHERE: Mapping[str, Mapping[str | None, str]] = {
    "batch.md": {"python": "tests/spark/test_batch.py", "sh": "tests/spark/test_batch.py"},
    "connect-transforms.md": {None: "tests/unit/connect/transforms/test_page.py"},
    "connect.md": {"sh": "tests/connect/test_connect_page.py"},
    "ksql-tour.md": {None: "tests/ksql/test_tour.py"},
    "registry.md": {"sh": "tests/registry/test_registry_page.py"},
    "serdes.md": {None: "tests/unit/serde/test_page.py"},
    "streams.md": {None: "tests/examples/test_guide.py"},
    "views.md": {None: "tests/unit/views/test_page.py"},
    "scale-out.md": {"sh": "tests/examples/test_guide.py"},
    "real-time.md": {"sh": "tests/examples/test_guide.py"},
}
# Their blocks begin Spark in this process: test_spark_blocks.py.
WITH_SPARK = ("native-lane.md", "real-time.md", "migrate/pyspark.md")
# Written and tested with what they are about; their commands are checked here too (test_commands.py).
OF_OTHERS = ("cli.md", "demos.md")


def own_test(block: Block) -> str | None:
    """The test that runs the block, if it is one of the page's own."""
    languages = ELSEWHERE.get(block.page, {})
    return languages.get(block.language, languages.get(None))
