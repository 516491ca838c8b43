"""What is typed to `caudal schema`: files and their language, subjects with versions, references."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from caudal.cli.errors import CliError, UsageError
from caudal.cli.schema_files import read_object, read_schema, references, subject_and_version
from caudal.registry.schemas.schema import Reference

AVRO = '{"type": "record", "name": "Order", "fields": []}'
JSON = '{"type": "object", "properties": {}}'
PROTO = '// an order\nsyntax = "proto3";\nmessage Order {}\n'


@pytest.mark.parametrize(
    ("name", "text", "type_"),
    [
        ("a.avsc", AVRO, "AVRO"),
        ("a.proto", PROTO, "PROTOBUF"),
        ("a.json", JSON, "JSON"),
        ("a.json", AVRO, "AVRO"),
        ("a.json", "true", "JSON"),
        ("a.json", "{", "JSON"),
        ("a.txt", AVRO, "AVRO"),
        ("a.txt", JSON, "JSON"),
        ("a.txt", PROTO, "PROTOBUF"),
        ("a", "/* c */ message Order {}", "PROTOBUF"),
    ],
)
def test_the_language_is_guessed(tmp_path: Path, name: str, text: str, type_: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_schema(str(tmp_path / name), None).type == type_


def test_the_language_can_be_given_and_stdin_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('"string"'))
    assert read_schema("-", "Avro") == ("stdin", "AVRO", '"string"')


@pytest.mark.parametrize(
    ("content", "asked", "words"),
    [
        (b"what is this", None, r"cannot be told; give --type"),
        (b"  \n", "avro", "is empty"),
        (b"\xff\xfe", None, "not text in UTF-8"),
        (AVRO.encode(), "xml", "--type is one of avro, json, protobuf, not 'xml'"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: bytes, asked: str | None, words: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(CliError, match=words):
        read_schema(str(tmp_path / "a"), asked)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="No such file"):
        read_schema(str(tmp_path / "none.avsc"), None)
    with pytest.raises(CliError, match="Is a directory"):
        read_schema(str(tmp_path), "avro")


def test_rules_must_be_a_json_object(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text("[]")
    with pytest.raises(CliError, match="must hold a JSON object"):
        read_object(str(file), "--rules")
    file.write_text("{")
    with pytest.raises(CliError, match="is not JSON"):
        read_object(str(file), "--rules")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("orders-value", ("orders-value", None)),
        ("orders-value@3", ("orders-value", "3")),
        ("orders-value@latest", ("orders-value", "latest")),
        ("a@b", ("a@b", None)),
        ("a@b@1", ("a@b", "1")),
        (":.ctx:orders@2", (":.ctx:orders", "2")),
    ],
)
def test_a_subject_with_its_version(text: str, parts: tuple[str, str | None]) -> None:
    assert subject_and_version(text) == parts


def test_a_version_needs_a_subject() -> None:
    with pytest.raises(UsageError):
        subject_and_version("@3")


def test_references() -> None:
    assert references(["shop.Address=address-value:2", "b.proto=:.ctx:b:1"]) == [
        Reference("shop.Address", "address-value", 2),
        Reference("b.proto", ":.ctx:b", 1),
    ]
    for wrong in ("a", "a=b", "a=b:x", "=b:1", "a=:1", "a=b:"):
        with pytest.raises(UsageError, match="NAME=SUBJECT:VERSION"):
            references([wrong])
