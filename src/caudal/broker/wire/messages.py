"""Every request and response but Produce and Fetch, between bytes and Python values, after kio's schemas.

Requests become kio's entities (`decoding.py`), responses are written from plain nested dicts (`encoding.py`). This file
joins the two to API keys and versions, and makes answers that carry nothing but an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial._introspect import EntityField, EntityTupleField, classify_field, is_optional

from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.decoding import Decoder, entity_decoder
from caudal.broker.wire.encoding import Encoder, as_plain, entity_encoder
from caudal.broker.wire.varints import Malformed

__all__ = ["Malformed", "decode_request", "encode_response"]


@cache
def request_decoder(api_key: int, version: int) -> Decoder:
    return entity_decoder(load_request_schema(api_key, version))


@cache
def response_decoder(api_key: int, version: int) -> Decoder:
    return entity_decoder(load_response_schema(api_key, version))


@cache
def request_encoder(api_key: int, version: int) -> Encoder:
    return entity_encoder(load_request_schema(api_key, version))


@cache
def response_encoder(api_key: int, version: int) -> Encoder:
    return entity_encoder(load_response_schema(api_key, version))


@cache
def is_flexible(api_key: int, version: int) -> bool:
    """Whether the header of the request (and, but for ApiVersions, of the response) has tagged fields."""
    return bool(load_request_schema(api_key, version).__flexible__)


@cache
def response_has(api_key: int, version: int, name: str) -> bool:
    return any(field.name == name for field in fields(load_response_schema(api_key, version)))


def decode_request(api_key: int, version: int, body: bytes, position: int = 0) -> Any:
    """kio's entity of a request body that starts at `position` and ends with the bytes."""
    return _whole(request_decoder(api_key, version), body, position, f"{ApiKey(api_key).name} v{version}")


def decode_response(api_key: int, version: int, body: bytes, position: int = 0) -> Any:
    """kio's entity of a response body (the broker's own requests to others, and tests)."""
    return _whole(response_decoder(api_key, version), body, position, f"{ApiKey(api_key).name} v{version} response")


def _whole(decoder: Decoder, body: bytes, position: int, what: str) -> Any:
    try:
        # Bytes after the last field are ignored, as Kafka does: librdkafka pads Metadata requests for all topics.
        entity, _ = decoder(body, position)
    except Malformed as error:
        raise Malformed(f"{what}: {error}") from error
    return entity


def encode_response(api_key: int, version: int, values: Mapping[str, Any]) -> bytes:
    """The body of a response; fields that this version does not have are left out, absent ones take their default."""
    out = bytearray()
    response_encoder(api_key, version)(out, values)
    return bytes(out)


def encode_request(api_key: int, version: int, values: Mapping[str, Any]) -> bytes:
    """The body of a request (the broker's own requests to others, and tests)."""
    out = bytearray()
    request_encoder(api_key, version)(out, values)
    return bytes(out)


def blank_response(api_key: int, version: int) -> dict[str, Any]:
    """A response with every field at its default, empty or zero: the ground for answers that only carry an error."""
    return blank(load_response_schema(api_key, version))


def blank(entity: Any) -> dict[str, Any]:
    return {field.name: _blank_value(field) for field in fields(entity)}


def nested_entity(api_key: int, version: int, *path: str) -> Any:
    """The entity type of the array that `path` leads to in a response; None where the version has no such array."""
    entity: Any = load_response_schema(api_key, version)
    for name in path:
        field = next((item for item in fields(entity) if item.name == name), None)
        kind = classify_field(field) if field is not None else None
        if not isinstance(kind, EntityTupleField):
            return None
        entity = kind.type_
    return entity


_BLANK: dict[str, Any] = {"string": "", "bytes": b"", "records": None, "bool": False, "uuid": None}


def _blank_value(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return as_plain(field.default)
    kind = classify_field(field)
    if kind.is_array:
        return ()
    if is_optional(field):
        return None
    if isinstance(kind, EntityField):
        return blank(kind.type_)
    return _BLANK.get(field.metadata["kafka_type"], 0)
