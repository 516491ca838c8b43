"""Functions of text, and of BYTES where ksqlDB gives them the same name (CONCAT, LEN, LPAD, SPLIT, SUBSTRING …).

Positions and lengths count characters (code points), as Spark does; ksqlDB counts UTF-16 units, which differs only for
characters outside the basic plane. MASK and its kin are in `masking.py`, ENCODE and conversions from and to BYTES in
`byte_strings.py`.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import TypeVar

from caudal.ksql.functions.registry import scalar

_Text = TypeVar("_Text", str, bytes)

_BLANK = "".join(map(chr, range(0x21)))  # what Java's trim removes: everything up to the space
_LONGEST_PADDING = 10_000_000  # a length comes from a record, and must not be able to take all memory
_WORD = re.compile(r"[^ \t\n\x0b\f\r]+[ \t\n\x0b\f\r]*")
_ESCAPE = re.compile(r"\\(?:u+\+?([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.)|$)", re.DOTALL)
_SHORT_ESCAPES = {"b": "\b", "n": "\n", "t": "\t", "f": "\f", "r": "\r"}


@scalar(
    "CHR",
    "(code INTEGER) -> STRING",
    category="STRING",
    description="The character with a Unicode code point; NULL where there is none.",
)
def chr_of_code(code: int) -> str | None:
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:  # half a surrogate pair is not a character
        return None
    return chr(code)


@scalar(
    "CHR",
    r"(code STRING) -> STRING",
    category="STRING",
    description=r"The character with a code written '\uXXXX'; NULL where the text is not of that form.",
)
def chr_of_escape(code: str) -> str | None:
    r"""
    >>> chr_of_escape(r"\u597d"), chr_of_escape("597d")
    ('好', None)
    """
    if len(code) < 6 or not code.startswith("\\u"):
        return None

    def unescaped(found: re.Match[str]) -> str:
        by_hex, octal, sign = found.groups()
        if by_hex is not None:
            return chr(int(by_hex, 16))
        if octal is not None:
            return chr(int(octal, 8))
        if sign == "u":
            raise ValueError(f"'{code}' is not a character code: four hexadecimal digits follow \\u.")
        return _SHORT_ESCAPES.get(sign, sign or "")

    # Two escapes may be the halves of one character.
    return _ESCAPE.sub(unescaped, code).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@scalar(
    "CONCAT",
    "(text STRING, more STRING...) -> STRING",
    category="STRING",
    description="Texts one after the other; NULLs count as empty.",
    nulls=True,
)
def concat(*texts: str | None) -> str:
    return "".join([text for text in texts if text is not None])


@scalar(
    "CONCAT",
    "(bytes BYTES, more BYTES...) -> BYTES",
    category="STRING",
    description="Bytes one after the other; NULLs count as empty.",
    nulls=True,
)
def concat_bytes(*parts: bytes | None) -> bytes:
    return b"".join([part for part in parts if part is not None])


@scalar(
    "CONCAT_WS",
    "(separator STRING, text STRING, more STRING...) -> STRING",
    "(separator BYTES, bytes BYTES, more BYTES...) -> BYTES",
    category="STRING",
    description="Texts or bytes joined with a separator; NULLs are left out, a NULL separator gives NULL.",
    nulls=True,
)
def concat_ws(separator: _Text | None, *texts: _Text | None) -> _Text | None:
    return None if separator is None else separator.join([text for text in texts if text is not None])


@scalar(
    "ELT",
    "(position INTEGER, text STRING, more STRING...) -> STRING",
    category="STRING",
    description="The text at a position, from 1; NULL where there is none. The complement of FIELD.",
    nulls=True,
)
def elt(position: int | None, *texts: str | None) -> str | None:
    return texts[position - 1] if position is not None and 1 <= position <= len(texts) else None


@scalar(
    "FIELD",
    "(text STRING, first STRING, more STRING...) -> INTEGER",
    category="STRING",
    description="The position, from 1, of a text among others; 0 where it is not among them. The complement of ELT.",
    nulls=True,
)
def field(text: str | None, *texts: str | None) -> int:
    # NULL equals nothing, so that FIELD(NULL, ...) is 0 and not NULL.
    return texts.index(text) + 1 if text is not None and text in texts else 0


@scalar(
    "INITCAP",
    "(text STRING) -> STRING",
    category="STRING",
    description="The first letter of each word in upper case, the others in lower case. White space parts words.",
)
def initcap(text: str) -> str:
    """White space in front of the first word goes, as in ksqlDB.

    >>> initcap("the Quick  fOX ")
    'The Quick  Fox '
    """
    return "".join([word[0].upper() + word[1:] for word in _WORD.findall(text.lower())])


@scalar(
    "INSTR",
    "(text STRING, wanted STRING) -> INTEGER",
    "(text STRING, wanted STRING, position INTEGER) -> INTEGER",
    "(text STRING, wanted STRING, position INTEGER, occurrence INTEGER) -> INTEGER",
    category="STRING",
    description="Where a text stands in another, from 1; 0 where it does not. A negative position searches backwards.",
    nulls=True,
)
def instr(text: str | None, wanted: str | None, position: int | None = 1, occurrence: int | None = 1) -> int | None:
    """
    >>> instr("CORPORATE FLOOR", "OR", 3, 2), instr("CORPORATE FLOOR", "OR", -3, 2)
    (14, 2)
    """
    if position is None or occurrence is None:
        return None
    if text is None or wanted is None or position == 0 or abs(position) > len(text) or occurrence < 1:
        return 0
    if position < 0:
        found = _nth(text[::-1], wanted[::-1], -position - 1, occurrence)
        return 0 if found < 0 else len(text) - found - len(wanted) + 1
    return _nth(text, wanted, position - 1, occurrence) + 1


def _nth(text: str, wanted: str, start: int, occurrence: int) -> int:
    """The n-th place, overlapping ones counted, or -1."""
    if not wanted:
        return start
    found = start - 1
    for _ in range(occurrence):
        found = text.find(wanted, found + 1)
        if found < 0:
            return -1
    return found


@scalar(
    "LCASE",
    "(text STRING) -> STRING",
    category="STRING",
    description="The text in lower case.",
    spark="lower({0})",
)
def lcase(text: str) -> str:
    return text.lower()


@scalar(
    "UCASE",
    "(text STRING) -> STRING",
    category="STRING",
    description="The text in upper case.",
    spark="upper({0})",
)
def ucase(text: str) -> str:
    return text.upper()


@scalar(
    "LEN",
    "(text STRING) -> INTEGER",
    "(bytes BYTES) -> INTEGER",
    category="STRING",
    description="The number of characters of a text, or of bytes.",
    spark="length({0})",
)
def length(text: str | bytes) -> int:
    return len(text)


@scalar(
    "LPAD",
    "(text STRING, length INTEGER, padding STRING) -> STRING",
    "(bytes BYTES, length INTEGER, padding BYTES) -> BYTES",
    category="STRING",
    description="Filled up from the left to a length, or cut to it; NULL for no padding or a negative length.",
)
def lpad(text: _Text, length: int, padding: _Text) -> _Text | None:
    if length < 0 or not padding:
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    return _repeated(padding, missing) + text


@scalar(
    "RPAD",
    "(text STRING, length INTEGER, padding STRING) -> STRING",
    "(bytes BYTES, length INTEGER, padding BYTES) -> BYTES",
    category="STRING",
    description="Filled up from the right to a length, or cut to it; NULL for no padding or a negative length.",
)
def rpad(text: _Text, length: int, padding: _Text) -> _Text | None:
    if length < 0 or not padding:
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    return text + _repeated(padding, missing)


def _repeated(padding: _Text, length: int) -> _Text:
    if length > _LONGEST_PADDING:
        raise ValueError(f"A text can be padded by at most {_LONGEST_PADDING} characters, and not by {length}.")
    return (padding * (length // len(padding) + 1))[:length]


@scalar(
    "MD5",
    "(text STRING) -> STRING",
    category="STRING",
    description="The MD5 sum of a text in UTF-8, in hexadecimal digits.",
    spark="md5({0})",
)
def md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


@scalar(
    "REPLACE",
    "(text STRING, old STRING, new STRING) -> STRING",
    category="STRING",
    description="The text with every occurrence of a part replaced.",
)
def replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


@scalar(
    "SPLIT",
    "(text STRING, delimiter STRING) -> ARRAY<STRING>",
    category="STRING",
    description="The parts of a text between delimiters, empty ones too; an empty delimiter parts every character.",
)
def split(text: str, delimiter: str) -> list[str]:
    return text.split(delimiter) if delimiter else list(text) or [""]


@scalar(
    "SPLIT",
    "(bytes BYTES, delimiter BYTES) -> ARRAY<BYTES>",
    category="STRING",
    description="The parts of bytes between delimiters, empty ones too; an empty delimiter parts every byte.",
)
def split_bytes(value: bytes, delimiter: bytes) -> list[bytes]:
    return value.split(delimiter) if delimiter else [bytes((one,)) for one in value] or [b""]


@scalar(
    "SPLIT_TO_MAP",
    "(text STRING, entry_delimiter STRING, kv_delimiter STRING) -> MAP<STRING, STRING>",
    category="STRING",
    description="A map from a text of entries, each a key and a value; the last value of a key counts.",
)
def split_to_map(text: str, entry_delimiter: str, kv_delimiter: str) -> dict[str, str] | None:
    """
    >>> split_to_map("a:=1/b:=2/c/a:=3", "/", ":=")
    {'a': '3', 'b': '2'}
    """
    if not entry_delimiter or not kv_delimiter or entry_delimiter == kv_delimiter:
        return None
    entries = (entry.split(kv_delimiter) for entry in text.split(entry_delimiter) if kv_delimiter in entry)
    return {entry[0]: entry[1] for entry in entries}


@scalar(
    "SUBSTRING",
    "(text STRING, position INTEGER) -> STRING",
    "(text STRING, position INTEGER, length INTEGER) -> STRING",
    "(bytes BYTES, position INTEGER) -> BYTES",
    "(bytes BYTES, position INTEGER, length INTEGER) -> BYTES",
    category="STRING",
    description="The part from a position, counted from 1 or, if negative, from the end.",
)
def substring(text: _Text, position: int, length: int | None = None) -> _Text:
    """
    >>> substring("stream", 1, 4), substring("stream", -3), substring("stream", 7)
    ('stre', 'eam', '')
    """
    start = max(len(text) + position, 0) if position < 0 else max(position - 1, 0)
    return text[start:] if length is None else text[start : start + max(length, 0)]


@scalar(
    "TRIM",
    "(text STRING) -> STRING",
    category="STRING",
    description="The text without white space and control characters at its ends.",
)
def trim(text: str) -> str:
    return text.strip(_BLANK)


@scalar(
    "UUID",
    "() -> STRING",
    category="STRING",
    description="A random UUID (version 4).",
)
def random_uuid() -> str:
    return str(uuid.uuid4())


@scalar(
    "UUID",
    "(bytes BYTES) -> STRING",
    category="STRING",
    description="The UUID that 16 bytes stand for; NULL for any other number of bytes.",
)
def uuid_of_bytes(value: bytes) -> str | None:
    return str(uuid.UUID(bytes=value)) if len(value) == 16 else None
