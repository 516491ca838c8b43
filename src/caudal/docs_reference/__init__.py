"""The reference pages of the documentation, made from the code that they describe: nothing in them is typed by hand.

`PAGES` names each page and who makes it; `site_hook.py` gives them to MkDocs while it builds. Adding one is a function
and a line here. Prose about the same things is in docs/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from caudal.docs_reference import commands, configs, connectors, functions, metrics, python_api, rest

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "reference/commands.md": commands.page,
    "reference/topic-configs.md": configs.topic_page,
    "reference/broker-configs.md": configs.broker_page,
    "reference/streams-api.md": python_api.page,
    "reference/sql-functions.md": functions.page,
    "reference/connectors.md": connectors.page,
    "reference/rest-registry.md": rest.registry_page,
    "reference/rest-connect.md": rest.connect_page,
    "reference/rest-ksql.md": rest.ksql_page,
    "reference/metrics.md": metrics.page,
}
