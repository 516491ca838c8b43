"""ASSERT TOPIC and ASSERT SCHEMA: wait until something is so, or fail."""

from __future__ import annotations

import time
from collections.abc import Callable

from caudal.ksql.engine.entities import Entity, entity
from caudal.ksql.engine.handlers import Request, handles, text_of
from caudal.ksql.engine.topics import Topics
from caudal.ksql.errors import KsqlError
from caudal.ksql.syntax.statements import AssertSchema, AssertSource, AssertTopic, AssertValues, RunScript
from caudal.registry.client import RegistryClient, RegistryError

DEFAULT_TIMEOUT_MS = 1000
PAUSE_SECONDS = 0.1


class AssertionFailed(KsqlError):
    code = 41701  # ksqlDB: 417, expectation failed


def _wait(question: Callable[[], str | None], timeout_ms: int | None) -> None:
    """Until the answer is None; raises the last one."""
    deadline = time.monotonic() + (DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms) / 1000
    while (wrong := question()) is not None:
        if time.monotonic() >= deadline:
            raise AssertionFailed(wrong)
        time.sleep(PAUSE_SECONDS)


@handles(AssertTopic)
def assert_topic(request: Request, statement: AssertTopic) -> Entity:
    topics = request.engine.topics
    _wait(lambda: _topic_is_wrong(topics, statement), statement.timeout)
    return entity("assert_topic", text_of(statement), topicName=statement.topic, exists=statement.exists)


def _topic_is_wrong(topics: Topics, statement: AssertTopic) -> str | None:
    found = topics.find(statement.topic)
    if not statement.exists:
        return None if found is None else f"Topic {statement.topic} exists."
    if found is None:
        return f"Topic {statement.topic} does not exist."
    actual = {"PARTITIONS": found.partitions, "REPLICAS": found.replication}
    for prop in statement.properties:
        name = prop.name.upper()
        if name not in actual:
            raise KsqlError(f"Cannot assert unknown topic property: {prop.name}.", prop.at)
        if int(prop.value) != actual[name]:
            return (
                f"Mismatched configuration for topic {statement.topic}: For config {name.lower()}, expected "
                f"{prop.value} got {actual[name]}"
            )
    return None


@handles(AssertSchema)
def assert_schema(request: Request, statement: AssertSchema) -> Entity:
    client = request.engine.registry_client()
    _wait(lambda: _schema_is_wrong(client, statement), statement.timeout)
    return entity(
        "assert_schema", text_of(statement), subject=statement.subject, id=statement.id, exists=statement.exists
    )


def _schema_is_wrong(client: RegistryClient, statement: AssertSchema) -> str | None:
    shown = " ".join(
        f"{what} {value}" for what, value in (("subject name", statement.subject), ("id", statement.id)) if value
    )
    try:
        if statement.subject is not None and statement.id is not None:
            versions = client.versions(statement.subject)
            there = any(client.version(statement.subject, number).id == statement.id for number in versions)
        elif statement.subject is not None:
            client.version(statement.subject)
            there = True
        else:
            assert statement.id is not None
            client.schema(statement.id)
            there = True
    except RegistryError as error:
        if error.status != 404:
            raise KsqlError(f"Cannot check schema existence: {error}.") from None
        there = False
    if there == statement.exists:
        return None
    return f"Schema with {shown} {'exists' if there else 'does not exist'}."


@handles(AssertValues, AssertSource)
def only_in_tests(request: Request, statement: AssertValues | AssertSource) -> None:
    raise KsqlError("This ASSERT is for the test runner only.", statement.at)


@handles(RunScript)
def only_in_shell(request: Request, statement: RunScript) -> None:
    raise KsqlError("RUN SCRIPT is a command of the shell: the server runs statements only.", statement.at)
