"""KSQL: SQL over streams and tables, in ksqlDB's language, compiled to the plan that Streams makes and run by Spark.

Read in this order: `syntax/` (text → tree, positions kept), `sources.py` and `schema.py` (what a stream or table is),
`expressions/` (names and types resolved, compiled to Python), `planner/` (a query → a Streams topology), `engine/`
(what exists and runs: catalog, command topic, persistent, push and pull queries), `server/` (REST). `functions/` has
one definition per SQL function, `formats/` the bytes of keys and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caudal.ksql.functions.origins import load_folder
    from caudal.ksql.functions.user import udaf, udf, udtf

__all__ = ["load_folder", "udaf", "udf", "udtf"]


def __getattr__(name: str) -> Any:
    """Users' functions are defined with these; whoever only parses need not load them."""
    if name in __all__:
        from caudal.ksql.functions import origins, user

        return getattr(origins if name == "load_folder" else user, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
