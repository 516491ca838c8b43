"""The shell behind `caudal ksql`: statements typed, or given with -e and -f, sent to a server, its answers drawn.

`client.py` speaks HTTP, `session.py` knows which statements are the shell's own and where each other goes,
`drawing.py` makes tables of answers and `rows.py` of a query's rows, `repl.py` is the prompt. It works with any server
that speaks ksqlDB's REST API: what a statement means is the server's business.
"""

from __future__ import annotations
