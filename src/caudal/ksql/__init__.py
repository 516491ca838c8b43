"""KSQL: SQL over streams and tables, in ksqlDB's language, compiled to the plan that Streams makes and run by Spark.

Read in this order: `syntax/` (text → tree, positions kept), `sources.py` and `schema.py` (what a stream or table is),
`expressions/` (names and types resolved, compiled to Python), `planner/` (a query → a Streams topology), `engine/`
(what exists and runs: catalog, command topic, persistent, push and pull queries), `server/` (REST). `functions/` has
one definition per SQL function, `formats/` the bytes of keys and values.
"""

from __future__ import annotations
