"""The key with which workers sign what they send each other (KIP-507): made by the leader, kept in the config topic."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence

from caudal.connect.runtime.config_state import SessionKey

ALGORITHM = "HmacSHA256"
KEY_BYTES = 32
LIFETIME_MS = 3_600_000
HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"


def new_key(now_ms: int) -> SessionKey:
    return SessionKey(base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode(), ALGORITHM, now_ms)


def is_due(key: SessionKey | None, now_ms: int) -> bool:
    """Whether the leader should make a new one."""
    return key is None or now_ms - key.created >= LIFETIME_MS


def sign(key: SessionKey, body: bytes) -> str:
    return base64.b64encode(hmac.digest(base64.b64decode(key.key), body, hashlib.sha256)).decode()


def is_signed(key: SessionKey, body: bytes, signature: str) -> bool:
    try:
        given = base64.b64decode(signature, validate=True)
    except (ValueError, binascii.Error):
        return False
    return hmac.compare_digest(given, hmac.digest(base64.b64decode(key.key), body, hashlib.sha256))


def task_configs_body(configs: Sequence[dict[str, str]]) -> bytes:
    """The body of POST /connectors/{c}/tasks, as Kafka Connect writes it: what is signed, on both sides."""
    return json.dumps(list(configs), separators=(",", ":"), ensure_ascii=False).encode()
