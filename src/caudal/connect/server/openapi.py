"""The description of the REST API, from the table of its routes: `/openapi.json`, and `/docs` for people.

Both are made once at start. The page needs nothing from elsewhere: no script, no font, no network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from caudal import __version__
from caudal.connect.server.routes import Route

MEANINGS = {
    400: "the request is wrong; the message names what",
    403: "the signature of another worker is missing or wrong",
    404: "there is no such connector, task, plugin or logger",
    409: "it exists already, or the workers are being rebalanced: try again in a moment",
    500: "the worker did not answer in time, or something unexpected happened",
    503: "the worker is starting",
}
FLAGS = ("includeTasks", "onlyFailed", "connectorsOnly", "detail")
_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
BODIES: dict[str, dict[str, Any]] = {
    "NewConnector": {
        "type": "object",
        "required": ["name", "config"],
        "properties": {
            "name": _TEXT,
            "config": _TEXTS,
            "initial_state": {"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"], "default": "RUNNING"},
        },
    },
    "Config": _TEXTS,
    "Patch": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
    "Offsets": {
        "type": "object",
        "required": ["offsets"],
        "properties": {
            "offsets": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["partition", "offset"],
                    "properties": {
                        "partition": {"type": "object"},
                        "offset": {"type": "object", "nullable": True, "description": "null: begin anew"},
                    },
                },
            }
        },
    },
    "Configs": {"type": "array", "items": _TEXTS},
    "Level": {"type": "object", "required": ["level"], "properties": {"level": _TEXT}},
    "Error": {"type": "object", "properties": {"error_code": {"type": "integer"}, "message": _TEXT}},
}


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.pattern, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.0.3",
        "info": {"title": "Caudal Connect", "version": __version__},
        "paths": paths,
        "components": {"schemas": BODIES},
    }


def _operation(route: Route) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in re.findall(r"{(\w+)}", route.pattern)
    ]
    for name in route.query:
        kind = "boolean" if name in FLAGS else "string"
        parameters.append({"name": name, "in": "query", "schema": {"type": kind}})
    responses: dict[str, Any] = {str(route.status): {"description": route.summary}}
    for status in route.errors:
        schema = {"$ref": "#/components/schemas/Error"}
        responses[str(status)] = {
            "description": MEANINGS[status],
            "content": {"application/json": {"schema": schema}},
        }
    owner, name = getattr(route.endpoint, "__qualname__", "Rest.answer").split(".")[-2:]
    operation = {
        "operationId": f"{owner.lower()}_{name}",
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    }
    if route.body is not None:
        schema = {"$ref": f"#/components/schemas/{route.body}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def docs_page(routes: Sequence[Route]) -> str:
    rows = []
    for route in routes:
        options = " ".join(f"<code>{escape(name)}</code>" for name in route.query)
        codes = " ".join(f'<abbr title="{escape(MEANINGS[code])}">{code}</abbr>' for code in route.errors)
        body = f" · body: {route.body}" if route.body else ""
        rows.append(
            f'<tr><td class="{route.method}">{route.method}</td><td><code>{escape(route.pattern)}</code></td>'
            f"<td>{escape(route.summary)}{body}</td><td>{options}</td><td>{route.status}</td><td>{codes}</td></tr>"
        )
    meanings = "".join(f"<tr><td>{code}</td><td>{escape(text)}</td></tr>" for code, text in MEANINGS.items())
    return _PAGE.format(version=escape(__version__), rows="\n".join(rows), meanings=meanings)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Caudal Connect</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1d2430; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ border-bottom: 1px solid #d8dde6; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
code {{ font: 13px ui-monospace, monospace; }}
.GET {{ color: #1b6e3c; }} .POST {{ color: #7a4b00; }} .PUT {{ color: #5b2a86; }} .DELETE {{ color: #a01c2c; }}
.PATCH {{ color: #1c5a8a; }}
pre {{ background: #f4f6f9; padding: .8rem; overflow: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181f; color: #dde3ec; }} pre {{ background: #1d232d; }}
td, th {{ border-color: #323b49; }} .GET {{ color: #6fcf97; }} .POST {{ color: #e0b062; }} .PUT {{ color: #c39be8; }}
.DELETE {{ color: #f08a96; }} .PATCH {{ color: #7fb8e6; }} }}
</style></head><body>
<h1>Caudal Connect <small>{version}</small></h1>
<p>The same in a form for programs: <a href="/openapi.json">/openapi.json</a>. Measurements:
<a href="/metrics">/metrics</a>. All connectors: <a href="/connectors?expand=status">/connectors?expand=status</a>.</p>
<pre>curl -X POST -H 'Content-Type: application/json' --data '{{"name": "lines", "config":
  {{"connector.class": "FileStreamSource", "file": "/tmp/lines.txt", "topic": "lines"}}}}' http://localhost:8083/connectors</pre>
<p>Errors are <code>{{"error_code": …, "message": …}}</code>.</p>
<table><tr><th></th><th>path</th><th>what it does</th><th>parameters</th><th>answer</th><th>errors</th></tr>
{rows}
</table>
<h2>Errors</h2>
<table>{meanings}</table>
</body></html>
"""
