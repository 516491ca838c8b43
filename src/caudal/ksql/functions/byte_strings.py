"""ENCODE, TO_BYTES, FROM_BYTES and numbers from bytes.

Characters that an encoding does not have become '?', bytes that it does not know U+FFFD, as in Java. ENCODE reads
Base64 leniently (it passes over what is not Base64) and writes small hexadecimal digits; TO_BYTES and FROM_BYTES are
strict and write capital ones.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable

from caudal.ksql.functions.registry import scalar

_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")


def _from_hex(text: str) -> bytes:
    if _HEX.fullmatch(text) is None:
        raise ValueError(f"'{text}' is not hexadecimal: it takes an even number of digits 0-9 and A-F.")
    return bytes.fromhex(text)


def _from_marked_hex(text: str) -> bytes:
    """Hexadecimal digits, also written 0xAB12 or X'AB12'."""
    if text.startswith("0x"):
        text = ("0" if len(text) % 2 else "") + text[2:]
    elif text[:2] in ("x'", "X'") and text.endswith("'") and len(text) > 2:
        text = text[2:-1]
    return _from_hex(text)


def _from_any_base64(text: str) -> bytes:
    signs = text.encode("ascii", "ignore").split(b"=", 1)[0].replace(b"-", b"+").replace(b"_", b"/")
    signs = _BASE64.sub(b"", signs)
    if len(signs) % 4 == 1:  # six bits make no byte
        signs = signs[:-1]
    return binascii.a2b_base64(signs + b"=" * (-len(signs) % 4))


def _from_base64(text: str) -> bytes:
    try:
        padded = text if "=" in text else text + "=" * (-len(text) % 4)
        return base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"'{text}' is not Base64.") from error


def _from_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _from_ascii(text: str) -> bytes:
    return text.encode("ascii", "replace")


def _to_utf8(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _to_ascii(value: bytes) -> str:
    return value.decode("ascii", "replace")


def _to_base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _to_capital_hex(value: bytes) -> str:
    return value.hex().upper()


_FROM: dict[str, Callable[[str], bytes]] = {
    "hex": _from_hex,
    "utf8": _from_utf8,
    "ascii": _from_ascii,
    "base64": _from_base64,
}
_TO: dict[str, Callable[[bytes], str]] = {
    "hex": _to_capital_hex,
    "utf8": _to_utf8,
    "ascii": _to_ascii,
    "base64": _to_base64,
}
_ENCODE_FROM = {**_FROM, "hex": _from_marked_hex, "base64": _from_any_base64}
_ENCODE_TO: dict[str, Callable[[bytes], str]] = {**_TO, "hex": bytes.hex}


@scalar(
    "ENCODE",
    "(text STRING, input_encoding STRING, output_encoding STRING) -> STRING",
    category="STRING",
    description="A text in one encoding, written in another: hex, utf8, ascii or base64.",
)
def encode(text: str, input_encoding: str, output_encoding: str) -> str:
    r"""
    >>> encode("X'4361'", "hex", "utf8"), encode("Ca", "ascii", "base64")
    ('Ca', 'Q2E=')
    """
    source, target = input_encoding.lower(), output_encoding.lower()
    if source not in _ENCODE_FROM or target not in _ENCODE_TO or source == target:
        raise ValueError(
            f"ENCODE goes from one of hex, utf8, ascii and base64 to another, not from '{input_encoding}' "
            f"to '{output_encoding}'."
        )
    return _ENCODE_TO[target](_ENCODE_FROM[source](text))


@scalar(
    "TO_BYTES",
    "(text STRING, encoding STRING) -> BYTES",
    category="BYTES",
    description="The bytes that a text in an encoding stands for: hex, utf8, ascii or base64.",
)
def to_bytes(text: str, encoding: str) -> bytes:
    made = _FROM.get(encoding.lower())
    if made is None:
        raise _unknown_encoding(encoding)
    return made(text)


@scalar(
    "FROM_BYTES",
    "(bytes BYTES, encoding STRING) -> STRING",
    category="BYTES",
    description="Bytes as a text in an encoding: hex, utf8, ascii or base64.",
)
def from_bytes(value: bytes, encoding: str) -> str:
    made = _TO.get(encoding.lower())
    if made is None:
        raise _unknown_encoding(encoding)
    return made(value)


def _unknown_encoding(encoding: str) -> ValueError:
    return ValueError(f"Unknown encoding type '{encoding}'. Supported formats are 'hex', 'utf8', 'ascii' and 'base64'.")


@scalar(
    "INT_FROM_BYTES",
    "(bytes BYTES) -> INTEGER",
    "(bytes BYTES, byte_order STRING) -> INTEGER",
    category="BYTES",
    description="The INTEGER in 4 bytes, in the byte order BIG_ENDIAN (the default) or LITTLE_ENDIAN.",
)
def int_from_bytes(value: bytes, byte_order: str = "BIG_ENDIAN") -> int:
    mark = _byte_order(byte_order)
    return int(struct.unpack(mark + "i", _sized(value, 4))[0])


@scalar(
    "BIGINT_FROM_BYTES",
    "(bytes BYTES) -> BIGINT",
    "(bytes BYTES, byte_order STRING) -> BIGINT",
    category="BYTES",
    description="The BIGINT in 8 bytes, in the byte order BIG_ENDIAN (the default) or LITTLE_ENDIAN.",
)
def bigint_from_bytes(value: bytes, byte_order: str = "BIG_ENDIAN") -> int:
    mark = _byte_order(byte_order)
    return int(struct.unpack(mark + "q", _sized(value, 8))[0])


@scalar(
    "DOUBLE_FROM_BYTES",
    "(bytes BYTES) -> DOUBLE",
    "(bytes BYTES, byte_order STRING) -> DOUBLE",
    category="BYTES",
    description="The DOUBLE in 8 bytes, in the byte order BIG_ENDIAN (the default) or LITTLE_ENDIAN.",
)
def double_from_bytes(value: bytes, byte_order: str = "BIG_ENDIAN") -> float:
    mark = _byte_order(byte_order)
    return float(struct.unpack(mark + "d", _sized(value, 8))[0])


def _byte_order(name: str) -> str:
    order = name.upper()
    if order == "BIG_ENDIAN":
        return ">"
    if order == "LITTLE_ENDIAN":
        return "<"
    raise ValueError(f"Byte order must be BIG_ENDIAN or LITTLE_ENDIAN. Unknown byte order '{name}'.")


def _sized(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise ValueError(f"Number of bytes must be equal to {size}, but found {len(value)}.")
    return value
