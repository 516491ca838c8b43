"""Defaults of Avro fields as Python values. In the schema they are JSON: bytes are text, dates are numbers; fastavro
takes them as they stand, which a writer refuses and a reader would hand out."""

from __future__ import annotations

from typing import Any


def set_defaults(schema: Any) -> Any:
    """Changes the defaults of a schema that fastavro has parsed, in place, and gives it back."""
    seen: set[int] = set()
    named = schema.get("__named_schemas", {}) if isinstance(schema, dict) else {}

    def visit(it: Any) -> None:
        if isinstance(it, list):
            for each in it:
                visit(each)
        elif isinstance(it, dict) and id(it) not in seen:
            seen.add(id(it))
            for field in it.get("fields") or ():
                visit(field["type"])
                if "default" in field and id(field) not in seen:  # named types share their fields
                    seen.add(id(field))
                    field["default"] = _value(field["type"], field["default"], named)
            for inner in ("items", "values", "type"):
                if isinstance(it.get(inner), (dict, list)):
                    visit(it[inner])

    visit(schema)
    for each in named.values():
        visit(each)
    return schema


def has_changeable(schema: Any) -> bool:
    """Whether some default is a list or a dict, which fastavro would put into every record."""
    named = schema.get("__named_schemas", {}) if isinstance(schema, dict) else {}
    fields = [
        field for each in (schema, *named.values()) if isinstance(each, dict) for field in each.get("fields") or ()
    ]
    return any(isinstance(field.get("default"), (list, dict)) for field in fields)


def own_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: own_copy(item) for key, item in value.items()}
    return [own_copy(item) for item in value] if isinstance(value, list) else value


def _value(schema: Any, default: Any, named: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        # The default of a union is one of its first branch; newer writers of schemas allow the others.
        for branch in schema:
            if (default is None) == (branch == "null"):
                return _value(branch, default, named)
        return default
    if isinstance(schema, str):
        if schema in named:
            return _value(named[schema], default, named)
        return default.encode("latin-1") if schema == "bytes" and isinstance(default, str) else default
    kind = schema["type"]
    if kind == "array" and isinstance(default, list):
        return [_value(schema["items"], item, named) for item in default]
    if kind == "map" and isinstance(default, dict):
        return {key: _value(schema["values"], item, named) for key, item in default.items()}
    if kind in ("record", "error") and isinstance(default, dict):
        types = {field["name"]: field["type"] for field in schema["fields"]}
        return {name: _value(types[name], item, named) if name in types else item for name, item in default.items()}
    if kind in ("bytes", "fixed") and isinstance(default, str):
        default = default.encode("latin-1")
    logical = schema.get("logicalType")
    if logical is None or default is None or isinstance(default, (list, dict)):
        return default
    from fastavro.read import LOGICAL_READERS

    read = LOGICAL_READERS.get(f"{kind}-{logical}")
    return default if read is None else read(default, schema, None)
