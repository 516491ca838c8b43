r"""Regular expressions as Java writes them, translated to Python's `re`.

What differs, and is translated: `\d`, `\w`, `\s`, `\b` and (?i) mean ASCII; `.`, `^` and `$` know all of Unicode's line
terminators; `\z`, `\Z`, `\h`, `\v`, `\R`, `\Q…\E`, `\e`, `\0nn`, `\x{…}`, `\cX`; `(?<name>…)` and `\k<name>`; flags in
the middle, which hold to the end of their group; character classes with unions, intersections (&&) and `\p{…}`.
Not here, and an error: `\G`, `\X`, scripts and blocks of Unicode, look-behind of no fixed width.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache, lru_cache

_ENDS = "\\n\\r\\x85\\u2028\\u2029"  # line terminators, as the inside of a class
_NOT_WITHIN_CRLF = "(?:(?<!\\r)|(?!\\n))"
_LAST_LINE_END = f"{_NOT_WITHIN_CRLF}(?=(?:\\r\\n|[{_ENDS}])?\\Z)"
_LINE_END = f"{_NOT_WITHIN_CRLF}(?=[{_ENDS}]|\\Z)"
_LINE_START = f"(?:\\A|(?<=[{_ENDS}]){_NOT_WITHIN_CRLF})(?!\\Z)"
_HORIZONTAL = " \\t\\xa0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000"
_VERTICAL = f"\\x0b\\f{_ENDS}"

_ASCII_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
}
# Java's names of Unicode properties, and the general categories that make them up.
_BY_CATEGORY = {
    "alphabetic": ("L", "Nl"),
    "letter": ("L",),
    "lowercase": ("Ll",),
    "uppercase": ("Lu",),
    "titlecase": ("Lt",),
    "digit": ("Nd",),
    "control": ("Cc",),
    "punctuation": ("P",),
    "whitespace": ("Z",),
    "white_space": ("Z",),
    "javalowercase": ("Ll",),
    "javauppercase": ("Lu",),
    "javawhitespace": ("Z",),
    "javaletter": ("L",),
    "javadigit": ("Nd",),
    "javaletterordigit": ("L", "Nd"),
}
_CATEGORIES = frozenset(
    [
        "L",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "M",
        "Mn",
        "Mc",
        "Me",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Ps",
        "Pe",
        "Pi",
        "Pf",
        "Po",
        "S",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Z",
        "Zs",
        "Zl",
        "Zp",
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cn",
        "LC",
    ]
)
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")


@lru_cache(maxsize=1000)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""
    >>> compiled(r"(?<word>\p{L}+)\z").search("one two")["word"]
    'two'
    >>> compiled("[a-z&&[^aeiou]]+").findall("abcdefg")
    ['bcd', 'fg']
    """
    try:
        return re.compile(_Translation(pattern).whole(), re.ASCII)
    except (re.error, RecursionError, OverflowError, _Broken) as error:
        raise ValueError(f"Invalid regular expression pattern '{pattern}': {error}.") from error


class _Broken(Exception):
    """What is wrong with the expression."""


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0  # opened so far: decides how many digits a back reference takes

    def whole(self) -> str:
        made = self.alternatives("")
        if self.at < len(self.pattern):
            raise _Broken(f"unmatched closing ')' at index {self.at}")
        return made

    def peek(self, count: int = 1) -> str:
        return self.pattern[self.at : self.at + count]

    def take(self) -> str:
        if self.at >= len(self.pattern):
            raise _Broken("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def until(self, end: str, what: str) -> str:
        found = self.pattern.find(end, self.at)
        if found < 0:
            raise _Broken(f"{what} has no closing '{end}'")
        text = self.pattern[self.at : found]
        self.at = found + len(end)
        return text

    def alternatives(self, flags: str) -> str:
        """Up to the group's `)` or the end. Flags such as (?i) open a group of their own, closed at each `|` and at the
        end, so that they hold for the rest of this group and the alternatives stay its alternatives."""
        made: list[str] = []
        set_here: list[str] = []  # texts of the flag groups that are open
        while self.at < len(self.pattern):
            sign = self.peek()
            if sign == ")":
                break
            if sign == "|":
                self.at += 1
                made.append(")" * len(set_here) + "|" + "".join(set_here))
            elif sign == "(":
                self.at += 1
                opened, flags = self.group(flags)
                if opened.startswith("(?") and opened.endswith(":") and not opened.endswith("(?:"):
                    set_here.append(opened)
                made.append(opened)
            else:
                made.append(self.one(flags))
        return "".join(made) + ")" * len(set_here)

    def group(self, flags: str) -> tuple[str, str]:
        """A whole group; or, for (?i), what opens the group that it stands for, and the flags from here on."""
        if self.peek() != "?":
            self.groups += 1
            return "(" + self.closed(flags), flags
        if self.peek(2) == "?<" and self.peek(3) not in ("?<=", "?<!"):
            self.at += 2
            name = self.until(">", "a group's name")
            if not (name.isascii() and name.isalnum() and name[0].isalpha()):
                raise _Broken(f"'{name}' is not a name for a group")
            self.groups += 1
            return f"(?P<{name}>" + self.closed(flags), flags
        for kind in ("?:", "?=", "?!", "?>", "?<=", "?<!"):
            if self.peek(len(kind)) == kind:
                self.at += len(kind)
                return f"({kind}" + self.closed(flags), flags
        return self.flag_group(flags)

    def flag_group(self, flags: str) -> tuple[str, str]:
        self.at += 1
        start = self.at
        while self.peek() not in (")", ":", ""):
            self.at += 1
        turned_on, _, turned_off = self.pattern[start : self.at].partition("-")
        unknown = set(turned_on + turned_off) - set("idmsuxU")
        if unknown:
            raise _Broken(f"unknown flag '{sorted(unknown)[0]}'")
        inner = "".join(sorted((set(flags) | set(turned_on)) - set(turned_off)))
        # Of these, only i and x are Python's as well: m and s are in the translation, u, U and d have no ASCII meaning.
        shown_on = "".join(one for one in "ix" if one in turned_on)
        shown_off = "".join(one for one in "ix" if one in turned_off)
        opened = "(?" + shown_on + (f"-{shown_off}" if shown_off else "") + ":"
        if self.take() == ":":
            return opened + self.closed(inner), flags
        return ("" if opened == "(?:" else opened), inner

    def closed(self, flags: str) -> str:
        made = self.alternatives(flags)
        if self.peek() != ")":
            raise _Broken("a group is not closed")
        self.at += 1
        return made + ")"

    def one(self, flags: str) -> str:
        """One element outside a class, or a quantifier."""
        sign = self.take()
        if sign == ".":
            return "(?s:.)" if "s" in flags else ("[^\\n]" if "d" in flags else f"[^{_ENDS}]")
        if sign == "^":
            return _LINE_START if "m" in flags else "\\A"
        if sign == "$":
            return _LINE_END if "m" in flags else _LAST_LINE_END
        if sign == "[":
            return self.character_class()
        if sign == "\\":
            return self.escape()
        if sign == "{":
            self.at -= 1
            found = _QUANTIFIER.match(self.pattern, self.at)
            if found is None:
                raise _Broken(f"illegal repetition at index {self.at}")
            self.at = found.end()
            return found[0]
        if sign in "*+?" or "x" in flags:
            return sign
        return re.escape(sign)

    def escape(self) -> str:
        sign = self.take()
        if sign in "123456789":
            return self.back_reference(sign)
        if sign == "k":
            if self.take() != "<":
                raise _Broken("\\k is followed by <name>")
            return f"(?P={self.until('>', 'a reference')})"
        if sign == "Q":
            return "".join(map(re.escape, self.quoted()))
        if sign in "bBA":
            return f"\\{sign}"
        if sign == "Z":
            return _LAST_LINE_END
        if sign == "z":
            return "\\Z"
        if sign == "R":
            return f"(?:\\r\\n|[{_VERTICAL}])"
        made, _ = self.character_escape(sign)
        return made if len(made) <= 2 else f"[{made}]"

    def quoted(self) -> str:
        found = self.pattern.find("\\E", self.at)
        text = self.pattern[self.at :] if found < 0 else self.pattern[self.at : found]
        self.at = len(self.pattern) if found < 0 else found + 2
        return text

    def back_reference(self, digits: str) -> str:
        while self.peek() in tuple("0123456789") and int(digits + self.peek()) <= self.groups:
            digits += self.take()
        # In a group of its own, lest a digit that follows is read as part of the number.
        return f"(?:\\{digits})" if int(digits) <= self.groups else "(?!)"

    def character_escape(self, sign: str) -> tuple[str, bool]:
        """An escape that stands for a character or a set of them, as the inside of a class; and whether it is a set."""
        if sign in "dDwWsS":
            return f"\\{sign}", True
        if sign == "h":
            return _HORIZONTAL, True
        if sign == "v":
            return _VERTICAL, True
        if sign == "H":
            return _complement(_HORIZONTAL), True
        if sign == "V":
            return _complement(_VERTICAL), True
        if sign in "pP":
            name = self.until("}", "\\p") if self.peek() == "{" else self.take()
            return _property(name.lstrip("{"), is_negated=sign == "P"), True
        return _literal(self.code(sign)), False

    def code(self, sign: str) -> str:
        """The character that an escape stands for."""
        if sign in "tnrfae":
            return {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}[sign]
        if sign == "0":
            found = re.compile("[0-3]?[0-7]{1,2}").match(self.pattern, self.at)
            return self.numbered(found, 8)
        if sign == "x" and self.peek() == "{":
            self.at += 1
            digits = self.until("}", "\\x")
            if re.fullmatch("[0-9a-fA-F]+", digits) is None or int(digits, 16) > sys.maxunicode:
                raise _Broken(f"'{digits}' is not a character's code")
            return chr(int(digits, 16))
        if sign in "xu":
            found = re.compile("[0-9a-fA-F]{2}" if sign == "x" else "[0-9a-fA-F]{4}").match(self.pattern, self.at)
            return self.numbered(found, 16)
        if sign == "c":
            return chr(ord(self.take()) ^ 64)
        if sign.isascii() and sign.isalpha():
            raise _Broken(f"illegal or unsupported escape \\{sign}")
        return sign

    def numbered(self, found: re.Match[str] | None, base: int) -> str:
        if found is None:
            raise _Broken(f"an escape at index {self.at} lacks its digits")
        self.at = found.end()
        return chr(int(found[0], base))

    def character_class(self) -> str:
        """After its `[`: an expression for one character. Intersections become look-aheads."""
        is_negated = self.peek() == "^"
        self.at += is_negated
        sides: list[str] = []
        inside: list[str] = []  # what can stand in one pair of brackets
        nested: list[str] = []
        is_first = True
        while True:
            sign = self.take()
            if sign == "]" and not is_first:
                break
            is_first = False
            if sign == "[":
                nested.append(self.character_class())
            elif sign == "&" and self.peek() == "&":
                self.at += 1
                if inside or nested:
                    sides.append(_union(inside, nested))
                inside, nested = [], []
            else:
                self.member(sign, inside)
        if inside or nested or not sides:
            sides.append(_union(inside, nested))
        if len(sides) == 1 and not nested:
            return f"[^{''.join(inside)}]" if is_negated else sides[0]
        both = "".join(f"(?={side})" for side in sides[:-1]) + sides[-1]
        return f"(?:(?!{both})[\\s\\S])" if is_negated else f"(?:{both})"

    def member(self, sign: str, inside: list[str]) -> None:
        """A character, a range, or an escape that is a set."""
        if sign == "\\":
            escaped = self.take()
            if escaped == "Q":
                inside.extend(map(_literal, self.quoted()))
                return
            made, is_set = self.character_escape(escaped)
            if is_set:
                inside.append(made)
                return
        else:
            made = _literal(sign)
        if self.peek() == "-" and self.peek(2) not in ("-]", "-[", "-"):
            self.at += 1
            end = self.take()
            last = _literal(self.code(self.take())) if end == "\\" else _literal(end)
            made = f"{made}-{last}"
        inside.append(made)


def _literal(sign: str) -> str:
    return sign if sign.isalnum() and sign.isascii() else f"\\U{ord(sign):08x}"


def _union(inside: list[str], nested: list[str]) -> str:
    brackets = [f"[{''.join(inside)}]"] if inside else []
    every = brackets + nested
    return every[0] if len(every) == 1 else f"(?:{'|'.join(every)})"


def _property(name: str, *, is_negated: bool) -> str:
    if name in _ASCII_CLASSES:
        made = _ASCII_CLASSES[name]
        return _complement(made) if is_negated else made
    short = name[2:] if name.lower().startswith("is") else name
    for prefix in ("gc=", "general_category="):
        if short.lower().startswith(prefix):
            short = short[len(prefix) :]
    if short in _CATEGORIES:
        wanted: tuple[str, ...] = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
    elif short.lower() in _BY_CATEGORY and (short != name or name.startswith("java")):
        wanted = _BY_CATEGORY[short.lower()]
    else:
        raise _Broken(f"unknown character property '{name}'")
    return _characters(wanted, is_negated)


@lru_cache(maxsize=64)
def _characters(categories: tuple[str, ...], is_negated: bool) -> str:
    """All characters of these general categories, as the inside of a class."""
    runs = [(start, end) for start, end, category in _runs() if category.startswith(categories) != is_negated]
    if categories == ("Z",):  # white space is more than Unicode's separators: tabs and line ends are control characters
        if is_negated:
            return _complement(_characters(categories, False))
        runs += [(0x09, 0x0D), (0x85, 0x85)]
    return _ranges(runs)


@cache
def _runs() -> list[tuple[int, int, str]]:
    """Unicode as runs of characters of one general category."""
    # Above the ideographs there is nothing but tags and, in the last two planes, private use: no need to look.
    looked_at = [*range(0x32400), *range(0xE0000, 0xE0200)]
    made: list[tuple[int, int, str]] = []
    for code in looked_at:
        category = unicodedata.category(chr(code))
        if made and made[-1][2] == category and made[-1][1] == code - 1:
            made[-1] = (made[-1][0], code, category)
        else:
            made.append((code, code, category))
    made += [(0x32400, 0xDFFFF, "Cn"), (0xE0200, 0xEFFFF, "Cn")]
    for plane in (0xF0000, 0x100000):
        made += [(plane, plane + 0xFFFD, "Co"), (plane + 0xFFFE, plane + 0xFFFF, "Cn")]
    return made


@lru_cache(maxsize=16)
def _complement(inside: str) -> str:
    """Of a set without anything from U+3001 on, as all are that are asked for."""
    is_member = re.compile(f"[{inside}]").fullmatch
    last = 0x3001
    return _ranges([(code, code) for code in range(last) if is_member(chr(code)) is None] + [(last, sys.maxunicode)])


def _ranges(runs: list[tuple[int, int]]) -> str:
    made: list[list[int]] = []
    for start, end in runs:
        if made and made[-1][1] == start - 1:
            made[-1][1] = end
        else:
            made.append([start, end])
    return "".join([f"{_literal(chr(start))}-{_literal(chr(end))}" for start, end in made])
