"""ApiVersions 0–4: which APIs and versions this broker serves, from the handlers that are registered.

A version that we do not know is answered in version 0 by the server itself (see `Connection.unsupported`).
"""

from __future__ import annotations

import re
from typing import Any

from caudal.broker.controller import features
from caudal.broker.errors import ErrorCode
from caudal.broker.router import RequestContext, handles, served_versions
from caudal.broker.wire.api_keys import ApiKey

_SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@handles(ApiKey.API_VERSIONS, 0, 4)
def api_versions(request: Any, ctx: RequestContext) -> dict[str, Any]:
    if ctx.version >= 3:
        for text in (request.client_software_name, request.client_software_version):
            if not _SOFTWARE_NAME.fullmatch(text):
                return {"error_code": ErrorCode.invalid_request, "api_keys": []}
    return {
        "error_code": ErrorCode.none,
        "api_keys": served_versions(),
        "supported_features": [
            {"name": name, "min_version": low, "max_version": high}
            for name, (low, high) in features.supported().items()
            if low > 0 or ctx.version >= 4  # clients before version 4 cannot read a lowest level of 0
        ],
        "finalized_features_epoch": features.FINALIZED_EPOCH,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, level in features.finalized().items()
        ],
    }
