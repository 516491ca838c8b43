"""DescribeAcls, CreateAcls, DeleteAcls 1–3 and DescribeClientQuotas 0–1, as a broker without an authorizer answers.

Left out: ACLs themselves, SCRAM users and changing quotas, which come with security.
"""

from __future__ import annotations

from typing import Any, Final

from caudal.broker.errors import ErrorCode
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

_DISABLED: Final = {
    "error_code": ErrorCode.security_disabled,
    "error_message": "No Authorizer is configured on the broker.",
}


@handles(ApiKey.DESCRIBE_ACLS, 1, 3)
def describe_acls(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {**_DISABLED, "resources": ()}


@handles(ApiKey.CREATE_ACLS, 1, 3)
def create_acls(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {"results": [_DISABLED] * len(request.creations)}


@handles(ApiKey.DELETE_ACLS, 1, 3)
def delete_acls(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {"filter_results": [{**_DISABLED, "matching_acls": ()}] * len(request.filters)}


@handles(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1)
def describe_client_quotas(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {"error_code": ErrorCode.none, "error_message": None, "entries": ()}
