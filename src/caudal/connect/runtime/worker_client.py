"""What a worker asks of the leader over REST: to store its connector's tasks, and to fence earlier ones. Signed."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from urllib.parse import quote

from caudal.connect.runtime.config_state import SessionKey
from caudal.connect.runtime.model import RestError
from caudal.connect.runtime.session_key import ALGORITHM_HEADER, HEADER, sign, task_configs_body

ANSWER_SECONDS = 90.0


def send_task_configs(leader: str, connector: str, configs: list[dict[str, str]], key: SessionKey | None) -> None:
    _send(leader, "POST", f"/connectors/{quote(connector, safe='')}/tasks", task_configs_body(configs), key)


def send_fence(leader: str, connector: str, key: SessionKey | None) -> None:
    _send(leader, "PUT", f"/connectors/{quote(connector, safe='')}/fence", b"", key)


def _send(leader: str, method: str, path: str, body: bytes, key: SessionKey | None) -> None:
    """Raises RestError: 503 where nobody answers."""
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers |= {HEADER: sign(key, body), ALGORITHM_HEADER: key.algorithm}
    url = f"{leader.rstrip('/')}{path}?forward=false"
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    # Workers are neighbours: no proxy of the environment is meant for them.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=ANSWER_SECONDS):
            return
    except urllib.error.HTTPError as error:
        raise RestError(error.code, f"The leader at {leader} answers: {_message(error.read())}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise RestError(503, f"The leader at {leader} cannot be reached: {error}") from None


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]
