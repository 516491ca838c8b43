"""The REST API of KSQL, as ksqlDB's clients know it: statements, queries, inserts, and how the server is.

`app.py` lists the endpoints; each file beside it has one family of them. The engine blocks, so it is asked in threads.
"""

from __future__ import annotations
