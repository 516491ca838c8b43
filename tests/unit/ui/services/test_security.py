"""What the page of ACLs and users is told by a cluster that has them, and by one that has not."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramMechanism,
)

from caudal.ui.services.kafka import Kafka
from caudal.ui.services.security import security


def done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future


def kafka_with(acls: Any, users: Any) -> Kafka:
    kafka = Kafka({}, "host:9092")
    kafka._admin = SimpleNamespace(
        describe_acls=lambda *args, **options: done(acls),
        describe_user_scram_credentials=lambda **options: done(users),
    )
    return kafka


def acl(principal: str, name: str) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED
    allow = AclPermissionType.ALLOW
    return AclBinding(ResourceType.TOPIC, name, pattern, principal, "*", AclOperation.READ, allow)


async def test_acls_are_sorted_by_principal_and_users_show_their_mechanisms() -> None:
    info = SimpleNamespace(mechanism=ScramMechanism.SCRAM_SHA_256, iterations=4096)
    users = {"ana": SimpleNamespace(scram_credential_infos=[info])}
    told = await security(kafka_with([acl("User:b", "orders"), acl("User:a", "pay")], users))
    assert told.acls is not None and told.users is not None
    assert [(item.principal, item.resource, item.permission, item.pattern) for item in told.acls] == [
        ("User:a", "pay", "allow", "prefixed"),
        ("User:b", "orders", "allow", "prefixed"),
    ]
    assert [(user.name, user.mechanisms) for user in told.users] == [("ana", "SCRAM-SHA-256 (4096)")]


async def test_a_cluster_without_an_authorizer_is_told_apart_from_one_without_acls() -> None:
    disabled = KafkaException(KafkaError(KafkaError.SECURITY_DISABLED))
    told = await security(kafka_with(disabled, {}))
    assert told.acls is None and told.users == []
    assert told.no_acls == "The broker has no authorizer, so it keeps no ACLs."
