"""The description of the REST API, from the table of its routes: `/openapi.json`, and `/docs` for people.

Both are made once at start. The page needs nothing from elsewhere: no script, no font, no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from caudal import __version__
from caudal.registry.http import CONTENT_TYPE, Route

MEANINGS = {
    409: "the schema is incompatible with an earlier one; the message has every reason",
    40401: "no such subject",
    40402: "no such version",
    40403: "no such schema",
    40404: "the subject is soft-deleted",
    40405: "the subject is not soft-deleted yet",
    40406: "the version is soft-deleted",
    40407: "the version is not soft-deleted yet",
    40408: "the subject has no config of its own",
    40409: "the subject has no mode of its own",
    42201: "invalid schema",
    42202: "invalid version",
    42203: "invalid compatibility level",
    42204: "invalid mode",
    42205: "the mode does not permit it",
    42206: "another schema refers to it",
    42207: "the schema has another id already",
    42208: "invalid subject",
    42209: "the schema is too large",
    42210: "invalid rule set",
    42211: "the context is not empty",
    50001: "the write failed, or something unexpected happened",
    50002: "it took too long",
    50003: "the writer cannot be reached",
    50004: "there is no writer for now",
}
FLAGS = {
    "normalize",
    "deleted",
    "deletedOnly",
    "permanent",
    "verbose",
    "defaultToGlobal",
    "force",
    "latestOnly",
    "fetchMaxId",
}
NUMBERS = {"offset", "limit"}
_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
BODIES: dict[str, dict[str, Any]] = {
    "Schema": {
        "type": "object",
        "properties": {
            "schema": _TEXT,
            "schemaType": {"type": "string", "enum": ["AVRO", "JSON", "PROTOBUF"], "default": "AVRO"},
            "references": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": _TEXT, "subject": _TEXT, "version": {"type": "integer"}},
                },
            },
            "metadata": _OBJECT,
            "ruleSet": _OBJECT,
            "id": {"type": "integer", "description": "in IMPORT mode"},
            "version": {"type": "integer", "description": "in IMPORT mode"},
        },
    },
    "Config": {
        "type": "object",
        "properties": {
            "compatibility": _TEXT,
            "compatibilityGroup": _TEXT,
            "alias": _TEXT,
            "normalize": {"type": "boolean"},
            "defaultMetadata": _OBJECT,
            "overrideMetadata": _OBJECT,
            "defaultRuleSet": _OBJECT,
            "overrideRuleSet": _OBJECT,
        },
    },
    "Mode": {"type": "object", "properties": {"mode": _TEXT}},
    "Error": {"type": "object", "properties": {"error_code": {"type": "integer"}, "message": _TEXT}},
}


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.pattern, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Caudal Schema Registry",
            "version": __version__,
            "description": "Every path can also be asked under /contexts/{context}/… .",
        },
        "paths": paths,
        "components": {"schemas": BODIES},
    }


def _operation(route: Route) -> dict[str, Any]:
    kind = CONTENT_TYPE.decode()
    parameters: list[dict[str, Any]] = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": _TEXT}
        for part in route.parts
        if part.startswith("{")
    ]
    for name in route.query:
        type_ = "boolean" if name in FLAGS else "integer" if name in NUMBERS else "string"
        parameters.append({"name": name, "in": "query", "schema": {"type": type_}})
    responses: dict[str, Any] = {"200": {"description": "OK", "content": {kind: {"schema": {}}}}}
    for status in sorted({_status(code) for code in route.codes}):
        meanings = [f"{code}: {MEANINGS[code]}" for code in route.codes if _status(code) == status]
        responses[str(status)] = {
            "description": "; ".join(meanings),
            "content": {kind: {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    operation: dict[str, Any] = {
        "operationId": getattr(route.endpoint, "__name__", "answer") + "_" + str(len(route.parts)),
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    }
    if route.body is not None:
        schema = {"$ref": f"#/components/schemas/{route.body}"}
        operation["requestBody"] = {"required": True, "content": {kind: {"schema": schema}}}
    return operation


def _status(code: int) -> int:
    return code if code < 1000 else code // 100


def docs_page(routes: Sequence[Route]) -> str:
    rows = []
    for route in routes:
        options = " ".join(f"<code>{escape(name)}</code>" for name in route.query)
        codes = " ".join(f'<abbr title="{escape(MEANINGS[code])}">{code}</abbr>' for code in route.codes)
        body = f" · body: {route.body}" if route.body else ""
        rows.append(
            f'<tr><td class="{route.method}">{route.method}</td><td><code>{escape(route.pattern)}</code></td>'
            f"<td>{escape(route.summary)}{body}</td><td>{options}</td><td>{codes}</td></tr>"
        )
    meanings = "".join(f"<tr><td>{code}</td><td>{escape(text)}</td></tr>" for code, text in MEANINGS.items())
    return _PAGE.format(
        version=escape(__version__), rows="\n".join(rows), meanings=meanings, type=CONTENT_TYPE.decode()
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Caudal Schema Registry</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1d2430; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ border-bottom: 1px solid #d8dde6; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
code {{ font: 13px ui-monospace, monospace; }}
.GET {{ color: #1b6e3c; }} .POST {{ color: #7a4b00; }} .PUT {{ color: #5b2a86; }} .DELETE {{ color: #a01c2c; }}
pre {{ background: #f4f6f9; padding: .8rem; overflow: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181f; color: #dde3ec; }} pre {{ background: #1d232d; }}
td, th {{ border-color: #323b49; }} .GET {{ color: #6fcf97; }} .POST {{ color: #e0b062; }} .PUT {{ color: #c39be8; }}
.DELETE {{ color: #f08a96; }} }}
</style></head><body>
<h1>Caudal Schema Registry <small>{version}</small></h1>
<p>The same in a form for programs: <a href="/openapi.json">/openapi.json</a>. Measurements:
<a href="/metrics">/metrics</a>. All subjects: <a href="/subjects">/subjects</a>.</p>
<pre>curl -X POST -H 'Content-Type: {type}' \\
  --data '{{"schema": "{{\\"type\\": \\"string\\"}}"}}' http://localhost:8081/subjects/example-value/versions</pre>
<p>Every path can also be asked under <code>/contexts/{{context}}/…</code>. Errors are
<code>{{"error_code": …, "message": …}}</code>.</p>
<table><tr><th></th><th>path</th><th>what it does</th><th>parameters</th><th>errors</th></tr>
{rows}
</table>
<h2>Errors</h2>
<table>{meanings}</table>
</body></html>
"""
