"""Tests of SQL as SQL: scripts of statements, inserts and assertions, run in process without broker and Spark.

`cases.py` reads the files, `in_process.py` is the small world they run in, `runner.py` runs a case and says what went
wrong. `caudal ksql-test FILE…` is the command.
"""

from __future__ import annotations
