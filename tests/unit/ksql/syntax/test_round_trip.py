"""Any tree, written as text and read again, is the same tree: hypothesis makes the trees."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.ksql.errors import SyntaxProblem
from caudal.ksql.sources import WindowKind
from caudal.ksql.syntax import statements as ast
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.format import format_expression, format_statement
from caudal.ksql.syntax.names import written_type
from caudal.ksql.syntax.parser import parse_expression, parse_script, parse_statement, parse_type
from caudal.ksql.syntax.words import QUOTED_WHEN_WRITTEN
from caudal.ksql.types import DATE, SIMPLE_TYPES, SqlType, array, decimal, mapping, struct

names = st.one_of(
    st.sampled_from(["A", "B", "ID", "TYPE", "KEY", "DATE", "TIME", "EMIT", "a", "x y", "`", '"', "1A", "É", "{}"]),
    st.sampled_from(sorted(QUOTED_WHEN_WRITTEN)),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4),
)
functions = st.sampled_from(["F", "COUNT", "REPLACE", "DATEADD", "TIMESTAMPADD", "ARRAY", "MAP", "LEFT", "CAST"])
numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**20), max_value=10**20),
    st.integers(-1000, 1000).map(Decimal),
)
literals = st.one_of(numbers, st.booleans(), st.text(max_size=6), st.sampled_from(["DAYS", "${x}", "it's", "--"]))

simple = st.sampled_from(sorted(set(SIMPLE_TYPES.values()), key=str))
decimals = st.integers(1, 38).flatmap(lambda size: st.integers(0, size).map(lambda scale: decimal(size, scale)))
types: st.SearchStrategy[SqlType] = st.recursive(
    st.one_of(simple, decimals),
    lambda inner: st.one_of(
        inner.map(array),
        st.tuples(inner, inner).map(lambda pair: mapping(*pair)),
        st.lists(st.tuples(names, inner), max_size=3, unique_by=lambda pair: pair[0]).map(lambda all_: struct(*all_)),
    ),
    max_leaves=5,
)

leaves = st.one_of(
    st.just(tree.Null()),
    literals.map(tree.Literal),
    st.text(max_size=5).map(lambda text: tree.TypedLiteral(DATE, text)),
    names.map(tree.Name),
    st.builds(tree.Name, names, names),
)


def forms(inner: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.Expression]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    some = st.lists(inner, max_size=3).map(tuple)
    parameters = st.lists(names, min_size=1, max_size=2, unique=True).map(tuple)
    argument = st.one_of(inner, st.builds(tree.Lambda, parameters, inner))
    return st.one_of(
        st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
        st.builds(tree.Negative, inner),
        st.builds(tree.Concatenation, inner, inner),
        st.builds(
            tree.Comparison,
            st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]),
            inner,
            inner,
        ),
        st.builds(tree.And, inner, inner),
        st.builds(tree.Or, inner, inner),
        st.builds(tree.Not, inner),
        st.builds(tree.IsNull, inner, st.booleans()),
        st.builds(tree.Between, inner, inner, inner, st.booleans()),
        st.builds(tree.In, inner, several, st.booleans()),
        st.builds(tree.Like, inner, inner, st.none() | st.characters(exclude_categories=["Cs"]), st.booleans()),
        st.builds(
            tree.Case,
            st.none() | inner,
            st.lists(st.builds(tree.When, inner, inner), min_size=1, max_size=2).map(tuple),
            st.none() | inner,
        ),
        st.builds(tree.Cast, inner, types),
        st.builds(tree.Call, functions, st.lists(argument, max_size=3).map(tuple)),
        st.just(tree.Call("COUNT", (tree.Star(),))),
        st.builds(tree.Subscript, inner, inner),
        st.builds(tree.Dereference, inner, names),
        st.builds(tree.ArrayOf, some),
        st.builds(tree.MapOf, st.lists(st.tuples(inner, inner), max_size=2).map(tuple)),
        st.builds(tree.StructOf, st.lists(st.tuples(names, inner), max_size=2).map(tuple)),
        st.builds(tree.AtTimeZone, inner, st.text(max_size=3).map(tree.Literal)),
    )


expressions = st.recursive(leaves, forms, max_leaves=8)
small = st.recursive(leaves, forms, max_leaves=3)

spans = st.integers(0, 10**9)
within = st.none() | st.builds(ast.Within, spans, spans, st.none() | spans)
relations = st.one_of(
    st.builds(ast.Relation, names, names),
    st.builds(lambda name: ast.Relation(name, name), names),
)
items = st.one_of(
    st.builds(ast.SelectItem, small, st.none() | names),
    st.just(ast.SelectItem(tree.Star())),
    st.builds(lambda name: ast.SelectItem(tree.Star(name)), names),
    st.builds(lambda operand: ast.SelectItem(tree.StructStar(operand)), small),
)
windows = st.one_of(
    st.builds(
        ast.WindowClause,
        st.sampled_from([WindowKind.TUMBLING, WindowKind.SESSION]),
        spans,
        st.none(),
        st.none() | spans,
        st.none() | spans,
    ),
    st.builds(ast.WindowClause, st.just(WindowKind.HOPPING), spans, spans, st.none() | spans, st.none() | spans),
)
keys = st.lists(small, max_size=2).map(tuple)
queries = st.builds(
    ast.Query,
    items=st.lists(items, min_size=1, max_size=3).map(tuple),
    relation=relations,
    joins=st.lists(st.builds(ast.Join, st.sampled_from(ast.JoinKind), relations, small, within), max_size=2).map(tuple),
    window=st.none() | windows,
    where=st.none() | small,
    group_by=keys,
    partition_by=keys,
    having=st.none() | small,
    emit=st.none() | st.sampled_from(ast.Emit),
    limit=st.none() | st.integers(0, 100),
    order_by=st.lists(st.builds(ast.OrderItem, small, st.booleans()), max_size=2).map(tuple),
    distinct=st.booleans(),
)


def same(left: object, right: object) -> bool:
    """Equal, and of the same Python types: 1, 1.0 and TRUE are equal in Python."""
    return left == right and repr_without_places(left) == repr_without_places(right)


def repr_without_places(node: object) -> str:
    if is_dataclass(node):
        compared = {one.name: getattr(node, one.name) for one in fields(node) if one.compare}
        return (
            f"{type(node).__name__}({', '.join(f'{key}={repr_without_places(one)}' for key, one in compared.items())})"
        )
    if isinstance(node, tuple):
        return f"({', '.join(repr_without_places(one) for one in node)})"
    return repr(node)


@settings(max_examples=80, deadline=None)
@given(expressions)
def test_expressions(expression: tree.Expression) -> None:
    text = format_expression(expression)
    assert same(parse_expression(text), expression), text


@settings(max_examples=40, deadline=None)
@given(queries)
def test_queries(query: ast.Query) -> None:
    text = format_statement(query)
    assert same(parse_statement(text), query), text


@settings(max_examples=40, deadline=None)
@given(types)
def test_types(type_: SqlType) -> None:
    assert parse_type(written_type(type_)) == type_


WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "CASE",
    "CREATE",
    "STREAM",
    "AS",
    "(",
    ")",
    ",",
    "[",
    "a",
    "*",
    "'x'",
    "1",
    "=",
    "->",
    ";",
]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.lists(st.sampled_from(WORDS)))
def test_any_text_is_read_or_refused_with_a_sentence(noise: str, words: list[str]) -> None:
    for text in (noise, " ".join(words), f"{' '.join(words)} {noise}"):
        error = refusal(text)
        if error is not None:
            assert error.at is not None
            assert 0 <= error.at.offset <= len(text)
            assert error.explained().startswith(f"line {error.at.line}:{error.at.column}: ")


def refusal(text: str) -> SyntaxProblem | None:
    try:
        parse_script(text)
    except SyntaxProblem as error:
        return error
    return None
