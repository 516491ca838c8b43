"""Signatures of functions as data, and which one fits the types of given arguments.

The texts are those of `registry.py`: `(items ARRAY<T>, test (T) => BOOLEAN) -> ARRAY<T>`. A signature fits exactly, or
with implicit casts (INTEGER → BIGINT → DECIMAL → DOUBLE, element-wise in arrays and maps), or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from caudal.ksql import types
from caudal.ksql.types import Array, Base, Decimal, Map, SqlType, Struct


@dataclass(frozen=True, slots=True)
class Generic:
    """A letter that stands for any type."""

    letter: str

    def __str__(self) -> str:
        return self.letter


@dataclass(frozen=True, slots=True)
class AnyDecimal:
    def __str__(self) -> str:
        return "DECIMAL"


@dataclass(frozen=True, slots=True)
class IntervalUnit:
    """A word such as DAYS, as an argument and as a parameter; it reaches the function as a text."""

    def __str__(self) -> str:
        return "INTERVALUNIT"


@dataclass(frozen=True, slots=True)
class ArrayPattern:
    element: Pattern

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapPattern:
    key: Pattern
    value: Pattern

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructPattern:
    fields: tuple[tuple[str, Pattern], ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{types.quoted(name)} {of}' for name, of in self.fields)}>"


@dataclass(frozen=True, slots=True)
class LambdaPattern:
    parameters: tuple[Pattern, ...]
    result: Pattern

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


Pattern = SqlType | Generic | AnyDecimal | IntervalUnit | ArrayPattern | MapPattern | StructPattern | LambdaPattern


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: Pattern
    variadic: bool = False

    def __str__(self) -> str:
        return f"{self.type}{'...' if self.variadic else ''} {self.name}".strip()

    @property
    def is_initial(self) -> bool:
        """Of an aggregate: it must be a literal, and is known before the first row."""
        return self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Parameter, ...]
    result: Pattern

    @property
    def is_variadic(self) -> bool:
        return any(one.variadic for one in self.parameters)

    def shown(self, name: str) -> str:
        return f"{name}({', '.join(str(one) for one in self.parameters)})"

    def aligned(self, count: int) -> tuple[Parameter, ...] | None:
        """A parameter for each of so many arguments; the variadic one, wherever it stands, takes what is left over."""
        at = next((index for index, one in enumerate(self.parameters) if one.variadic), None)
        if at is None:
            return self.parameters if count == len(self.parameters) else None
        rest = count - (len(self.parameters) - 1)
        if rest < 0:
            return None
        return self.parameters[:at] + (self.parameters[at],) * rest + self.parameters[at + 1 :]


@dataclass(frozen=True, slots=True)
class LambdaArgument:
    """A lambda among the arguments of a call: how many parameters it has, and its body's type once theirs are known."""

    arity: int
    body: Callable[[Sequence[SqlType]], SqlType | None] = field(compare=False)

    def __str__(self) -> str:
        return "LAMBDA"


@dataclass(frozen=True, slots=True)
class LambdaType:
    """What a lambda was found to be."""

    parameters: tuple[SqlType, ...]
    result: SqlType | None


Argument = SqlType | LambdaArgument | IntervalUnit | None  # None: a NULL literal
Resolved = SqlType | LambdaType | None


@dataclass(frozen=True, slots=True)
class Match:
    parameters: tuple[Resolved, ...]  # one per argument; None where only NULL was given
    result: SqlType | None  # None: it depends on an argument that is NULL
    cost: int  # 0: exact


# -- reading -----------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(->|=>|\.\.\.|[A-Za-z_][A-Za-z_0-9]*|`(?:[^`]|``)*`|\d+|[()<>,])")


@lru_cache(maxsize=2048)
def parse(text: str) -> Signature:
    """
    >>> print(parse("(m MAP<K, V>, f (K, V) => U) -> ARRAY<U>").shown("F"))
    F(MAP<K, V> m, LAMBDA (K, V) => U f)
    """
    return _Reader(text).signature()


@lru_cache(maxsize=512)
def parse_pattern(text: str) -> Pattern:
    reader = _Reader(text)
    found = reader.pattern()
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            token = _TOKEN.match(stripped, at)
            if token is None:
                raise self.error(f"unexpected '{stripped[at:].strip()[:1]}'")
            self.tokens.append(token[1])
            at = token.end()
        self.at = 0

    def error(self, what: str) -> ValueError:
        return ValueError(f"Bad signature '{self.text}': {what}.")

    def peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise self.error(f"expected {expected or 'more'!r} and found {token or 'the end'!r}")
        self.at += 1
        return token

    def end(self) -> None:
        if self.peek():
            raise self.error(f"'{self.peek()}' is left over")

    def signature(self) -> Signature:
        self.take("(")
        parameters: list[Parameter] = []
        while self.peek() != ")":
            if parameters:
                self.take(",")
            name = self.take()
            of = self.pattern()
            variadic = self.peek() == "..."
            if variadic:
                self.take()
            parameters.append(Parameter(name, of, variadic))
        self.take(")")
        self.take("->")
        result = self.pattern()
        self.end()
        if sum(one.variadic for one in parameters) > 1:
            raise self.error("only one parameter may be variadic")
        return Signature(tuple(parameters), result)

    def pattern(self) -> Pattern:
        if self.peek() == "(":
            return self.function()
        word = self.take()
        name = word.upper()
        if name in types.SIMPLE_TYPES:
            return types.SIMPLE_TYPES[name]
        if name == "DECIMAL":
            if self.peek() != "(":
                return AnyDecimal()
            self.take("(")
            precision = self.number()
            self.take(",")
            scale = self.number()
            self.take(")")
            return types.decimal(precision, scale)
        if name == "ARRAY":
            self.take("<")
            element = self.pattern()
            self.take(">")
            return types.array(element) if isinstance(element, SqlType) else ArrayPattern(element)
        if name == "MAP":
            self.take("<")
            key = self.pattern()
            self.take(",")
            value = self.pattern()
            self.take(">")
            if isinstance(key, SqlType) and isinstance(value, SqlType):
                return types.mapping(key, value)
            return MapPattern(key, value)
        if name == "STRUCT":
            return self.struct()
        if name == "INTERVALUNIT":
            return IntervalUnit()
        if len(word) == 1 and word.isupper():
            return Generic(word)
        raise self.error(f"'{word}' is no type")

    def number(self) -> int:
        token = self.take()
        if not token.isdigit():
            raise self.error(f"'{token}' is no number")
        return int(token)

    def struct(self) -> Pattern:
        self.take("<")
        fields: list[tuple[str, Pattern]] = []
        while self.peek() != ">":
            if fields:
                self.take(",")
            name = self.take()
            shown = name[1:-1].replace("``", "`") if name.startswith("`") else name.upper()
            fields.append((shown, self.pattern()))
        self.take(">")
        plain = [(name, of) for name, of in fields if isinstance(of, SqlType)]
        return types.struct(*plain) if len(plain) == len(fields) else StructPattern(tuple(fields))

    def function(self) -> Pattern:
        self.take("(")
        parameters: list[Pattern] = []
        while self.peek() != ")":
            if parameters:
                self.take(",")
            parameters.append(self.pattern())
        self.take(")")
        self.take("=>")
        return LambdaPattern(tuple(parameters), self.pattern())


# -- matching ----------------------------------------------------------------------------------------------------------

_RANK = {Base.INTEGER: 0, Base.BIGINT: 1, Base.DECIMAL: 2, Base.DOUBLE: 3}
DECIMAL_OF_INTEGER = types.decimal(10, 0)
DECIMAL_OF_BIGINT = types.decimal(19, 0)


def as_decimal(given: SqlType) -> Decimal | None:
    """The DECIMAL that holds every value of a numeric type; None for others and DOUBLE."""
    if isinstance(given, Decimal):
        return given
    if given.base is Base.INTEGER:
        return DECIMAL_OF_INTEGER
    if given.base is Base.BIGINT:
        return DECIMAL_OF_BIGINT
    return None


def widest(left: SqlType, right: SqlType) -> SqlType | None:
    """The type that both can be cast to without being told; None where there is none.

    >>> str(widest(types.INTEGER, types.decimal(4, 2)))
    'DECIMAL(12, 2)'
    """
    if left == right:
        return left
    if left.base in _RANK and right.base in _RANK:
        if Base.DOUBLE in (left.base, right.base):
            return types.DOUBLE
        if Base.DECIMAL in (left.base, right.base):
            a, b = as_decimal(left), as_decimal(right)
            assert a is not None and b is not None
            scale = max(a.scale, b.scale)
            return types.decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
        return types.BIGINT
    if isinstance(left, Array) and isinstance(right, Array):
        element = widest(left.element, right.element)
        return None if element is None else types.array(element)
    if isinstance(left, Map) and isinstance(right, Map):
        key, value = widest(left.key, right.key), widest(left.value, right.value)
        return None if key is None or value is None else types.mapping(key, value)
    if isinstance(left, Struct) and isinstance(right, Struct):
        fields: dict[str, SqlType] = {one.name: one.type for one in left.fields}
        for one in right.fields:
            common = widest(fields[one.name], one.type) if one.name in fields else one.type
            if common is None:
                return None
            fields[one.name] = common
        return types.struct(*fields.items())
    return None


def match(signature: Signature, arguments: Sequence[Argument]) -> Match | None:
    """How the arguments fit, or None. Lambdas last: their parameters' types come from the other arguments."""
    parameters = signature.aligned(len(arguments))
    if parameters is None:
        return None
    bound: dict[str, SqlType] = {}
    cost = 0
    for parameter, argument in zip(parameters, arguments, strict=True):
        if isinstance(argument, LambdaArgument) or isinstance(parameter.type, LambdaPattern):
            if not isinstance(argument, LambdaArgument) or not isinstance(parameter.type, LambdaPattern):
                return None
            if argument.arity != len(parameter.type.parameters):
                return None
        elif isinstance(argument, IntervalUnit) or isinstance(parameter.type, IntervalUnit):
            if argument != parameter.type:
                return None
        elif argument is not None:
            step = _fit(parameter.type, argument, bound)
            if step is None:
                return None
            cost += step
    resolved: list[Resolved] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if isinstance(argument, LambdaArgument):
            assert isinstance(parameter.type, LambdaPattern)
            found = _fit_lambda(parameter.type, argument, bound)
            if found is None:
                return None
            resolved.append(found)
        else:
            resolved.append(None)  # below: a lambda may yet make a generic wider
    for index, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        if isinstance(argument, IntervalUnit):
            resolved[index] = types.STRING
        elif not isinstance(argument, LambdaArgument):
            resolved[index] = _parameter_type(parameter.type, argument, bound)
    result = _result_type(signature, parameters, arguments, bound)
    return Match(tuple(resolved), result, cost)


def _fit(pattern: Pattern, given: SqlType, bound: dict[str, SqlType]) -> int | None:
    """The cost of making an argument a parameter: 0 as it is, None where it cannot be."""
    if isinstance(pattern, Generic):
        known = bound.get(pattern.letter)
        if known is None:
            bound[pattern.letter] = given
            return 0
        if known == given:
            return 0
        common = widest(known, given)
        if common is None:
            return None
        bound[pattern.letter] = common
        return 1
    if isinstance(pattern, AnyDecimal):
        if isinstance(given, Decimal):
            return 0
        return _RANK[Base.DECIMAL] - _RANK[given.base] if as_decimal(given) is not None else None
    if isinstance(pattern, ArrayPattern):
        return _fit(pattern.element, given.element, bound) if isinstance(given, Array) else None
    if isinstance(pattern, MapPattern):
        if not isinstance(given, Map):
            return None
        return _sum(_fit(pattern.key, given.key, bound), _fit(pattern.value, given.value, bound))
    if isinstance(pattern, StructPattern):
        if not isinstance(given, Struct) or len(given.fields) != len(pattern.fields):
            return None
        cost: int | None = 0
        for name, of in pattern.fields:
            one = given.field(name)
            cost = _sum(cost, None if one is None else _fit(of, one.type, bound))
        return cost
    if isinstance(pattern, LambdaPattern | IntervalUnit):
        return None
    if pattern == given:
        return 0
    return _widening(given, pattern)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _widening(given: SqlType, target: SqlType) -> int | None:
    if isinstance(given, Array) and isinstance(target, Array):
        return 0 if given == target else _widening(given.element, target.element)
    if isinstance(given, Map) and isinstance(target, Map):
        return _sum(
            0 if given.key == target.key else _widening(given.key, target.key),
            0 if given.value == target.value else _widening(given.value, target.value),
        )
    if given.base in _RANK and target.base in _RANK:
        if isinstance(target, Decimal):
            source = as_decimal(given)
            fits = (
                source is not None
                and source.scale <= target.scale
                and source.precision - source.scale <= target.precision - target.scale
            )
            return max(_RANK[target.base] - _RANK[given.base], 1) if fits else None
        return _RANK[target.base] - _RANK[given.base] if _RANK[given.base] < _RANK[target.base] else None
    return None


def can_widen(given: SqlType, target: SqlType) -> bool:
    """Whether a value of one type may stand where the other is expected, without a CAST."""
    return given == target or widest(given, target) == target or _widening(given, target) is not None


def _fit_lambda(pattern: LambdaPattern, argument: LambdaArgument, bound: dict[str, SqlType]) -> LambdaType | None:
    given: list[SqlType] = []
    for one in pattern.parameters:
        of = _substituted(one, bound)
        if of is None:
            return None
        given.append(of)
    body = argument.body(given)
    if body is not None and _fit(pattern.result, body, bound) is None:
        return None
    return LambdaType(tuple(given), _substituted(pattern.result, bound))


def _parameter_type(pattern: Pattern, argument: SqlType | None, bound: dict[str, SqlType]) -> SqlType | None:
    if isinstance(pattern, AnyDecimal):
        return None if argument is None else as_decimal(argument)
    return _substituted(pattern, bound) or argument


def _substituted(pattern: Pattern, bound: dict[str, SqlType]) -> SqlType | None:
    if isinstance(pattern, SqlType):
        return pattern
    if isinstance(pattern, Generic):
        return bound.get(pattern.letter)
    if isinstance(pattern, ArrayPattern):
        element = _substituted(pattern.element, bound)
        return None if element is None else types.array(element)
    if isinstance(pattern, MapPattern):
        key, value = _substituted(pattern.key, bound), _substituted(pattern.value, bound)
        return None if key is None or value is None else types.mapping(key, value)
    if isinstance(pattern, StructPattern):
        fields = [(name, _substituted(of, bound)) for name, of in pattern.fields]
        known = [(name, of) for name, of in fields if of is not None]
        return types.struct(*known) if len(known) == len(fields) else None
    return None


def _result_type(
    signature: Signature, parameters: Sequence[Parameter], arguments: Sequence[Argument], bound: dict[str, SqlType]
) -> SqlType | None:
    if isinstance(signature.result, AnyDecimal):
        # Of the same precision as the first decimal that was given, unless the function computes it.
        for parameter, argument in zip(parameters, arguments, strict=True):
            if isinstance(parameter.type, AnyDecimal) and isinstance(argument, SqlType):
                return as_decimal(argument)
        return None
    return _substituted(signature.result, bound)


def has_generics(pattern: Pattern) -> bool:
    if isinstance(pattern, ArrayPattern):
        return has_generics(pattern.element)
    if isinstance(pattern, MapPattern):
        return has_generics(pattern.key) or has_generics(pattern.value)
    if isinstance(pattern, StructPattern):
        return any(has_generics(of) for _, of in pattern.fields)
    if isinstance(pattern, LambdaPattern):
        return has_generics(pattern.result) or any(has_generics(of) for of in pattern.parameters)
    return isinstance(pattern, Generic)
