"""What the log says, in memory: also where it is damaged, or was written by Confluent's registry."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from caudal.registry.index import Entry, Index


def entry(offset: int, key: dict[str, Any], value: dict[str, Any] | None) -> Entry:
    return Entry(offset, json.dumps(key).encode(), None if value is None else json.dumps(value).encode())


def schema(offset: int, subject: str, version: int, id_: int, text: str, **fields: Any) -> Entry:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    return entry(offset, key, {"subject": subject, "version": version, "id": id_, "schema": text, **fields})


def tombstone(offset: int, subject: str, version: int) -> Entry:
    return entry(offset, {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}, None)


def numbers(index: Index, subject: str, *, deleted: bool = False) -> list[int]:
    return [version.number for version in index.versions(subject, deleted=deleted)]


def test_a_topic_as_confluent_writes_it() -> None:
    index = Index()
    index.apply(
        [
            entry(0, {"keytype": "NOOP", "magic": 0}, None),
            schema(1, "a", 1, 1, '"int"', deleted=False),
            schema(2, "a", 2, 2, '"long"', md5="x", deleted=False),
            schema(3, "b", 1, 1, '"int"', deleted=False),
            schema(
                4,
                "c",
                1,
                3,
                "{}",
                schemaType="JSON",
                references=[{"name": "r", "subject": "a", "version": 2}],
                deleted=False,
            ),
            entry(5, {"keytype": "CONFIG", "subject": None, "magic": 0}, {"compatibilityLevel": "FULL"}),
            entry(6, {"keytype": "CONFIG", "subject": "a", "magic": 0}, {"subject": "a", "compatibilityLevel": "NONE"}),
            entry(7, {"keytype": "MODE", "subject": None, "magic": 0}, {"mode": "READONLY"}),
            schema(8, "a", 1, 1, '"int"', deleted=True),
            entry(
                9,
                {"keytype": "CONTEXT", "tenant": "default", "context": ".x", "magic": 0},
                {"tenant": "default", "context": ".x"},
            ),
            schema(10, ":.x:a", 1, 1, '"string"', deleted=False),
            schema(11, "d", 1, 4, '"bytes"', deleted=False),
            schema(12, "d", 2, 5, '"float"', deleted=False),
            entry(13, {"keytype": "DELETE_SUBJECT", "subject": "d", "magic": 0}, {"subject": "d", "version": 2}),
        ]
    )
    assert index.broken == 0
    assert numbers(index, "a") == [2]
    assert numbers(index, "a", deleted=True) == [1, 2]
    assert numbers(index, "d") == []
    assert index.context(".").ids[1].text == '"int"'
    assert [version.subject for version in index.context(".").ids[1].versions] == ["a", "b"]
    assert index.context(".x").ids[1].text == '"string"'
    assert index.context(".").highest == 5
    assert [version.subject for version in index.referring("a", 2)] == ["c"]
    assert index.configs == {None: {"compatibilityLevel": "FULL"}, "a": {"compatibilityLevel": "NONE"}}
    assert index.modes == {None: "READONLY"}
    assert index.known_contexts == {".x"}


def test_a_broken_record_is_counted_told_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    index = Index()
    with caplog.at_level(logging.WARNING):
        index.apply(
            [
                Entry(10, b"not json", b"{}"),
                Entry(11, None, b"{}"),
                schema(12, "a", 1, 1, '"int"'),
                Entry(13, b'{"keytype":"SCHEMA","subject":"a","version":2,"magic":1}', b"\xff\xfe"),
                entry(14, {"keytype": "MODE", "magic": 0}, {"mode": 5}),
                entry(15, {"keytype": "CONFIG", "magic": 0}, {"compatibilityLevel": "SOMETIMES"}),
                entry(16, {"keytype": "DELETE_SUBJECT", "subject": "a", "magic": 0}, {}),
                schema(17, "b", 1, 2, '"long"'),
            ]
        )
    assert index.broken == 6
    assert [f"offset {offset}" in caplog.text for offset in (10, 11, 13, 14, 15, 16)] == [True] * 6
    assert sorted(index.subjects) == ["a", "b"]


def test_a_later_record_takes_the_place_of_a_broken_one() -> None:
    index = Index()
    key = b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}'
    index.apply([Entry(0, key, b"broken"), schema(1, "a", 1, 1, '"int"')])
    assert index.broken == 1
    assert numbers(index, "a") == [1]


def test_a_second_schema_with_the_same_id_is_not_believed() -> None:
    index = Index()
    index.apply([schema(0, "a", 1, 1, '"int"'), schema(1, "b", 1, 1, '"long"')])
    assert index.broken == 1
    assert sorted(index.subjects) == ["a"]


def test_the_same_key_again_replaces_text_and_id() -> None:
    index = Index()
    index.apply([schema(0, "a", 1, 1, '"int"'), schema(1, "a", 1, 2, '"long"')])
    assert index.broken == 0
    assert list(index.context(".").ids) == [2]
    assert index.context(".").highest == 2


def test_a_tombstone_takes_the_schema_with_the_last_version_that_had_it() -> None:
    index = Index()
    index.apply([schema(0, "a", 1, 1, '"int"'), schema(1, "b", 1, 1, '"int"'), tombstone(2, "a", 1)])
    assert list(index.context(".").ids) == [1]
    index.apply([tombstone(3, "b", 1)])
    assert not index.context(".").ids
    assert not index.context(".").digests
    assert not index.subjects
    assert index.context(".").highest == 1, "its id is not given again"


def test_who_refers_is_forgotten_with_its_version() -> None:
    index = Index()
    reference = [{"name": "r", "subject": "a", "version": 1}]
    index.apply([schema(0, "a", 1, 1, '"int"'), schema(1, "b", 1, 2, "x", references=reference)])
    assert [version.subject for version in index.referring("a", 1)] == ["b"]
    index.apply([schema(2, "b", 1, 2, "x", references=reference, deleted=True)])
    assert index.referring("a", 1) == []
    assert [version.subject for version in index.referring("a", 1, deleted=True)] == ["b"]
    index.apply([tombstone(3, "b", 1)])
    assert index.referring("a", 1, deleted=True) == []
    assert not index.referrers


def test_clear_subject_takes_what_is_deleted() -> None:
    index = Index()
    index.apply([schema(0, "a", 1, 1, '"int"', deleted=True), schema(1, "a", 2, 2, '"long"')])
    index.apply([entry(2, {"keytype": "CLEAR_SUBJECT", "subject": "a", "magic": 0}, {"subject": "a"})])
    assert numbers(index, "a", deleted=True) == [2]


def test_everything_else_stays_the_same_after_a_replay_of_the_compacted_log() -> None:
    log = [
        schema(0, "a", 1, 1, '"int"'),
        schema(1, "a", 2, 2, '"long"'),
        schema(2, "a", 1, 1, '"int"', deleted=True),
        schema(3, "b", 1, 2, '"long"'),
        tombstone(4, "a", 1),
    ]
    index, again = Index(), Index()
    index.apply(log)
    again.apply(list({item.key: item for item in log}.values()))
    for one in (index, again):
        assert numbers(one, "a", deleted=True) == [2]
        assert sorted(one.context(".").ids) == [2]
