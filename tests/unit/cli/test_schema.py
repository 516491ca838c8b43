"""`caudal schema` against the registry inside the process (`mock://`); what that does not have is in tests/registry."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from caudal.cli.main import main
from caudal.registry.client import RegistryClient, RegistryError
from caudal.registry.mock import forget_registry

REGISTRY = "mock://schema-commands"


class Outcome(NamedTuple):
    code: Any
    out: str
    err: str


Schema = Callable[..., Outcome]


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Schema]:
    monkeypatch.setenv("CAUDAL_REGISTRY", REGISTRY)
    forget_registry(REGISTRY)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(["schema", *arguments])
        return Outcome(left.value.code, *capsys.readouterr())

    yield run
    forget_registry(REGISTRY)


def avro(folder: Path, name: str, *fields: dict[str, Any]) -> str:
    file = folder / f"{name}.avsc"
    file.write_text(json.dumps({"type": "record", "name": "Order", "fields": list(fields)}))
    return str(file)


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": ""}
TOTAL = {"name": "total", "type": "double"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "one": avro(tmp_path, "one", ID),
        "two": avro(tmp_path, "two", ID, NOTE),
        "bad": avro(tmp_path, "bad", ID, TOTAL),
    }


def test_register_and_show(schema: Schema, files: dict[str, str]) -> None:
    assert schema("register", "orders-value", files["one"]) == (0, "registered orders-value version 1, id 1\n", "")
    assert schema("register", "orders-value", files["one"]).out == "orders-value has it already: version 1, id 1\n"
    assert json.loads(schema("register", "orders-value", files["two"], "--json").out) == {
        "subject": "orders-value",
        "version": 2,
        "id": 2,
        "new": True,
    }
    latest = schema("show", "orders-value")
    assert latest.err == "orders-value version 2  id 2  AVRO\n"
    assert [field["name"] for field in json.loads(latest.out)["fields"]] == ["id", "note"]
    assert '\n  "name": "Order"' in latest.out
    first = json.loads(schema("show", "orders-value@1", "--json").out)
    assert (first["id"], first["schemaType"], first["schema"]["fields"]) == (1, "AVRO", [ID])
    by_id = schema("show", "--id", "2")
    assert by_id.err == "id 2  AVRO\nregistered as orders-value version 2\n"
    assert by_id.out == latest.out


def test_metadata_rules_and_references(schema: Schema, files: dict[str, str], tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(
        json.dumps(
            {
                "domainRules": [
                    {"name": "positive", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "message.id > 0"}
                ]
            }
        )
    )
    schema("register", "order", files["one"])
    basket = tmp_path / "basket.avsc"
    basket.write_text(json.dumps({"type": "record", "name": "Basket", "fields": [{"name": "first", "type": "Order"}]}))
    told = schema(
        "register", "basket", str(basket), "-R", "Order=order:1", "-m", "owner=shop", "--rules", str(rules)
    )  # fmt: skip
    assert told.out == "registered basket version 1, id 2\n"
    assert schema("show", "basket").err.splitlines() == [
        "basket version 1  id 2  AVRO",
        "uses Order = order version 1",
        "owner=shop",
        "rule positive: CEL message.id > 0",
    ]


def test_what_may_not_follow_is_said_reason_by_reason(schema: Schema, files: dict[str, str]) -> None:
    schema("register", "orders-value", files["one"])
    assert schema("check", "orders-value", files["two"]).out == (
        "compatible: orders-value may have it as its next version (level BACKWARD)\n"
    )
    checked = schema("check", "orders-value", files["bad"])
    assert checked.code == 1
    assert "total" in checked.out
    assert "(READER_FIELD_MISSING_DEFAULT_VALUE)" in checked.out
    assert checked.err == "caudal: orders-value may not have it as its next version (level BACKWARD): 1 reason\n"
    refused = schema("register", "orders-value", files["bad"])
    assert (refused.code, refused.out) == (1, checked.out)
    assert refused.err == "caudal: orders-value was not registered: 1 reason\n"
    answer = schema("check", "orders-value", files["bad"], "--json")
    assert answer.code == 1
    assert json.loads(answer.out)["compatible"] is False


def test_diff_of_versions_and_of_a_file(schema: Schema, files: dict[str, str]) -> None:
    schema("register", "orders-value", files["one"])
    schema("register", "orders-value", files["two"])
    shown = schema("diff", "orders-value", "1", "2")
    assert shown.code == 0
    assert '+      "name": "note",' in shown.out.splitlines()
    assert shown.out.endswith(
        "\nBACKWARD  orders-value@2 reads records of orders-value@1: yes\n"
        "FORWARD   orders-value@1 reads records of orders-value@2: yes\n"
    )
    with_file = schema("diff", "orders-value", "latest", files["bad"])
    assert f"BACKWARD  {files['bad']} reads records of orders-value@2: no\n  " in with_file.out
    assert "has no default value in the new schema and is missing in the old schema (READER_" in with_file.out
    data = json.loads(schema("diff", "orders-value", "1", files["bad"], "--json").out)
    assert (data["backward"]["compatible"], data["forward"]["compatible"]) == (False, True)
    assert "total" in data["backward"]["reasons"][0]
    assert schema("diff", "orders-value", "2").out.startswith("orders-value@2 and orders-value@2 read the same\n")


def test_a_protobuf_file_is_compared_as_it_would_be_stored(schema: Schema, tmp_path: Path) -> None:
    one, two = tmp_path / "one.proto", tmp_path / "two.proto"
    one.write_text('syntax = "proto3";\npackage shop;\nmessage Order { int64 id = 1; string customer = 2; }')
    two.write_text('syntax = "proto3";\npackage shop;\nmessage Order { int64 id = 1; int32 customer = 2; }')
    assert schema("register", "orders-value", str(one)).out == "registered orders-value version 1, id 1\n"
    assert schema("diff", "orders-value", "1", str(one)).out.startswith(f"orders-value@1 and {one} read the same\n")
    lines = schema("diff", "orders-value", "1", str(two)).out.splitlines()
    assert [line for line in lines if line.startswith(("+", "-"))][2:] == [
        "-  string customer = 2;",
        "+  int32 customer = 2;",
    ]
    assert sum(line.endswith(": no") for line in lines) == 2


def test_delete(schema: Schema, files: dict[str, str]) -> None:
    schema("register", "orders-value", files["one"])
    schema("register", "orders-value", files["two"])
    assert schema("delete", "orders-value@2", "--yes").out == "deleted: orders-value version 2\n"
    assert schema("delete", "orders-value", "--yes").out == "deleted: orders-value version 1\n"
    assert schema("show", "orders-value").code == 4


def test_compat_of_a_subject_and_of_all(schema: Schema) -> None:
    assert schema("compat").out == "level of all: BACKWARD\n"
    assert schema("compat", "full").out == "level of all: FULL\n"
    assert schema("compat", "orders-value", "NONE").out == "level of orders-value: NONE\n"
    assert schema("compat", "orders-value", "LOOSE").err.startswith("caudal: a level is one of NONE, BACKWARD,")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show",), "give a subject, such as orders-value"),
        (("show", "a", "--id", "1"), "give a subject"),
        (("check", "a", "-", "--version", "x"), "--version is a number or latest"),
        (("compat", "a", "FULL", "--reset"), "not both"),
        (("mode", "a", "WILD"), "a mode is one of READWRITE, READONLY, IMPORT"),
        (("search",), "give words to search for"),
        (("list", "--registry", "ftp://x"), "is not a registry's address"),
    ],
)
def test_typed_wrongly(schema: Schema, arguments: tuple[str, ...], words: str) -> None:
    outcome = schema(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_refusals_are_one_line(schema: Schema, files: dict[str, str], tmp_path: Path) -> None:
    schema("register", "orders-value", files["one"])
    broken = tmp_path / "broken.avsc"
    broken.write_text('{"type": "record"}')
    for code, arguments, words in (
        (4, ("show", "order-value"), "there is no subject 'order-value'; did you mean orders-value?"),
        (4, ("show", "orders"), "there is no subject 'orders'; did you mean orders-value?"),
        (4, ("show", "quite-another"), "no subject 'quite-another'; `caudal schema list` shows what exists"),
        (4, ("show", "orders-value@9"), "Version 9 not found; orders-value has 1"),
        (4, ("show", "--id", "77"), "Schema 77 not found"),
        (1, ("register", "orders-value", str(broken)), "caudal: "),
        (1, ("diff", "orders-value", "1", str(broken)), f"caudal: {broken}: "),
        (1, ("register", "orders-value", str(tmp_path / "none.avsc")), "No such file or directory"),
    ):
        outcome = schema(*arguments)
        assert (outcome.code, outcome.out) == (code, ""), arguments
        assert words in outcome.err
        assert len(outcome.err.splitlines()) == 1, outcome.err
        assert "unexpected" not in outcome.err


def test_a_registry_without_search_is_told_of(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    def confluents_answer(*_: object, **__: object) -> None:
        raise RegistryError(404, 404, "HTTP 404 Not Found")

    monkeypatch.setattr(RegistryClient, "search", confluents_answer)
    outcome = schema("search", "total")
    assert (outcome.code, outcome.err) == (
        1,
        f"caudal: {REGISTRY} has no search; it is an addition of Caudal's registry\n",
    )


def test_no_registry_at_that_address(schema: Schema) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        outcome = schema("list", "--registry", f"http://127.0.0.1:{free.getsockname()[1]}")
    assert outcome.code == 1
    assert "the connection is refused; start one with `caudal up` or `caudal registry`" in outcome.err
    assert len(outcome.err.splitlines()) == 1
