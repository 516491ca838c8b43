"""Expressions. From loose to tight: OR, AND, NOT, one predicate, `||`, + -, * / %, unary minus, AT TIME ZONE, then
`a[i]` and `s->f`. It is ksqlDB's order; `||` is looser than +.

Hand-written recursive descent, as are the other parts of the parser: every node keeps its position, most of ksqlDB's
grammar (windows, WITHIN, `s->f`, `:=`, lambdas, EMIT, DDL) is foreign to sqlglot, and the messages are ours to write.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

from caudal.ksql.errors import Position
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.lexer import Kind
from caudal.ksql.syntax.tree import Expression
from caudal.ksql.syntax.type_names import TypeParser
from caudal.ksql.syntax.words import MILLISECONDS, UNIT_FUNCTIONS
from caudal.ksql.types import DATE, TIME, TIMESTAMP

_Part = tuple[Expression, int]  # with the height of its tree
_T = TypeVar("_T")
_TIGHTNESS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_COMPARISONS = frozenset(["=", "<>", "<", "<=", ">", ">="])
_TYPED = {"DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP}
# `a OR b OR c …` longer than this becomes a balanced tree: it means the same, and stays low.
_CHAIN = 32


class ExpressionParser(TypeParser):
    # Every level of nesting costs Python frames, so each function below reads several levels of precedence in a loop.

    def expression(self) -> Expression:
        self.deeper()
        either: list[_Part] = []
        while True:
            both: list[_Part] = []
            while True:
                both.append(self._negation())
                if not self.take_word("AND"):
                    break
            either.append(self._joined(both, tree.And))
            if not self.take_word("OR"):
                break
        found, self.height = self._joined(either, tree.Or)
        self.shallower()
        return found

    def _joined(self, parts: list[_Part], node: type[tree.And] | type[tree.Or] | type[tree.Concatenation]) -> _Part:
        if len(parts) <= _CHAIN:
            found, height = parts[0]
            for part, part_height in parts[1:]:
                self.grown(height, part_height)
                found, height = node(found, part, at=found.at), self.height
            return found, height
        while len(parts) > 1:
            pairs = zip(parts[0:-1:2], parts[1::2], strict=True)
            rest = parts[-1:] if len(parts) % 2 else []
            parts = [
                (node(left, right, at=left.at), 1 + max(height, other)) for (left, height), (right, other) in pairs
            ]
            parts += rest
        self.grown(parts[0][1] - 1)
        return parts[0]

    def _negation(self) -> _Part:
        places = []
        while self.is_word("NOT"):
            places.append(self.at())
            self.advance()
        found = self._predicate()
        for at in reversed(places):
            found = tree.Not(found, at=at)
            self.grown(self.height)
        return found, self.height

    def _predicate(self) -> Expression:
        operand = self.value()
        height = self.height
        token = self.token
        if token.kind is Kind.SIGN and token.value in _COMPARISONS:
            self.advance()
            if token.value == "=" and self.is_sign("="):
                raise self.problem("Equality is written with one =.", self.at())
            right = self.value()
            self.grown(height, self.height)
            return tree.Comparison(token.value, operand, right, at=operand.at)
        if self.take_word("IS"):
            return self._is(operand, height)
        negated = self.is_word("NOT") and self.ahead().value in ("BETWEEN", "IN", "LIKE")
        if negated:
            self.advance()
        if self.take_word("BETWEEN"):
            low = self.value()
            low_height = self.height
            self.expect_word("AND")
            high = self.value()
            self.grown(height, low_height, self.height)
            return tree.Between(operand, low, high, negated, at=operand.at)
        if self.take_word("IN"):
            self.expect_sign("(")
            options = self._list(self.expression, ")")
            self.grown(height, self.height)
            return tree.In(operand, options, negated, at=operand.at)
        if self.take_word("LIKE"):
            pattern = self.value()
            self.grown(height, self.height)
            escape = None
            if self.take_word("ESCAPE"):
                at = self.at()
                escape = self.string("the escape character as a string")
                if len(escape) != 1:
                    raise self.problem(f"Expected exactly one escape character, found '{escape}'.", at)
            return tree.Like(operand, pattern, escape, negated, at=operand.at)
        return operand

    def _is(self, operand: Expression, height: int) -> Expression:
        negated = self.take_word("NOT")
        if self.take_word("DISTINCT"):
            self.expect_word("FROM")
            right = self.value()
            self.grown(height, self.height)
            operator = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
            return tree.Comparison(operator, operand, right, at=operand.at)
        if not self.take_word("NULL"):
            raise self.unexpected("NULL", "DISTINCT FROM")
        self.grown(height)
        return tree.IsNull(operand, negated, at=operand.at)

    # -- values --------------------------------------------------------------------------------------------------------

    def value(self) -> Expression:
        """An expression without AND, OR, NOT and predicates (those need parentheses here)."""
        joined: list[_Part] = []  # by ||, the loosest of the operators
        while True:
            operands, operators = [self._signed()], list[str]()
            while self.token.kind is Kind.SIGN and (tightness := _TIGHTNESS.get(self.token.value)) is not None:
                while operators and _TIGHTNESS[operators[-1]] >= tightness:
                    self._reduce(operands, operators)
                operators.append(self.advance().value)
                operands.append(self._signed())
            while operators:
                self._reduce(operands, operators)
            joined += operands
            if not self.take_sign("||"):
                break
        found, self.height = self._joined(joined, tree.Concatenation)
        return found

    def _reduce(self, operands: list[_Part], operators: list[str]) -> None:
        right, right_height = operands.pop()
        left, left_height = operands.pop()
        self.grown(left_height, right_height)
        operands.append((tree.Arithmetic(operators.pop(), left, right, at=left.at), self.height))

    def _signed(self) -> _Part:
        signs: list[Position] = []
        while self.token.kind is Kind.SIGN and self.token.value in "+-":
            if self.token.value == "-":
                if self.ahead().kind in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT):
                    break  # a negative number is one literal: -2147483648 is an INTEGER
                signs.append(self.at())
            self.advance()
        found = self._postfixed()
        while self.is_word("AT", "TIME"):
            self.advance()
            self.advance()
            self.expect_word("ZONE")
            at = self.at()
            zone = tree.Literal(self.string("the time zone as a string"), at=at)
            found = tree.AtTimeZone(found, zone, at=found.at)
            self.grown(self.height, 1)
        for at in reversed(signs):
            found = tree.Negative(found, at=at)
            self.grown(self.height)
        return found, self.height

    def _postfixed(self) -> Expression:
        found = self._primary()
        while True:
            height = self.height
            if self.is_sign("["):
                self.advance()
                self.deeper()
                index = self.value()
                self.shallower()
                self.expect_sign("]")
                found = tree.Subscript(found, index, at=found.at)
                self.grown(height, self.height)
            elif self.is_sign("->") and self.ahead().text != "*":
                self.advance()
                found = tree.Dereference(found, self.name("a field's name"), at=found.at)
                self.grown(height)
            else:
                return found

    # -- what stands alone ---------------------------------------------------------------------------------------------

    def _primary(self) -> Expression:
        at, token = self.at(), self.token
        self.height = 1
        match token.kind:
            case Kind.STRING:
                return tree.Literal(self.advance().value, at=at)
            case Kind.INTEGER | Kind.DECIMAL | Kind.FLOAT:
                return self._number(at)
            case Kind.SIGN if token.value == "-":
                return self._number(at)
            case Kind.SIGN if token.value == "(":
                self.advance()
                found = self.expression()
                self.expect_sign(")")
                return found
            case Kind.QUOTED:
                return self._named(at)
            case Kind.WORD:
                return self._keyword(at) or self._named(at)
        raise self.unexpected("an expression")

    def _number(self, at: Position) -> Expression:
        sign = "-" if self.take_sign("-") else ""
        token = self.advance()
        text = sign + token.text
        if token.kind is Kind.INTEGER:
            return tree.Literal(self.integer(text, at), at=at)
        if token.kind is Kind.DECIMAL:
            return tree.Literal(Decimal(text), at=at)
        value = float(text)
        if math.isinf(value):
            raise self.problem(f"Number overflows DOUBLE: {text[:40]}.", at)
        return tree.Literal(value, at=at)

    def _keyword(self, at: Position) -> Expression | None:
        """The expressions that begin with a word of their own; None: it is a name."""
        following = self.ahead().text
        match self.token.value:
            case "NULL":
                self.advance()
                return tree.Null(at=at)
            case "TRUE" | "FALSE":
                return tree.Literal(self.advance().value == "TRUE", at=at)
            case "CASE":
                return self._case(at)
            case "CAST":
                return self._cast(at)
            case "SELECT":
                raise self.problem("A subquery can stand in FROM only.", at)
            case "ARRAY" if following == "[":
                self.advance()
                self.advance()
                items = self._list(self.expression, "]", may_be_empty=True)
                self.grown(self.height)
                return tree.ArrayOf(items, at=at)
            case "MAP" if following == "(":
                self.advance()
                self.advance()
                entries = self._list(self._entry, ")", may_be_empty=True)
                self.grown(self.height)
                return tree.MapOf(entries, at=at)
            case "STRUCT" if following == "(":
                self.advance()
                self.advance()
                fields = self._list(self._field, ")", may_be_empty=True)
                self.grown(self.height)
                return tree.StructOf(fields, at=at)
            case "DATE" | "TIME" | "TIMESTAMP" if self.ahead().kind is Kind.STRING:
                type_name = self.advance().value
                return tree.TypedLiteral(_TYPED[type_name], self.advance().value, at=at)
        return None

    def _named(self, at: Position) -> Expression:
        """A column, `source.column`, or a call."""
        name = self.name("an expression")
        if self.is_sign("("):
            return self._call(name, at)
        if self.is_sign(".") and self.ahead().text != "*":
            self.advance()
            return tree.Name(self.name("a column's name"), name, at=at)
        if self.token.kind is Kind.STRING and self.tokens[self.index - 1].kind is Kind.WORD:
            raise self.problem(f"Unknown type constructor '{name}': there are DATE, TIME and TIMESTAMP.", at)
        return tree.Name(name, at=at)

    def _call(self, name: str, at: Position) -> Expression:
        self.advance()
        if self.is_sign("*"):
            star = tree.Star(at=self.at())
            self.advance()
            self.expect_sign(")")
            self.grown(1)
            return tree.Call(name.upper(), (star,), at=at)
        if self.is_word("DISTINCT"):
            raise self.problem("DISTINCT cannot stand in a call; there is COUNT_DISTINCT(x).", self.at())
        unit: tuple[Expression, ...] = ()
        if name.upper() in UNIT_FUNCTIONS and self.token.value in MILLISECONDS and self.ahead().text == ",":
            unit = (tree.Literal(self.token.value, at=self.at()),)
            self.advance()
            self.advance()
        arguments = self._list(self._argument, ")", may_be_empty=not unit)
        self.grown(self.height)
        return tree.Call(name.upper(), unit + arguments, at=at)

    def _argument(self) -> Expression:
        at = self.at()
        if self.is_name() and self.ahead().text == "=>":
            parameters = [self.advance().value]
        elif self.is_sign("(") and self._is_parameter_list():
            self.advance()
            parameters = list(self._list(lambda: self.name("a lambda's parameter"), ")"))
        else:
            return self.expression()
        if len(set(parameters)) < len(parameters):
            raise self.problem(f"A lambda's parameters must differ: {', '.join(parameters)}.", at)
        self.expect_sign("=>")
        body = self.expression()
        self.grown(self.height)
        return tree.Lambda(tuple(parameters), body, at=at)

    def _is_parameter_list(self) -> bool:
        """Whether `(a, b) =>` follows; looks at names and commas only, so that it ends at anything else."""
        count = 1
        while self.ahead(count).kind in (Kind.WORD, Kind.QUOTED) and self.ahead(count + 1).text == ",":
            count += 2
        return self.ahead(count + 1).text == ")" and self.ahead(count + 2).text == "=>"

    def _case(self, at: Position) -> Expression:
        self.advance()
        heights = []
        operand = None
        if not self.is_word("WHEN"):
            self.deeper()
            operand = self.value()
            self.shallower()
            heights.append(self.height)
        whens = []
        while self.is_word("WHEN"):
            when_at = self.at()
            self.advance()
            condition = self.expression()
            heights.append(self.height)
            self.expect_word("THEN")
            result = self.expression()
            heights.append(self.height)
            whens.append(tree.When(condition, result, at=when_at))
        if not whens:
            raise self.unexpected("WHEN")
        default = None
        if self.take_word("ELSE"):
            default = self.expression()
            heights.append(self.height)
        if not self.take_word("END"):
            raise self.unexpected(*(("WHEN", "ELSE", "END") if default is None else ("END",)))
        self.grown(*heights)
        return tree.Case(operand, tuple(whens), default, at=at)

    def _cast(self, at: Position) -> Expression:
        self.advance()
        self.expect_sign("(")
        operand = self.expression()
        self.grown(self.height)
        self.expect_word("AS")
        to = self.type()
        self.expect_sign(")")
        return tree.Cast(operand, to, at=at)

    def _entry(self) -> tuple[Expression, Expression]:
        key = self.expression()
        height = self.height
        self.expect_sign(":=")
        value = self.expression()
        self.height = max(height, self.height)
        return key, value

    def _field(self) -> tuple[str, Expression]:
        name = self.name("a field's name")
        self.expect_sign(":=")
        return name, self.expression()

    def _list(self, one: Callable[[], _T], closing: str, *, may_be_empty: bool = False) -> tuple[_T, ...]:
        """Parts with commas between them up to the closing sign. `height` is then that of the highest part."""
        if may_be_empty and self.take_sign(closing):
            self.height = 0
            return ()
        found, height = [one()], self.height
        while self.take_sign(","):
            found.append(one())
            height = max(height, self.height)
        self.expect_sign(closing, ",")
        self.height = height
        return tuple(found)
