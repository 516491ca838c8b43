"""The engine: statements in, entities out. It keeps the catalog, runs queries, and answers push and pull queries.

Entities are the JSON objects of ksqlDB's REST API (`@type`, `statementText`, `warnings`, …); the server sends them as
they are, the shell draws them.
"""

from __future__ import annotations
