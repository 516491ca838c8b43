"""Users and ACLs as far as the cluster tells them. A cluster without an authorizer has no ACLs, and says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from caudal.ui.services.errors import UiError
from caudal.ui.services.kafka import ANSWER_SECONDS, Kafka


@dataclass(frozen=True, slots=True)
class Acl:
    principal: str
    host: str
    operation: str
    permission: str  # allow or deny
    resource_type: str
    resource: str
    pattern: str  # literal or prefixed


@dataclass(frozen=True, slots=True)
class User:
    name: str
    mechanisms: str  # with their iterations


@dataclass(frozen=True, slots=True)
class Told:
    """What was asked, or why it is not known."""

    acls: list[Acl] | None
    users: list[User] | None
    no_acls: str = ""
    no_users: str = ""


async def security(kafka: Kafka) -> Told:
    acls, no_acls = await _or_reason(_acls(kafka))
    users, no_users = await _or_reason(_users(kafka))
    return Told(acls, users, no_acls, no_users)


async def _or_reason(asked: Any) -> tuple[Any, str]:
    try:
        return await asked, ""
    except UiError as error:
        return None, error.message


async def _acls(kafka: Kafka) -> list[Acl]:
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    found = await kafka.ask(kafka.admin.describe_acls(everything, request_timeout=ANSWER_SECONDS))
    acls = [
        Acl(
            str(binding.principal),
            str(binding.host),
            binding.operation.name.lower(),
            binding.permission_type.name.lower(),
            binding.restype.name.lower(),
            str(binding.name),
            binding.resource_pattern_type.name.lower(),
        )
        for binding in found
    ]
    return sorted(acls, key=lambda acl: (acl.principal, acl.resource_type, acl.resource, acl.operation))


async def _users(kafka: Kafka) -> list[User]:
    future = kafka.admin.describe_user_scram_credentials(request_timeout=ANSWER_SECONDS)
    found = await kafka.ask(future)
    return [
        User(
            str(name),
            ", ".join(
                f"{info.mechanism.name.replace('_', '-')} ({info.iterations})"
                for info in description.scram_credential_infos
            ),
        )
        for name, description in sorted(found.items())
    ]
