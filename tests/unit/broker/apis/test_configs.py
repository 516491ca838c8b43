"""Describe, alter and list configs: four kinds of resources, every version, every refusal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.apis.configs import Operation, ResourceType
from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey

TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
SET, DELETE, APPEND, SUBTRACT = Operation


async def describe(
    broker: FakeBroker,
    kind: int,
    name: str,
    keys: Any = None,
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    answer = await call(
        broker,
        ApiKey.DESCRIBE_CONFIGS,
        version,
        resources=[resource],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    return answer.results[0]


async def described(broker: FakeBroker, kind: int, name: str, *keys: str) -> dict[str, str | None]:
    result = await describe(broker, kind, name, list(keys) or None)
    assert result.error_code is NONE
    return {config.name: config.value for config in result.configs}


async def alter(
    broker: FakeBroker, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> Any:
    configs = [{"name": key, "config_operation": int(how), "value": value} for key, how, value in changes]
    answer = await call(
        broker,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        resources=[{"resource_type": kind, "resource_name": name, "configs": configs}],
        validate_only=validate_only,
    )
    return answer.responses[0]


@pytest.fixture
async def topics(broker: FakeBroker) -> FakeBroker:
    await broker.metadata.create_topic("a", 1, 1, {"retention.ms": "5"})
    return broker


# Describe


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_CONFIGS))
async def test_a_topic_in_every_version(topics: FakeBroker, version: int) -> None:
    result = await describe(topics, TOPIC, "a", version=version, documentation=True)
    configs = {config.name: config for config in result.configs}
    assert len(configs) == 37, "internal properties are not shown"
    own, default = configs["retention.ms"], configs["cleanup.policy"]
    assert (own.value, own.config_source, own.read_only, own.is_sensitive) == ("5", 1, False, False)
    assert (default.value, default.config_source) == ("delete", 5)
    assert [(s.name, s.value, s.source) for s in own.synonyms] == [
        ("retention.ms", "5", 1),
        ("log.retention.hours", "168", 5),
    ]
    if version >= 3:
        assert (own.config_type, default.config_type) == (5, 7)
        assert own.documentation
    silent = await describe(topics, TOPIC, "a", version=version, synonyms=False)
    assert all(config.synonyms == () for config in silent.configs)
    if version >= 3:
        assert all(config.documentation is None for config in silent.configs)


async def test_only_the_keys_asked_for(topics: FakeBroker) -> None:
    assert await described(topics, TOPIC, "a", "retention.ms", "no.such") == {"retention.ms": "5"}


async def test_the_broker(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path, {"num.partitions": "3", "ssl.keystore.password": "secret"})
    await broker.metadata.load()
    await alter(broker, BROKER, "", ("log.retention.ms", SET, "7"))
    await alter(broker, BROKER, "1", ("message.max.bytes", SET, "8"))
    result = await describe(broker, BROKER, "1")
    configs = {config.name: config for config in result.configs}
    assert len(configs) > 200
    assert (configs["num.partitions"].value, configs["num.partitions"].config_source) == ("3", 4)
    assert configs["num.partitions"].read_only
    assert (configs["message.max.bytes"].value, configs["message.max.bytes"].config_source) == ("8", 2)
    assert not configs["message.max.bytes"].read_only
    assert (configs["log.retention.ms"].value, configs["log.retention.ms"].config_source) == ("7", 3)
    secret = configs["ssl.keystore.password"]
    assert (secret.value, secret.is_sensitive) == (None, True)
    assert all(synonym.value is None for synonym in secret.synonyms)
    assert await described(broker, BROKER, "") == {"log.retention.ms": "7"}
    await broker.metadata.close()


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nope", ErrorCode.unknown_topic_or_partition),
        (TOPIC, "no way", ErrorCode.invalid_topic_exception),
        (BROKER, "2", ErrorCode.invalid_request),
        (BROKER, "x", ErrorCode.invalid_request),
        (LOGGER, "2", ErrorCode.invalid_request),
        (ResourceType.GROUP, "g", ErrorCode.invalid_request),
        (ResourceType.CLIENT_METRICS, "m", ErrorCode.invalid_request),
        (99, "x", ErrorCode.invalid_request),
    ],
)
async def test_resources_that_are_not_there(topics: FakeBroker, kind: int, name: str, code: ErrorCode) -> None:
    result = await describe(topics, kind, name)
    assert (result.error_code, result.configs) == (code, ())
    assert result.error_message
    changed = await alter(topics, kind, name, ("retention.ms", SET, "1"))
    assert changed.error_code is code


# Alter


async def test_set_and_delete(topics: FakeBroker) -> None:
    assert (await alter(topics, TOPIC, "a", ("flush.ms", SET, "9"))).error_code is NONE
    assert topics.metadata.topics["a"].configs == {"retention.ms": "5", "flush.ms": "9"}
    await alter(topics, TOPIC, "a", ("retention.ms", DELETE, None), ("not.even.known", DELETE, None))
    assert topics.metadata.topics["a"].configs == {"flush.ms": "9"}
    assert await described(topics, TOPIC, "a", "retention.ms") == {"retention.ms": "604800000"}


async def test_lists_grow_and_shrink(topics: FakeBroker) -> None:
    """Append starts from the value in force, which may be a default."""
    await alter(topics, TOPIC, "a", ("cleanup.policy", APPEND, "compact"))
    assert topics.metadata.topics["a"].configs["cleanup.policy"] == "delete,compact"
    await alter(topics, TOPIC, "a", ("cleanup.policy", APPEND, "compact"))
    assert topics.metadata.topics["a"].configs["cleanup.policy"] == "delete,compact"
    await alter(topics, TOPIC, "a", ("cleanup.policy", SUBTRACT, "delete"))
    assert topics.metadata.topics["a"].configs["cleanup.policy"] == "compact"
    await alter(topics, TOPIC, "a", ("follower.replication.throttled.replicas", APPEND, "0:1,1:1"))
    assert topics.metadata.topics["a"].configs["follower.replication.throttled.replicas"] == "0:1,1:1"
    await alter(topics, BROKER, "1", ("log.cleanup.policy", APPEND, "compact"))
    assert topics.metadata.broker_configs == {"log.cleanup.policy": "delete,compact"}


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (TOPIC, "a", ("retention.ms", SET, "soon"), ErrorCode.invalid_config),
        (TOPIC, "a", ("no.such", SET, "1"), ErrorCode.invalid_config),
        (TOPIC, "a", ("no.such", APPEND, "1"), ErrorCode.invalid_config),
        (TOPIC, "a", ("retention.ms", SET, None), ErrorCode.invalid_request),
        (TOPIC, "a", ("retention.ms", APPEND, "1"), ErrorCode.invalid_config),
        (TOPIC, "a", ("cleanup.policy", APPEND, "x"), ErrorCode.invalid_config),
        (TOPIC, "a", ("retention.ms", 9, "1"), ErrorCode.invalid_request),
        (BROKER, "1", ("num.partitions", SET, "2"), ErrorCode.invalid_config),
        (BROKER, "", ("listeners", SET, "PLAINTEXT://:1"), ErrorCode.invalid_config),
        (BROKER, "", ("no.such", SET, "1"), ErrorCode.invalid_config),
        (BROKER, "1", ("no.such", SUBTRACT, "1"), ErrorCode.invalid_config),
    ],
)
async def test_changes_that_are_refused(
    topics: FakeBroker, kind: int, name: str, change: tuple[str, int, str | None], code: ErrorCode
) -> None:
    result = await alter(topics, kind, name, change)
    assert result.error_code is code
    assert result.error_message
    assert topics.metadata.topics["a"].configs == {"retention.ms": "5"}
    assert topics.metadata.broker_configs == topics.metadata.default_broker_configs == {}


async def test_one_refused_change_stops_its_resource_but_no_other(topics: FakeBroker) -> None:
    await topics.metadata.create_topic("b", 1, 1, {})
    answer = await call(
        topics,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        0,
        resources=[
            {
                "resource_type": TOPIC,
                "resource_name": "a",
                "configs": [
                    {"name": "flush.ms", "config_operation": 0, "value": "1"},
                    {"name": "segment.ms", "config_operation": 0, "value": "0"},
                ],
            },
            {
                "resource_type": TOPIC,
                "resource_name": "b",
                "configs": [{"name": "flush.ms", "config_operation": 0, "value": "1"}],
            },
        ],
        validate_only=False,
    )
    assert [r.error_code for r in answer.responses] == [ErrorCode.invalid_config, NONE]
    assert topics.metadata.topics["a"].configs == {"retention.ms": "5"}
    assert topics.metadata.topics["b"].configs == {"flush.ms": "1"}


async def test_changes_at_once_do_not_undo_each_other(topics: FakeBroker) -> None:
    await asyncio.gather(
        alter(topics, TOPIC, "a", ("flush.ms", SET, "1")),
        alter(topics, TOPIC, "a", ("segment.ms", SET, "2")),
        alter(topics, TOPIC, "a", ("retention.ms", DELETE, None)),
        alter(topics, BROKER, "1", ("log.retention.ms", SET, "3")),
        alter(topics, BROKER, "1", ("message.max.bytes", SET, "4")),
    )
    assert topics.metadata.topics["a"].configs == {"flush.ms": "1", "segment.ms": "2"}
    assert topics.metadata.broker_configs == {"log.retention.ms": "3", "message.max.bytes": "4"}


async def test_repeats_are_refused(topics: FakeBroker) -> None:
    twice = await alter(topics, TOPIC, "a", ("flush.ms", SET, "1"), ("flush.ms", SET, "2"))
    assert twice.error_code is ErrorCode.invalid_request
    resource = {"resource_type": TOPIC, "resource_name": "a", "configs": []}
    answer = await call(
        topics, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource, resource], validate_only=False
    )
    assert {r.error_code for r in answer.responses} == {ErrorCode.invalid_request}


async def test_validate_only_checks_and_changes_nothing(topics: FakeBroker) -> None:
    assert (await alter(topics, TOPIC, "a", ("flush.ms", SET, "1"), validate_only=True)).error_code is NONE
    bad = await alter(topics, TOPIC, "a", ("flush.ms", SET, "x"), validate_only=True)
    assert bad.error_code is ErrorCode.invalid_config
    await alter(topics, BROKER, "", ("log.retention.ms", SET, "1"), validate_only=True)
    assert topics.metadata.topics["a"].configs == {"retention.ms": "5"}
    assert topics.metadata.default_broker_configs == {}


@pytest.mark.parametrize("version", versions(ApiKey.ALTER_CONFIGS))
async def test_the_old_call_replaces_everything(topics: FakeBroker, version: int) -> None:
    async def replace(kind: int, name: str, value: str | None) -> Any:
        configs = [{"name": "flush.ms" if kind == TOPIC else "log.retention.ms", "value": value}]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        answer = await call(topics, ApiKey.ALTER_CONFIGS, version, resources=[resource], validate_only=False)
        return answer.responses[0].error_code

    assert await replace(TOPIC, "a", "3") is NONE
    assert topics.metadata.topics["a"].configs == {"flush.ms": "3"}
    assert await replace(BROKER, "", "4") is NONE
    assert topics.metadata.default_broker_configs == {"log.retention.ms": "4"}
    assert await replace(TOPIC, "a", None) is ErrorCode.invalid_request
    assert await replace(LOGGER, "1", "x") is ErrorCode.invalid_request


# Loggers


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("caudal.test_configs")
    yield logger
    logger.setLevel(logging.NOTSET)


async def test_log_levels_can_be_seen_and_changed(broker: FakeBroker, logger: logging.Logger) -> None:
    assert (await alter(broker, LOGGER, "1", (logger.name, SET, "debug"))).error_code is NONE
    assert logger.level == logging.DEBUG
    assert await described(broker, LOGGER, "1", logger.name) == {logger.name: "DEBUG"}
    await alter(broker, LOGGER, "1", (logger.name, SET, "FATAL"), validate_only=True)
    assert logger.level == logging.DEBUG
    await alter(broker, LOGGER, "1", (logger.name, DELETE, None))
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "operation", "value", "code"),
    [
        ("caudal.test_configs", SET, "LOUD", ErrorCode.invalid_config),
        ("caudal.no.such.logger", SET, "INFO", ErrorCode.invalid_config),
        ("caudal", DELETE, None, ErrorCode.invalid_request),
        ("caudal.test_configs", APPEND, "INFO", ErrorCode.invalid_request),
    ],
)
async def test_levels_that_are_refused(
    broker: FakeBroker, logger: logging.Logger, name: str, operation: int, value: str | None, code: ErrorCode
) -> None:
    assert (await alter(broker, LOGGER, "1", (name, operation, value))).error_code is code


# ListConfigResources


async def test_what_has_configs(topics: FakeBroker) -> None:
    async def ask(version: int, *kinds: int) -> Any:
        return await call(topics, ApiKey.LIST_CONFIG_RESOURCES, version, resource_types=kinds)

    everything = await ask(1)
    assert [(r.resource_type, r.resource_name) for r in everything.config_resources] == [
        (TOPIC, "a"),
        (BROKER, "1"),
        (LOGGER, "1"),
    ]
    assert [r.resource_name for r in (await ask(1, TOPIC)).config_resources] == ["a"]
    assert (await ask(1, ResourceType.GROUP)).config_resources == ()
    assert (await ask(0)).config_resources == ()
    assert (await ask(1, 99)).error_code is ErrorCode.unsupported_version
