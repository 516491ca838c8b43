"""Without an authorizer ACLs answer as Kafka's do, and there are no quotas."""

from __future__ import annotations

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey

FILTER = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
ACL = {
    "resource_type": 2,
    "resource_name": "a",
    "resource_pattern_type": 3,
    "principal": "User:x",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_ACLS))
async def test_acls_are_off(broker: FakeBroker, version: int) -> None:
    seen = await call(broker, ApiKey.DESCRIBE_ACLS, version, **FILTER)
    assert (seen.error_code, seen.resources) == (ErrorCode.security_disabled, ())
    made = await call(broker, ApiKey.CREATE_ACLS, version, creations=[ACL, ACL])
    assert [r.error_code for r in made.results] == [ErrorCode.security_disabled] * 2
    gone = await call(broker, ApiKey.DELETE_ACLS, version, filters=[FILTER])
    assert [r.error_code for r in gone.filter_results] == [ErrorCode.security_disabled]


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_CLIENT_QUOTAS))
async def test_no_quotas(broker: FakeBroker, version: int) -> None:
    answer = await call(broker, ApiKey.DESCRIBE_CLIENT_QUOTAS, version, components=[], strict=False)
    assert (answer.error_code, answer.entries) == (NONE, ())
