"""What a person types to `caudal schema`: a file with its language, a subject with a version, references."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from caudal.cli.errors import CliError, UsageError
from caudal.registry.schemas.schema import Reference

TYPES = {"avro": "AVRO", "json": "JSON", "protobuf": "PROTOBUF"}
_SUFFIXES = {".avsc": "AVRO", ".avro": "AVRO", ".proto": "PROTOBUF"}
_AVRO_NAMED = ("record", "enum", "fixed", "error")
_PROTOBUF = re.compile(
    r"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*(?:syntax|edition|package|import|option|message|enum)\b", re.S
)


class SchemaFile(NamedTuple):
    name: str
    type: str
    text: str


def read_schema(file: str, asked: str | None) -> SchemaFile:
    """A file, or stdin for `-`. Its language is what was asked for, else what suffix and content say."""
    if asked is not None and asked.lower() not in TYPES:
        raise UsageError(f"--type is one of {', '.join(TYPES)}, not '{asked}'")
    text = read_text(file)
    name = "stdin" if file == "-" else file
    if not text.strip():
        raise CliError(f"{name} is empty")
    found = TYPES[asked.lower()] if asked is not None else _guess(Path(file).suffix.lower(), text)
    if found is None:
        raise UsageError(f"the language of {name} cannot be told; give --type avro, json or protobuf")
    return SchemaFile(name, found, text)


def read_text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CliError(f"{'stdin' if file == '-' else file} is not text in UTF-8") from None
    except OSError as error:
        raise CliError(f"cannot read {file}: {error.strerror}") from None


def _guess(suffix: str, text: str) -> str | None:
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return "JSON" if suffix == ".json" else "PROTOBUF" if _PROTOBUF.match(text) else None
    if isinstance(schema, dict) and schema.get("type") in _AVRO_NAMED and "name" in schema:
        return "AVRO"
    return (
        "JSON"
        if suffix == ".json" or (isinstance(schema, dict) and schema.keys() & {"$schema", "properties"})
        else None
    )


def read_object(file: str, flag: str) -> dict[str, Any]:
    """A JSON object out of a file."""
    try:
        value = json.loads(read_text(file))
    except ValueError as error:
        raise CliError(f"{flag} {file} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CliError(f"{flag} {file} must hold a JSON object")
    return value


def subject_and_version(text: str) -> tuple[str, str | None]:
    """`orders-value@3` → ("orders-value", "3"); a subject may have an @ of its own."""
    subject, at, version = text.rpartition("@")
    if not at or not is_version(version):
        return text, None
    if not subject:
        raise UsageError(f"'{text}' names no subject; write SUBJECT@VERSION")
    return subject, version


def is_version(text: str) -> bool:
    return text == "latest" or (text.isascii() and text.isdigit())


def version_number(text: str | None) -> int | str:
    """As the registry takes it; without one, the latest."""
    return "latest" if text in (None, "latest") else int(text)


def references(items: list[str] | None) -> list[Reference]:
    """`Address=address-value:2`: in the text it is called Address. A subject may have colons (`:.context:name`)."""
    found = []
    for item in items or ():
        name, equals, place = item.partition("=")
        subject, colon, version = place.rpartition(":")
        if not (name and equals and subject and colon and version.isascii() and version.isdigit()):
            raise UsageError(f"--reference takes NAME=SUBJECT:VERSION, not '{item}'")
        found.append(Reference(name, subject, int(version)))
    return found
