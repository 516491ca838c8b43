r"""Regular expressions of Java: what `Pattern` and `Matcher` find (the expectations were asked of them)."""

from __future__ import annotations

import pytest

from caudal.ksql.functions.java_patterns import compiled

FOUND = [
    (r"\d+", "1٣2", ["1", "2"]),
    (r"\w+", "aé_1", ["a", "_1"]),
    (r"(?i)é", "É", []),
    (r"(?i)k", "kK\u212a", ["k", "K"]),
    (r".", "a\n\r\u0085\u2028b", ["a", "b"]),
    (r"(?s).+", "a\nb", ["a\nb"]),
    (r"(?s:.)b", "\nb", ["\nb"]),
    (r"a$", "a\r\n", ["a"]),
    (r"a$", "a\u2029", ["a"]),
    (r"a\z", "a\n", []),
    (r"a\Z", "a\n", ["a"]),
    (r"(?m)^.+$", "one\r\ntwo\u0085three", ["one", "two", "three"]),
    (r"\h+", " \t\xa0\u3000x", [" \t\xa0\u3000"]),
    (r"\v", "a\n\x0b", ["\n", "\x0b"]),
    (r"\R", "a\r\nb\u2028", ["\r\n", "\u2028"]),
    (r"\Qa.b\E+", "a.bb", ["a.bb"]),
    (r"\x41\u0042\x{1F600}\0103\e", "AB😀C\x1b", ["AB😀C\x1b"]),
    (r"\p{L}+", "Übermaß 1", ["Übermaß"]),
    (r"\p{IsAlphabetic}\P{L}", "é1", ["é1"]),
    (r"\p{Lu}|\p{Nd}", "aB1", ["B", "1"]),
    (r"\p{Punct}+", "a!?-b", ["!?-"]),
    (r"[\p{Lu}\d]+", "aB1c", ["B1"]),
    (r"[a-c[x-z]]+", "mabxyn", ["abxy"]),
    (r"[^a-c[x-z]]+", "mabxyn", ["m", "n"]),
    (r"[a-z&&[^aeiou]]+", "abcde", ["bcd"]),
    (r"[a-z&&def]+", "abcdefg", ["def"]),
    (r"[^a-z&&[^aeiou]]+", "abcE", ["a", "E"]),
    (r"[]a]+", "]a[", ["]a"]),
    (r"[a-]+", "a-b", ["a-"]),
    (r"a++b", "aaab", ["aaab"]),
    (r"(?>a+)ab", "aaab", []),
    (r"x(?i)y|Z", "xY z", ["xY", "z"]),
    (r"(?i)a(?-i)B", "AB ab", ["AB"]),
    (r"(?<two>a)\k<two>", "aa", ["aa"]),
    (r"(a)\11", "aa1", ["aa1"]),
    (r"(?=b)", "ab", [""]),
    (r"a{2}", "aaa", ["aa"]),
    (r"~~--||&&", "~~--", ["~~--", ""]),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), FOUND)
def test_finds_what_java_finds(pattern: str, text: str, expected: list[str]) -> None:
    assert [found[0] for found in compiled(pattern).finditer(text)] == expected


@pytest.mark.parametrize(
    "pattern", ["(", "[", ")", "*a", "a{", r"\y", "(?<1a>b)", r"\p{Nonsense}", r"\x4", "(?k)a", "a**"]
)
def test_refuses_what_is_no_expression(pattern: str) -> None:
    with pytest.raises(ValueError, match="Invalid regular expression pattern"):
        compiled(pattern)


def test_is_compiled_once() -> None:
    assert compiled("a+b") is compiled("a+b")
