"""Which messages of a topic are shown: by text, key, header, or an expression such as `value.amount > 10`.

An expression is parsed into a tree and compiled to closures by `caudal.plan.expressions`, never evaluated as Python.
Here both kinds of quotes are text (people copy from JSON), names with odd characters go in backticks, and functions
whose cost a value does not bound (regular expressions, powers, padding) are refused. A message that an expression
cannot be applied to does not match.

Partitions and times are not here: they decide where to read (`message_query.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caudal.ui.services.decoding import Message
from caudal.ui.words import t

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST_EXPRESSION = 2000
NAMES = ("key", "value", "headers", "partition", "offset", "timestamp", "size")
# By their first names in the table; the others (`ucase`, …) are the same functions.
FUNCTIONS = frozenset(
    [
        "upper",
        "lower",
        "initcap",
        "length",
        "trim",
        "ltrim",
        "rtrim",
        "substring",
        "left",
        "right",
        "concat",
        "split",
        "starts_with",
        "ends_with",
        "contains",
        "str_position",
        "abs",
        "round",
        "ceil",
        "floor",
        "sign",
        "greatest",
        "least",
        "array_size",
    ]
)

Test = Callable[[Message], bool]


class FilterError(Exception):
    """An expression that is wrong: what is wrong and, where that is known, at which character (from 1)."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True)
class Filter:
    """As a person typed it; empty parts do not filter. Text is found anywhere in key, value and headers, without regard
    to case; `key` is the whole key, or begins or ends with % as in LIKE; `header` is NAME or NAME=VALUE."""

    text: str = ""
    key: str = ""
    header: str = ""
    expression: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.key or self.header or self.expression)

    def compiled(self) -> Matching:
        """FilterError where the expression is wrong."""
        tests: list[Test] = []
        if self.key:
            tests.append(_key_test(self.key))
        if self.header:
            tests.append(_header_test(self.header))
        if self.text:
            tests.append(_text_test(self.text))
        matching = Matching(tests)
        if self.expression.strip():
            matching.add_expression(self.expression)
        return matching


class Matching:
    """Called with a message. Counts those that the expression could not be applied to, and keeps the first reason."""

    def __init__(self, tests: list[Test]) -> None:
        self._tests = tests
        self._evaluate: Callable[[tuple[Any, ...]], Any] | None = None
        self.failed = 0
        self.reason = ""

    def add_expression(self, text: str) -> None:
        self._evaluate = compile_expression(text)

    def __call__(self, message: Message) -> bool:
        for test in self._tests:
            if not test(message):
                return False
        return self._evaluate is None or self._holds(message)

    def _holds(self, message: Message) -> bool:
        assert self._evaluate is not None
        record = message.record
        try:
            found = self._evaluate(
                (
                    message.key.value,
                    message.value.value,
                    message.headers,
                    record.partition,
                    record.offset,
                    record.timestamp,
                    message.size,
                )
            )
        # Values are whatever producers wrote; what an operator says about them is no failure of the search.
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            self.failed += 1
            self.reason = self.reason or f"{str(error) or type(error).__name__}".rstrip(".")
            return False
        return found is True


# ---------------------------------------------------------------------- the simple ones


def _text_test(text: str) -> Test:
    needle = text.casefold()

    def test(message: Message) -> bool:
        if needle in message.key.text.casefold() or needle in message.value.text.casefold():
            return True
        return any(
            needle in name.casefold() or (value is not None and needle in value.casefold())
            for name, value in message.headers.items()
        )

    return test


def _key_test(pattern: str) -> Test:
    begins, ends = pattern.endswith("%"), pattern.startswith("%")
    middle = pattern[1 if ends else 0 : -1 if begins else None]
    if begins and ends:
        return lambda message: middle in message.key.text
    if begins:
        return lambda message: message.key.text.startswith(middle)
    if ends:
        return lambda message: message.key.text.endswith(middle)
    return lambda message: message.key.text == pattern


def _header_test(text: str) -> Test:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        return lambda message: any(given == name for given, _ in message.record.headers)
    return lambda message: message.headers.get(name) == value


# ---------------------------------------------------------------------- expressions


def compile_expression(text: str) -> Callable[[tuple[Any, ...]], Any]:
    """A function of the values of NAMES, in their order. Other names are fields of the value.

    >>> holds = compile_expression('value.amount > 10 and key == "ana"')
    >>> holds(("ana", {"amount": 11}, {}, 0, 0, 0, 0))
    True
    """
    from caudal.plan.errors import PlanError
    from caudal.plan.expressions.compiler import compile_tree

    if len(text) > LONGEST_EXPRESSION:
        raise FilterError(
            t("An expression has at most {most} characters.", most=LONGEST_EXPRESSION), LONGEST_EXPRESSION
        )
    tree = _parsed(text)
    _check(tree, text)
    try:
        return compile_tree(tree, NAMES)
    except PlanError as error:
        raise FilterError(str(error)) from None
    except RecursionError:
        raise FilterError(t("The expression is nested too deeply.")) from None


def _parsed(text: str) -> exp.Expr:
    from sqlglot.errors import ParseError, TokenError

    try:
        trees = _dialect().parse(text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        raise _syntax_error(text, first) from None
    except TokenError:
        raise FilterError(t("A text or a name is not closed."), _unclosed(text)) from None
    except RecursionError:
        raise FilterError(t("The expression is nested too deeply.")) from None
    if len(trees) != 1 or trees[0] is None:
        raise FilterError(t("One expression is expected, such as value.amount > 10."), text.find(";") + 1 or None)
    tree: exp.Expr = trees[0]
    return tree


def _dialect() -> Any:
    """Made when the first expression comes: sqlglot is not small."""
    global _made
    if _made is None:
        from sqlglot.dialects.dialect import Dialect
        from sqlglot.tokens import Tokenizer as BaseTokenizer

        class MessageFilters(Dialect):
            class Tokenizer(BaseTokenizer):
                IDENTIFIERS = ["`"]  # noqa: RUF012
                QUOTES = ["'", '"']  # noqa: RUF012

        _made = MessageFilters
    return _made()


_made: Any = None


def _syntax_error(text: str, error: dict[str, Any]) -> FilterError:
    mark = str(error.get("highlight") or "")
    begin = _position(text, error.get("line"), error.get("col"), len(mark))
    cause = str(error.get("description") or "")
    if cause.startswith("Required keyword"):
        # sqlglot marks the operator; what is missing comes after it.
        return FilterError(t("Something is missing after '{mark}'.", mark=mark), begin)
    if cause.startswith("Expecting )"):
        return FilterError(t("A closing ) is missing."), None if begin is None else begin + len(mark))
    if mark:
        return FilterError(t("'{mark}' is not expected here.", mark=mark), begin)
    return FilterError(t("This is no expression."), begin)


def _position(text: str, line: int | None, column: int | None, length: int) -> int | None:
    """sqlglot's column is that of the token's last character, in its line."""
    if line is None or column is None:
        return None
    before = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
    return max(1, before + column - length + 1)


def _unclosed(text: str) -> int:
    """Where the quote that has no partner is."""
    opened, at = "", 0
    for index, sign in enumerate(text):
        if opened:
            opened = "" if sign == opened else opened
        elif sign in "'\"`":
            opened, at = sign, index
    return at + 1


def _check(tree: exp.Expr, text: str) -> None:
    """Refuses what is no test of a message, and what costs without bounds."""
    from sqlglot import exp

    from caudal.plan.errors import PlanError
    from caudal.plan.expressions.compiler import called

    if isinstance(tree, (exp.Query, exp.DDL, exp.Command, exp.Alias)) or tree.find(exp.Query):
        raise FilterError(t("One expression is expected, such as value.amount > 10."), 1)
    if tree.find(exp.RegexpLike, exp.RegexpILike, exp.SimilarTo):
        raise FilterError(t("Regular expressions are not for filters; LIKE with % and _ is."))
    # To sqlglot these are functions, too; the compiler has rules of their own for them.
    structural = (exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.Coalesce, exp.Nullif, exp.Array, exp.Struct)
    for node in tree.find_all(exp.Func):
        if isinstance(node, structural):
            continue
        try:
            allowed = called(node)[0].name in FUNCTIONS
        except PlanError:
            allowed = False
        if not allowed:
            name = node.name if isinstance(node, exp.Anonymous) else node.sql().partition("(")[0]
            # The tree does not keep where a function's name stood.
            raise FilterError(
                t(
                    "{name} is no function for filters; there are {functions}.",
                    name=name.upper(),
                    functions=", ".join(sorted(FUNCTIONS)),
                ),
                text.lower().find(name.lower()) + 1 or None,
            )
