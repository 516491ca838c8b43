"""The compatibility matrix: what may follow what, for each language, in both directions, as data in `matrix/`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from caudal.registry.schemas.compatibility import described
from caudal.registry.schemas.parse import parse
from caudal.registry.schemas.schema import ParsedSchema, Reference, Resolved

MATRIX = Path(__file__).parent / "matrix"


def cases() -> Iterator[Any]:
    for file in sorted(MATRIX.glob("*.yaml")):
        for section, entries in yaml.safe_load(file.read_text()).items():
            for case in entries:
                yield pytest.param(file.stem.upper(), case, id=f"{file.stem}: {section}: {case['name']}")


def text_of(language: str, schema: Any) -> str:
    if language == "PROTOBUF":
        return str(schema)
    if language == "AVRO" and isinstance(schema, dict) and set(schema) == {"fields"}:
        schema = {"type": "record", "name": "R", **schema}
    return orjson.dumps(schema).decode()


def parsed(language: str, schema: Any, references: list[Any]) -> ParsedSchema:
    resolved: list[Resolved] = []
    for number, reference in enumerate(references):
        name, content = reference if isinstance(reference, list) else (f"reference-{number}", reference)
        target = parse(language, text_of(language, content), tuple(resolved))
        resolved.append(Resolved(Reference(name, name, 1), target))
    return parse(language, text_of(language, schema), tuple(resolved))


@pytest.mark.parametrize(("language", "case"), list(cases()))
def test_evolution(language: str, case: dict[str, Any]) -> None:
    references = case.get("references", [])
    old = parsed(language, case["old"], case.get("old_references", references))
    new = parsed(language, case["new"], case.get("new_references", references))
    found = {"backward": new.reads(old), "forward": old.reads(new)}
    assert {side: [f"{problem.rule} {problem.path}" for problem in problems] for side, problems in found.items()} == {
        "backward": case["backward"],
        "forward": case["forward"],
    }
    for problem in (*found["backward"], *found["forward"]):
        sentence = described(problem, reader="new", writer="old")
        assert problem.rule in sentence
        assert "reader schema" not in sentence and "writer schema" not in sentence
    assert not new.reads(new) and not old.reads(old)


def test_the_matrix_is_wide() -> None:
    counts = {
        file.stem: sum(map(len, yaml.safe_load(file.read_text()).values())) for file in sorted(MATRIX.glob("*.yaml"))
    }
    assert sum(counts.values()) >= 150, counts
