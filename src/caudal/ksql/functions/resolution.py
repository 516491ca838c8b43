"""Which function a call means: by name and the types of its arguments. And what there is, for SHOW and DESCRIBE.

The modules of this package fill the registry when the first name is asked for; users' own functions come from the
folder and the entry points that `origins.py` knows.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from caudal.ksql import functions as package
from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.functions import registry
from caudal.ksql.functions.registry import Aggregate, Scalar, TableFunction
from caudal.ksql.functions.signatures import (
    Argument,
    IntervalUnit,
    Match,
    Resolved,
    Signature,
    has_generics,
    match,
    parse,
)
from caudal.ksql.types import SqlType

_Definition = TypeVar("_Definition", Scalar, Aggregate, TableFunction)

# Other names of the same function.
ALIASES: dict[str, str] = {"STDDEV_SAMPLE": "STDDEV_SAMP"}

_loading = threading.RLock()
_begun: list[bool] = []  # by the thread that loads: a file that it loads asks for functions itself
_loaded: list[bool] = []


def load() -> None:
    """Everything that can be called is in the registry afterwards."""
    if _loaded:
        return
    with _loading:
        if _begun:
            return
        _begun.append(True)
        try:
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
        except BaseException:
            _begun.clear()
            raise
        from caudal.ksql.functions import origins

        origins.load_configured()
        _loaded.append(True)


# -- of a call ---------------------------------------------------------------------------------------------------------


def scalar(
    name: str, arguments: Sequence[Argument], at: Position | None = None
) -> tuple[Scalar, SqlType, tuple[Resolved, ...]]:
    """The function, the type of its result, and the type that each argument has to be cast to."""
    load()
    definition, _, found = _choose(name, _known(name, registry.SCALARS, at), arguments, at)
    return definition, _result(name, definition.returns, found, arguments, at), found.parameters


def aggregate(
    name: str, arguments: Sequence[Argument], at: Position | None = None
) -> tuple[Aggregate, SqlType, tuple[SqlType, ...]]:
    """The aggregate, the type of its result, and the type that each argument has to be cast to."""
    definition, _, parameters, result = aggregate_call(name, arguments, at)
    if result is None:
        try:
            result = definition.make(parameters, [None] * len(parameters)).result_type
        except (ValueError, TypeError) as error:
            raise KsqlError(f"Function '{name}' does not accept parameters {_shown(arguments)}: {error}", at) from error
    return definition, result, parameters


def aggregate_call(
    name: str, arguments: Sequence[Argument], at: Position | None = None
) -> tuple[Aggregate, Signature, tuple[SqlType, ...], SqlType | None]:
    """Likewise, with the signature that was chosen; the last is None where the signature alone does not say."""
    load()
    definition, signature, found = _choose(name, _known(name, registry.AGGREGATES, at), arguments, at)
    parameters: list[SqlType] = []
    for one in found.parameters:
        if not isinstance(one, SqlType):
            raise KsqlError(f"The type of an argument of {name} is not known: use CAST to say which.", at)
        parameters.append(one)
    return definition, signature, tuple(parameters), found.result


def table_function(
    name: str, arguments: Sequence[Argument], at: Position | None = None
) -> tuple[TableFunction, SqlType, tuple[Resolved, ...]]:
    """The function, the type of one row, and the type that each argument has to be cast to."""
    load()
    definition, _, found = _choose(name, _known(name, registry.TABLE_FUNCTIONS, at), arguments, at)
    return definition, _result(name, definition.returns, found, arguments, at), found.parameters


def check_known(name: str, at: Position | None = None) -> None:
    """KsqlError, with a suggestion, where there is no function of any kind by that name."""
    if not (is_scalar(name) or is_aggregate(name) or is_table_function(name)):
        raise _unknown(name, at)


def is_scalar(name: str) -> bool:
    load()
    return _real(name, registry.SCALARS) in registry.SCALARS


def is_aggregate(name: str) -> bool:
    load()
    return _real(name, registry.AGGREGATES) in registry.AGGREGATES


def is_table_function(name: str) -> bool:
    load()
    return _real(name, registry.TABLE_FUNCTIONS) in registry.TABLE_FUNCTIONS


def takes_unit(name: str) -> bool:
    """Whether a word such as DAYS may be an argument."""
    load()
    return any(
        isinstance(one.type, IntervalUnit)
        for definition in registry.SCALARS.get(_real(name, registry.SCALARS), ())
        for text in definition.signatures
        for one in parse(text).parameters
    )


def _real(name: str, table: dict[str, list[Any]]) -> str:
    upper = name.upper()
    return upper if upper in table else ALIASES.get(upper, upper)


def _known(name: str, table: dict[str, list[_Definition]], at: Position | None) -> list[_Definition]:
    found = table.get(_real(name, table))
    if found:
        return found
    raise _unknown(name, at)


def _unknown(name: str, at: Position | None) -> KsqlError:
    return KsqlError(f"Can't find any functions with the name '{name}'.{suggestion(name, names())}", at)


def _result(
    name: str,
    returns: registry.Returns | None,
    found: Match,
    arguments: Sequence[Argument],
    at: Position | None,
) -> SqlType:
    if returns is not None:
        try:
            return returns([one if isinstance(one, SqlType) else None for one in found.parameters])
        except KsqlError as error:
            error.at = error.at or at
            raise
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise KsqlError(f"Function '{name}' does not accept parameters {_shown(arguments)}: {error}", at) from error
    if found.result is None:
        raise KsqlError(
            f"The type of {name}{_shown(arguments)} is not known because of NULL: use CAST to say which it is.", at
        )
    return found.result


def _choose(
    name: str, definitions: Sequence[_Definition], arguments: Sequence[Argument], at: Position | None
) -> tuple[_Definition, Signature, Match]:
    """Exact before cast, few casts before many; then fixed before variadic, long before short, plain before generic.

    Where that leaves several (a NULL fits everything), they must at least give the same type."""
    fits: list[tuple[tuple[int, int, int, int], _Definition, Signature, Match]] = []
    for definition in definitions:
        for text in definition.signatures:
            signature = parse(text)
            found = match(signature, arguments)
            if found is not None:
                generics = sum(has_generics(one.type) for one in signature.parameters)
                rank = (found.cost, int(signature.is_variadic), -len(signature.parameters), generics)
                fits.append((rank, definition, signature, found))
    if not fits:
        raise KsqlError(
            f"Function '{name}' does not accept parameters {_shown(arguments)}.\nValid alternatives are:\n"
            f"{_alternatives(name, definitions)}\n"
            "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;",
            at,
        )
    fits.sort(key=lambda one: one[0])
    best = [one for one in fits if one[0] == fits[0][0]]
    if len({(str(one[3].result)) for one in best}) > 1:
        raise KsqlError(
            f"Function '{name}' cannot be resolved due to ambiguous method parameters {_shown(arguments)}.\n"
            "Use CAST() to explicitly cast your parameters to one of the supported function calls.\n"
            f"Valid function calls are:\n{_alternatives(name, definitions)}\n"
            "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;",
            at,
        )
    _, definition, signature, found = best[0]
    return definition, signature, found


def _shown(arguments: Sequence[Argument]) -> str:
    return f"({', '.join('null' if one is None else str(one) for one in arguments)})"


def _alternatives(name: str, definitions: Sequence[Scalar | Aggregate | TableFunction]) -> str:
    return "\n".join(parse(text).shown(name) for one in definitions for text in one.signatures)


# -- of all ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variation:
    signature: str  # NAME(TYPE name, …)
    arguments: tuple[tuple[str, str, bool], ...]  # name, type, whether any number of them
    returns: str
    description: str


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    kind: str  # SCALAR, AGGREGATE, TABLE
    author: str
    overview: str
    category: str
    variations: tuple[Variation, ...]


def names() -> list[str]:
    """In alphabetical order."""
    load()
    known = {*registry.SCALARS, *registry.AGGREGATES, *registry.TABLE_FUNCTIONS}
    return sorted(known | {alias for alias, name in ALIASES.items() if name in known})


def kind(name: str) -> str:
    """
    SCALAR, AGGREGATE or TABLE.
    """
    if is_aggregate(name):
        return "AGGREGATE"
    if is_table_function(name):
        return "TABLE"
    return "SCALAR"


def describe(name: str, at: Position | None = None) -> Description:
    """What DESCRIBE FUNCTION shows."""
    load()
    upper = name.upper()
    definitions: list[Scalar] | list[Aggregate] | list[TableFunction]
    if is_aggregate(upper):
        definitions = registry.AGGREGATES[_real(upper, registry.AGGREGATES)]
    elif is_table_function(upper):
        definitions = registry.TABLE_FUNCTIONS[_real(upper, registry.TABLE_FUNCTIONS)]
    elif is_scalar(upper):
        definitions = registry.SCALARS[_real(upper, registry.SCALARS)]
    else:
        raise _unknown(name, at)
    variations: list[Variation] = []
    for definition in definitions:
        for text in definition.signatures:
            signature = parse(text)
            shown = tuple((one.name.lstrip("_"), str(one.type), one.variadic) for one in signature.parameters)
            variations.append(Variation(signature.shown(upper), shown, str(signature.result), definition.description))
    first = definitions[0]
    category = first.category if isinstance(first, Scalar) else kind(upper)
    return Description(upper, kind(upper), first.author, first.description, category, tuple(variations))
