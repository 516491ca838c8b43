"""Scripts: split into statements, variables filled in, statements read one by one."""

from __future__ import annotations

import pytest

from caudal.ksql.errors import Position, SyntaxProblem
from caudal.ksql.syntax import statements as ast
from caudal.ksql.syntax.script import is_complete, read_script, split, substitute

SPLIT: list[tuple[str, list[tuple[str, tuple[int, int]]]]] = [
    ("", []),
    (" ;; \n;", []),
    ("a", [("a", (1, 1))]),
    ("a;b", [("a", (1, 1)), ("b", (1, 3))]),
    ("  a b ; \n c\n;", [("a b", (1, 3)), ("c", (2, 2))]),
    ("a ';' b; c", [("a ';' b", (1, 1)), ("c", (1, 10))]),
    ("a 'it''s;' ; c", [("a 'it''s;'", (1, 1)), ("c", (1, 14))]),
    ('a `;` ";"; c', [('a `;` ";"', (1, 1)), ("c", (1, 12))]),
    ("-- x;\na; -- y;\nb /* ; */ c;", [("a", (2, 1)), ("b /* ; */ c", (3, 1))]),
    ("/* a; */;", []),
    ("a 'open; b; c", [("a 'open; b; c", (1, 1))]),
    ("a /* open; b", [("a", (1, 1))]),
    ("a - b; c / d", [("a - b", (1, 1)), ("c / d", (1, 8))]),
    ("a ${x}; $b", [("a ${x}", (1, 1)), ("$b", (1, 9))]),
    ("a -- '\n; b", [("a", (1, 1)), ("b", (2, 3))]),
]


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_statements_end_at_semicolons_that_are_some(text: str, expected: list[tuple[str, tuple[int, int]]]) -> None:
    assert [(one, (at.line, at.column)) for one, at in split(text)] == expected
    assert all(text[at.offset :].startswith(one) for one, at in split(text))


COMPLETE = [
    ("", True),
    ("a", False),
    ("a;", True),
    ("a; -- b", True),
    ("a; b", False),
    ("a ';", False),
    ("a /* ; */", False),
    ("a; /*", False),
    ("a; /* b */ \n", True),
    ("-- a;", True),
    ("a `;", False),
]


@pytest.mark.parametrize(("text", "expected"), COMPLETE)
def test_a_shell_knows_when_to_wait_for_more(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


VARIABLES = {
    "name": "orders",
    "n": "3",
    "neg": "-1.5",
    "text": "it's",
    "quoted": "'t'",
    "tick": "a`b",
    "bad": "a; DROP b",
}
FILLED = [
    ("SELECT * FROM ${name}", "SELECT * FROM orders"),
    ("SELECT * FROM ${NAME}", "SELECT * FROM orders"),
    ("WITH (a='${name}-${n}', b=${n}, c=${neg}, d=${quoted})", "WITH (a='orders-3', b=3, c=-1.5, d='t')"),
    ("'${text}'", "'it''s'"),
    ("'${quoted}'", "'''t'''"),
    ("`${tick}`", "`a``b`"),
    ('"${name}"', '"orders"'),
    ("'${bad}'", "'a; DROP b'"),
    ("'$${name}'", "'${name}'"),
    ("'${none}' ${none}", "'${none}' ${none}"),
    ("a -- ${name}\n/* ${name} */", "a -- ${name}\n/* ${name} */"),
    ("'$ {name} ${na me} $name'", "'$ {name} ${na me} $name'"),
]


@pytest.mark.parametrize(("text", "expected"), FILLED)
def test_variables_are_filled_in(text: str, expected: str) -> None:
    assert substitute(text, VARIABLES) == expected


@pytest.mark.parametrize("value", ["a; DROP b", "1 OR 1", "a b", "", "'x' = 'x'", "a--", "(a)", "- a"])
def test_a_value_outside_of_quotes_is_one_token(value: str) -> None:
    with pytest.raises(SyntaxProblem, match="must be a name, a number or a string") as caught:
        substitute("SELECT *\nFROM ${v}", {"v": value})
    assert caught.value.at == Position(2, 6, 14)


def test_a_script_defines_and_uses_variables() -> None:
    variables = {"topic": "before"}
    script = "DEFINE topic = 't'; PRINT ${topic}; DEFINE Topic = '''u'''; PRINT ${TOPIC}; UNDEFINE topic; PRINT x;"
    found = list(read_script(script, variables))
    assert [one.topic for one in found if isinstance(one, ast.PrintTopic)] == ["t", "u", "x"]
    assert variables == {}


def test_statements_before_a_mistake_are_read() -> None:
    reading = read_script("SHOW STREAMS; SELCT 1;", {})
    assert next(reading) == ast.Show("STREAMS")
    with pytest.raises(SyntaxProblem, match="Unknown statement"):
        next(reading)


@pytest.mark.parametrize(
    ("script", "place"),
    [
        ("SHOW STREAMS;\n\n  SELECT *\n FORM s;", (4, 2)),
        ("SHOW STREAMS;   SELECT * FORM s;", (1, 26)),
        ("SHOW STREAMS;   PRINT ${bad};", (1, 23)),
        ("SHOW STREAMS;   PRINT ${missing};", (1, 23)),
    ],
)
def test_mistakes_are_placed_in_the_script(script: str, place: tuple[int, int]) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        list(read_script(script, {"bad": "a b"}))
    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.column) == place
    assert caught.value.text == script
