"""What an expression is: `typed` resolves names, functions and implicit casts, `type_of` gives the type alone.

The rules are ksqlDB's: `SqlDecimal`'s precisions, integers that divide to integers, comparisons between numbers of any
kind and between times and the texts that look like them, lists coerced to a common type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal as Number
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError, NotSupported, Position, suggestion
from caudal.ksql.expressions import typed
from caudal.ksql.expressions.casts import timestamp_of_date
from caudal.ksql.expressions.coercion import (
    NUMBERS,
    TIMES,
    cast,
    common_type,
    convert,
    decimal_type,
    is_number,
)
from caudal.ksql.expressions.operators import decimal_of_double, negate_decimal
from caudal.ksql.expressions.scope import Scope, similar
from caudal.ksql.expressions.timetext import parse_date, parse_time, parse_timestamp
from caudal.ksql.expressions.typed import Typed
from caudal.ksql.functions import resolution
from caudal.ksql.functions.signatures import Argument, IntervalUnit, LambdaArgument, LambdaType, as_decimal
from caudal.ksql.schema import ROWTIME, WINDOW_COLUMNS
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.format import format_expression as shown
from caudal.ksql.types import Array, Base, Decimal, Map, SqlType, Struct

# Words that stand for themselves as an argument: TIMESTAMPADD(DAYS, 1, t). A column of that name comes first.
UNITS = frozenset(
    f"{unit}{ending}"
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
    for ending in ("", "S")
)
_EQUALITY = frozenset({"=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PARSERS: dict[Base, Callable[[str], Any]] = {
    Base.DATE: parse_date,
    Base.TIME: parse_time,
    Base.TIMESTAMP: parse_timestamp,
}


def type_of(expression: tree.Expression, scope: Scope) -> SqlType | None:
    """The type of an expression, None for NULL; what is wrong with it is a KsqlError with the place."""
    return resolve(expression, scope).type


def resolve(expression: tree.Expression, scope: Scope) -> Typed:
    """The expression with everything resolved."""
    try:
        return _Typer(scope).of(expression)
    except RecursionError:
        raise KsqlError("The expression is nested too deeply.", expression.at) from None


class _Typer:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.parameters: dict[str, typed.LambdaParameter] = {}
        self.slots = 0

    def of(self, node: tree.Expression) -> Typed:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotSupported(f"{type(node).__name__} is not allowed in an expression.", node.at)
        return handler(self, node)

    def boolean(self, node: tree.Expression, what: str) -> Typed:
        found = self.of(node)
        if found.type is None:
            return typed.Constant(types.BOOLEAN, None)
        if found.type != types.BOOLEAN:
            raise KsqlError(f"{what} must be a BOOLEAN, but {shown(node)} is {found.type}.", node.at)
        return found

    # -- leaves --

    def null(self, node: tree.Null) -> Typed:
        return typed.Constant(None, None)

    def literal(self, node: tree.Literal) -> Typed:
        value = node.value
        if isinstance(value, bool):
            return typed.Constant(types.BOOLEAN, value)
        if isinstance(value, int):
            if -(2**31) <= value < 2**31:
                return typed.Constant(types.INTEGER, value)
            if -(2**63) <= value < 2**63:
                return typed.Constant(types.BIGINT, value)
            raise KsqlError(f"Invalid numeric literal: {value} is out of the range of BIGINT.", node.at)
        if isinstance(value, float):
            return typed.Constant(types.DOUBLE, value)
        if isinstance(value, Number):
            exponent = value.as_tuple().exponent
            if isinstance(exponent, int) and exponent > 0:
                value = Number(int(value))
            return typed.Constant(decimal_type(value), value)
        return typed.Constant(types.STRING, value)

    def typed_literal(self, node: tree.TypedLiteral) -> Typed:
        return cast_literal(node.text, node.type, node.at)

    def name(self, node: tree.Name) -> Typed:
        if node.source is None and node.name in self.parameters:
            return self.parameters[node.name]
        binding = self.scope.resolve(node)
        return typed.Column(binding.type, binding)

    # -- operators --

    def arithmetic(self, node: tree.Arithmetic) -> Typed:
        left, right = self.of(node.left), self.of(node.right)
        if left.type is None and right.type is None:
            raise KsqlError(f"{shown(node)} has no type: both sides are NULL.", node.at)
        a, b = left.type or right.type, right.type or left.type
        assert a is not None and b is not None
        if a == b == types.STRING and node.operator == "+":
            return typed.Arithmetic(types.STRING, "+", convert(left, a), convert(right, b))
        if not (is_number(a) and is_number(b)):
            raise KsqlError(
                f"Error processing expression: {shown(node)}. Unsupported arithmetic types. {a} {b}",
                node.at,
            )
        if Base.DOUBLE in (a.base, b.base):
            result: SqlType = types.DOUBLE
        elif Base.DECIMAL in (a.base, b.base):
            of_left, of_right = as_decimal(a), as_decimal(b)
            assert of_left is not None and of_right is not None
            result = decimal_result(node.operator, of_left, of_right)
            left, right = convert(left, of_left), convert(right, of_right)
            return typed.Arithmetic(result, node.operator, left, right)
        else:
            result = types.BIGINT if Base.BIGINT in (a.base, b.base) else types.INTEGER
        return typed.Arithmetic(result, node.operator, convert(left, result), convert(right, result))

    def negative(self, node: tree.Negative) -> Typed:
        operand = self.of(node.operand)
        if operand.type is None:
            return operand
        if not is_number(operand.type):
            raise KsqlError(f"'-' needs a number, but {shown(node.operand)} is {operand.type}.", node.at)
        if isinstance(operand, typed.Constant) and operand.value is not None and operand.value != -(2**63):
            value = negate_decimal(operand.value) if isinstance(operand.value, Number) else -operand.value
            return typed.Constant(operand.type, value)
        return typed.Negative(operand.type, operand)

    def concatenation(self, node: tree.Concatenation) -> Typed:
        left, right = self.of(node.left), self.of(node.right)
        result = left.type or right.type or types.STRING
        for side, part in ((node.left, left), (node.right, right)):
            if part.type not in (None, result) or result.base not in (Base.STRING, Base.BYTES):
                raise KsqlError(
                    f"'||' needs two STRINGs or two BYTES, but {shown(side)} is {part.type}: use CAST.",
                    node.at,
                )
        items: list[Typed] = []
        for part in (left, right):
            items += part.items if isinstance(part, typed.Joined) else [convert(part, result)]
        return typed.Joined(result, tuple(items))

    def comparison(self, node: tree.Comparison) -> Typed:
        return self.compared(node.operator, self.of(node.left), self.of(node.right), node, node.left, node.right)

    def compared(
        self,
        operator: str,
        left: Typed,
        right: Typed,
        node: tree.Expression,
        left_node: tree.Expression,
        right_node: tree.Expression,
    ) -> Typed:
        left, right = self.moment_of(left, left_node, right_node), self.moment_of(right, right_node, left_node)
        a, b = left.type, right.type
        if a is None or b is None:
            if operator.startswith("IS"):
                known = a or b or types.STRING
                return typed.Comparison(types.BOOLEAN, operator, convert(left, known), convert(right, known))
            raise KsqlError(
                f"Comparison with NULL not supported: {a or 'NULL'} {operator} {b or 'NULL'}. "
                "Use 'IS NULL' or 'IS NOT NULL' instead.",
                node.at,
            )
        if not _comparable(a, operator, b):
            raise KsqlError(
                f"Cannot compare {shown(left_node)} ({a}) to {shown(right_node)} ({b}) with {operator}.",
                node.at,
            )
        doubles = Base.DOUBLE in (a.base, b.base)
        if Base.DECIMAL in (a.base, b.base) and doubles:
            left, right, doubles = self.decimal_of(left), self.decimal_of(right), False
        elif a.base in TIMES or b.base in TIMES:
            bases = {a.base, b.base}
            target = next(base for base in (Base.TIME, Base.TIMESTAMP, Base.DATE) if base in bases)
            left, right = self.time_of(left, target, left_node), self.time_of(right, target, right_node)
        return typed.Comparison(types.BOOLEAN, operator, left, right, doubles)

    @staticmethod
    def moment_of(item: Typed, node: tree.Expression, other: tree.Expression) -> Typed:
        """A text beside ROWTIME or a window's bound is a moment: WHERE ROWTIME >= '2026-02-03T10:00'."""
        if not isinstance(other, tree.Name) or other.name not in (ROWTIME, *WINDOW_COLUMNS):
            return item
        if not isinstance(item, typed.Constant) or not isinstance(item.value, str):
            return item
        try:
            moment = parse_timestamp(item.value)
        except ValueError as error:
            raise KsqlError(str(error), node.at) from error
        return typed.Constant(types.BIGINT, (moment - _EPOCH) // timedelta(milliseconds=1))

    @staticmethod
    def decimal_of(item: Typed) -> Typed:
        return typed.Applied(item.type, item, decimal_of_double) if item.type == types.DOUBLE else item

    @staticmethod
    def time_of(item: Typed, target: Base, node: tree.Expression) -> Typed:
        assert item.type is not None
        if item.type.base is target:
            return item
        if item.type.base is Base.STRING:
            if isinstance(item, typed.Constant) and item.value is not None:
                return cast_literal(item.value, SqlType(target), node.at)
            return typed.Applied(SqlType(target), item, _PARSERS[target])
        return typed.Applied(SqlType(target), item, timestamp_of_date)

    def logical(self, node: tree.And | tree.Or) -> Typed:
        word = "AND" if isinstance(node, tree.And) else "OR"
        left, right = (
            self.boolean(node.left, f"An operand of {word}"),
            self.boolean(node.right, f"An operand of {word}"),
        )
        return typed.Logical(types.BOOLEAN, word, left, right)

    def negation(self, node: tree.Not) -> Typed:
        return typed.Not(types.BOOLEAN, self.boolean(node.operand, "The operand of NOT"))

    def is_null(self, node: tree.IsNull) -> Typed:
        return typed.IsNull(types.BOOLEAN, self.of(node.operand), node.negated)

    def between(self, node: tree.Between) -> Typed:
        operand = self.of(node.operand)
        low = self.compared(">=", operand, self.of(node.low), node, node.operand, node.low)
        high = self.compared("<=", operand, self.of(node.high), node, node.operand, node.high)
        return self.negated(typed.Logical(types.BOOLEAN, "AND", low, high), node.negated)

    def contained(self, node: tree.In) -> Typed:
        operand = self.of(node.operand)
        options = [self.of(one) for one in node.options]
        common = common_type([operand, *options], node.at)
        if common is None:
            raise KsqlError("Comparison with NULL not supported: use 'IS NULL' instead of IN.", node.at)
        items = [convert(one, common, node.at) for one in (operand, *options)]
        return self.negated(typed.OneOf(types.BOOLEAN, items[0], tuple(items[1:])), node.negated)

    def like(self, node: tree.Like) -> Typed:
        operand, pattern = self.of(node.operand), self.of(node.pattern)
        for side, part in ((node.operand, operand), (node.pattern, pattern)):
            if part.type not in (None, types.STRING):
                raise KsqlError(f"LIKE needs STRINGs, but {shown(side)} is {part.type}.", node.at)
        if node.escape is not None and len(node.escape) != 1:
            raise KsqlError("Only single character escape is supported, but ESCAPE has another length.", node.at)
        found = typed.Like(types.BOOLEAN, convert(operand, types.STRING), convert(pattern, types.STRING), node.escape)
        return self.negated(found, node.negated)

    @staticmethod
    def negated(found: Typed, negated: bool) -> Typed:
        return typed.Not(types.BOOLEAN, found) if negated else found

    # -- forms --

    def case(self, node: tree.Case) -> Typed:
        operand = None if node.operand is None else self.of(node.operand)
        conditions: list[Typed] = []
        for when in node.whens:
            if operand is None or node.operand is None:
                conditions.append(self.boolean(when.condition, "The condition of WHEN"))
            else:
                against = self.of(when.condition)
                conditions.append(self.compared("=", operand, against, when, node.operand, when.condition))
        results = [self.of(when.result) for when in node.whens]
        default = None if node.default is None else self.of(node.default)
        try:
            common = common_type(results if default is None else [*results, default], node.at)
        except KsqlError as error:
            raise KsqlError(f"Invalid Case expression. {error.message}", error.at) from error
        if common is None:
            raise KsqlError("Invalid Case expression. All case branches have NULL type.", node.at)
        whens = [
            (condition, convert(result, common, node.at)) for condition, result in zip(conditions, results, strict=True)
        ]
        return typed.Case(common, tuple(whens), None if default is None else convert(default, common, node.at))

    def cast(self, node: tree.Cast) -> Typed:
        target = node.type
        if isinstance(target, tree.TypeName):
            known = self.scope.type_named(target.text)
            if known is None:
                raise KsqlError(
                    f"Cannot resolve unknown type: {target.text}.{suggestion(target.text, self.scope.types)}", node.at
                )
            target = known
        return cast(self.of(node.operand), target, node.at)

    def subscript(self, node: tree.Subscript) -> Typed:
        operand, index = self.of(node.operand), self.of(node.index)
        if isinstance(operand.type, Array):
            if index.type not in (None, types.INTEGER, types.BIGINT):
                raise KsqlError(
                    f"An array's index must be an INTEGER, but {shown(node.index)} is {index.type}.",
                    node.at,
                )
            return typed.Element(operand.type.element, operand, convert(index, index.type or types.INTEGER))
        if isinstance(operand.type, Map):
            try:
                return typed.Entry(operand.type.value, operand, convert(index, operand.type.key, node.at))
            except KsqlError:
                raise KsqlError(
                    f"A key of {operand.type} must be {operand.type.key}, but {shown(node.index)} is {index.type}.",
                    node.at,
                ) from None
        hint = " Use the dereference operator for STRUCTS: '->'." if isinstance(operand.type, Struct) else ""
        raise KsqlError(
            f"Subscript expression ({shown(node)}) do not apply to {operand.type or 'NULL'}.{hint}", node.at
        )

    def dereference(self, node: tree.Dereference) -> Typed:
        operand = self.of(node.operand)
        if not isinstance(operand.type, Struct):
            raise KsqlError(f"'->' needs a STRUCT, but {shown(node.operand)} is {operand.type or 'NULL'}.", node.at)
        field = operand.type.field(node.field)
        if field is None:
            near = similar(node.field, [one.name for one in operand.type.fields])
            raise KsqlError(f"Could not find field '{node.field}' in '{shown(node.operand)}'.{near}", node.at)
        return typed.FieldOf(field.type, operand, field.name)

    def array(self, node: tree.ArrayOf) -> Typed:
        items = [self.of(one) for one in node.items]
        common = common_type(items, node.at)
        if common is None:
            what = (
                "Array constructor cannot be empty" if not items else "Cannot construct an array with all NULL elements"
            )
            raise KsqlError(f"{what}: its type would not be known. CAST one element to say which it is.", node.at)
        return typed.ArrayOf(types.array(common), tuple(convert(one, common, node.at) for one in items))

    def map(self, node: tree.MapOf) -> Typed:
        keys = [self.of(key) for key, _ in node.entries]
        values = [self.of(value) for _, value in node.entries]
        of_key, of_value = common_type(keys, node.at), common_type(values, node.at)
        if of_key is None or of_value is None:
            what = (
                "Map constructor cannot be empty" if not keys else "Cannot construct a map with all NULL keys or values"
            )
            raise KsqlError(f"{what}: its type would not be known. CAST one of them to say which it is.", node.at)
        entries = [
            (convert(key, of_key, node.at), convert(value, of_value, node.at))
            for key, value in zip(keys, values, strict=True)
        ]
        return typed.MapOf(types.mapping(of_key, of_value), tuple(entries))

    def struct(self, node: tree.StructOf) -> Typed:
        fields: list[tuple[str, Typed]] = []
        kinds: list[tuple[str, SqlType]] = []
        for name, value in node.fields:
            if any(name == known for known, _ in fields):
                raise KsqlError(f"Duplicate field name '{name}' in STRUCT.", value.at)
            found = self.of(value)
            if found.type is None:
                raise KsqlError(f"The type of field '{name}' is not known because of NULL: use CAST.", value.at)
            fields.append((name, found))
            kinds.append((name, found.type))
        return typed.StructOf(types.struct(*kinds), tuple(fields))

    def zone(self, node: tree.AtTimeZone) -> Typed:
        raise NotSupported("AT TIME ZONE is not supported: use CONVERT_TZ(timestamp, from, to).", node.at)

    # -- functions --

    def call(self, node: tree.Call) -> Typed:
        if not resolution.is_scalar(node.name):
            if resolution.is_aggregate(node.name):
                raise KsqlError(f"Aggregate function {node.name} is not allowed here.", node.at)
            if resolution.is_table_function(node.name):
                raise KsqlError(f"Table function {node.name} is not allowed here.", node.at)
        arguments, kinds = self.arguments(node)
        function, result, parameters = resolution.scalar(node.name, kinds, node.at)
        converted = self.converted(node, arguments, parameters)
        if function.check is not None:
            try:
                function.check([one.value if isinstance(one, typed.Constant) else None for one in converted])
            except ValueError as error:
                raise KsqlError(f"Function '{node.name}' cannot be used like this: {error}", node.at) from None
        return typed.Invocation(result, function, tuple(converted))

    def arguments(self, node: tree.Call) -> tuple[list[Typed | None], list[Argument]]:
        """Each argument with its type; lambdas wait until their parameters have types."""
        arguments: list[Typed | None] = []
        kinds: list[Argument] = []
        units = resolution.takes_unit(node.name)
        for one in node.arguments:
            if isinstance(one, tree.Lambda):
                arguments.append(None)
                kinds.append(LambdaArgument(len(one.parameters), self.body_type(one)))
                continue
            unit = self.unit(one) if units else None
            found = unit or self.of(one)
            arguments.append(found)
            kinds.append(found.type if unit is None else IntervalUnit())
        return arguments, kinds

    def unit(self, node: tree.Expression) -> Typed | None:
        """A word, which the parser gives as a literal where it knows the function, else as a name."""
        if isinstance(node, tree.Literal) and isinstance(node.value, str) and node.value.upper() in UNITS:
            return typed.Constant(types.STRING, node.value.upper())
        if not isinstance(node, tree.Name) or node.source is not None or node.name not in UNITS:
            return None
        if node.name in self.parameters or self.scope.has(node.name):
            return None
        return typed.Constant(types.STRING, node.name)

    def converted(
        self, node: tree.Call, arguments: Sequence[Typed | None], parameters: Sequence[SqlType | LambdaType | None]
    ) -> list[Typed]:
        converted: list[Typed] = []
        for one, argument, parameter in zip(node.arguments, arguments, parameters, strict=True):
            if isinstance(one, tree.Lambda):
                assert isinstance(parameter, LambdaType)
                converted.append(self.lambda_of(one, parameter.parameters, parameter.result))
            else:
                assert argument is not None and not isinstance(parameter, LambdaType)
                converted.append(argument if parameter is None else convert(argument, parameter, one.at))
        return converted

    def body_type(self, node: tree.Lambda) -> Callable[[Sequence[SqlType]], SqlType | None]:
        def of(parameters: Sequence[SqlType]) -> SqlType | None:
            return self.lambda_of(node, parameters, None).body.type

        return of

    def lambda_of(self, node: tree.Lambda, parameters: Sequence[SqlType], result: SqlType | None) -> typed.Lambda:
        if len(set(node.parameters)) != len(node.parameters):
            raise KsqlError("Duplicate parameter in a lambda.", node.at)
        outer = self.parameters
        slots: list[int] = []
        self.parameters = dict(outer)
        for name, kind in zip(node.parameters, parameters, strict=True):
            slots.append(self.slots)
            self.parameters[name] = typed.LambdaParameter(kind, self.slots)
            self.slots += 1
        try:
            body = self.of(node.body)
        finally:
            self.parameters = outer
        if result is not None:
            body = convert(body, result, node.at)
        return typed.Lambda(body.type, tuple(slots), body)

    def stray_lambda(self, node: tree.Lambda) -> Typed:
        raise KsqlError("A lambda can only be an argument of a function.", node.at)


def cast_literal(text: str, target: SqlType, at: Position | None) -> Typed:
    """A text that must be a time."""
    try:
        return typed.Constant(target, _PARSERS[target.base](text))
    except ValueError as error:
        raise KsqlError(str(error), at) from error


def decimal_result(operator: str, left: Decimal, right: Decimal) -> Decimal:
    """
    >>> str(decimal_result("/", types.decimal(4, 2), types.decimal(4, 2)))
    'DECIMAL(11, 7)'
    """
    whole_left, whole_right = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    if operator in "+-":
        return types.decimal(max(whole_left, whole_right) + scale + 1, scale)
    if operator == "*":
        return types.decimal(left.precision + right.precision + 1, left.scale + right.scale)
    if operator == "/":
        scale = max(6, left.scale + right.precision + 1)
        return types.decimal(whole_left + right.scale + scale, scale)
    return types.decimal(min(whole_left, whole_right) + scale, scale)


def _comparable(left: SqlType, operator: str, right: SqlType) -> bool:
    if left.base in NUMBERS:
        return right.base in NUMBERS
    if left.base is Base.STRING:
        return right.base is Base.STRING or right.base in TIMES
    if left.base is Base.TIME:
        return right.base in (Base.TIME, Base.STRING)
    if left.base in (Base.DATE, Base.TIMESTAMP):
        return right.base in (Base.DATE, Base.TIMESTAMP, Base.STRING)
    if left.base is Base.BYTES:
        return right.base is Base.BYTES
    return left.base is right.base and operator in _EQUALITY


_HANDLERS: dict[type[tree.Expression], Callable[[_Typer, Any], Typed]] = {
    tree.Null: _Typer.null,
    tree.Literal: _Typer.literal,
    tree.TypedLiteral: _Typer.typed_literal,
    tree.Name: _Typer.name,
    tree.Arithmetic: _Typer.arithmetic,
    tree.Negative: _Typer.negative,
    tree.Concatenation: _Typer.concatenation,
    tree.Comparison: _Typer.comparison,
    tree.And: _Typer.logical,
    tree.Or: _Typer.logical,
    tree.Not: _Typer.negation,
    tree.IsNull: _Typer.is_null,
    tree.Between: _Typer.between,
    tree.In: _Typer.contained,
    tree.Like: _Typer.like,
    tree.Case: _Typer.case,
    tree.Cast: _Typer.cast,
    tree.Call: _Typer.call,
    tree.Subscript: _Typer.subscript,
    tree.Dereference: _Typer.dereference,
    tree.ArrayOf: _Typer.array,
    tree.MapOf: _Typer.map,
    tree.StructOf: _Typer.struct,
    tree.Lambda: _Typer.stray_lambda,
    tree.AtTimeZone: _Typer.zone,
}
