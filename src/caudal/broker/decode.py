"""The internal topics (`__consumer_offsets`, `__transaction_state`) as plain values that people can read.

The formats themselves belong to the coordinators; this only chooses the decoder by topic and makes the two shapes alike
({"type", "key", "value"}). A record that cannot be read is shown as hexadecimal with the reason, never hidden.
"""

from __future__ import annotations

import struct
from typing import Any

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
DECODED_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})


def decode_record(topic: str, key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """A record of an internal topic: its type, key and value; a tombstone's value is None."""
    if topic not in DECODED_TOPICS:
        raise ValueError(f"{topic} is not an internal topic")
    try:
        if topic == CONSUMER_OFFSETS:
            from caudal.broker.coordinators import offset_records

            return offset_records.decode(key, value)
        from caudal.broker.coordinators import transaction_records

        if key is None:
            raise ValueError("the record has no key")
        shown = transaction_records.decode(key, value)
        identity = {name: part for name, part in shown.items() if name != "value"}
        return {"type": "TransactionState", "key": identity, "value": shown["value"]}
    except (ValueError, LookupError, struct.error) as error:
        return {"type": "Unreadable", "reason": str(error), "key": _hex(key), "value": _hex(value)}


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
