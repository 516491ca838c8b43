"""Encryption of fields: AES-GCM with a key of this machine. The schema names the key and never holds it.

The key `customer` is the variable CAUDAL_KEY_CUSTOMER, or the file `customer` in the folder CAUDAL_KEYS: 16, 24 or 32
bytes in base64. An encrypted field is one version byte, 12 random bytes, and the cipher text, which the key's name is
part of; text fields hold that in base64.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

_VERSION = 1
_NONCE = 12


class NoKey(ValueError):
    """The key is not on this machine."""


class Sealed(str):
    """An encrypted text that could not be opened here; a MASK rule hides it."""

    __slots__ = ()


class SealedBytes(bytes):
    __slots__ = ()


def key_named(name: str) -> bytes:
    """The key's bytes; NoKey, or ValueError where what is there is no key."""
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", name):
        raise ValueError(f"{name!r} cannot be the name of a key: letters, digits, '_', '-' and '.' can")
    variable = f"CAUDAL_KEY_{re.sub('[^A-Za-z0-9]', '_', name).upper()}"
    text, where = os.environ.get(variable), variable
    folder = os.environ.get("CAUDAL_KEYS")
    if text is None and folder and (file := Path(folder) / name).is_file():
        text, where = file.read_text().strip(), f"the file '{name}' in CAUDAL_KEYS"
    if text is None:
        raise NoKey(f"the key '{name}' is not here: set {variable}, or put it as a file into the folder CAUDAL_KEYS")
    try:
        key = b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) not in (16, 24, 32):
        raise ValueError(f"{where} is not a key: 16, 24 or 32 bytes in base64 are needed")
    return key


class Cipher:
    """Encrypts and decrypts the fields of one key."""

    def __init__(self, name: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._name = name.encode()
        self._cipher = AESGCM(key_named(name))

    def seal(self, value: Any) -> Any:
        """Text to text, bytes to bytes."""
        if isinstance(value, str):
            return b64encode(self._sealed(value.encode())).decode()
        if isinstance(value, bytes):
            return self._sealed(value)
        raise ValueError(f"text and bytes can be encrypted, not {type(value).__name__}")

    def open(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                sealed = b64decode(value, validate=True)
            except ValueError:
                raise ValueError("it is not encrypted") from None
            return self._opened(sealed).decode()
        if isinstance(value, bytes):
            return self._opened(value)
        raise ValueError(f"text and bytes can be encrypted, not {type(value).__name__}")

    def _sealed(self, data: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return bytes([_VERSION]) + nonce + self._cipher.encrypt(nonce, data, self._name)

    def _opened(self, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        if len(sealed) <= _NONCE or sealed[0] != _VERSION:
            raise ValueError("it is not encrypted")
        try:
            return self._cipher.decrypt(sealed[1 : _NONCE + 1], sealed[_NONCE + 1 :], self._name)
        except InvalidTag:
            raise ValueError("it was encrypted with another key, or changed since") from None
