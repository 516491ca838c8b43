"""From text to sqlglot's tree. Names may be quoted by backticks or double quotes, text by single quotes. An error says
where it is and what is wrong there."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Tokenizer as BaseTokenizer

from caudal.plan.errors import PlanError


class CaudalExpressions(Dialect):
    """Plain SQL with both kinds of quoted names."""

    class Tokenizer(BaseTokenizer):
        IDENTIFIERS: ClassVar = ["`", '"']
        QUOTES: ClassVar = ["'"]


def parse(text: str) -> exp.Expr:
    """The tree of one expression."""
    if not text.strip():
        raise PlanError("The SQL expression is empty.")
    try:
        trees = CaudalExpressions().parse(text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        raise _syntax_error(text, first.get("description") or str(error), first.get("line"), first.get("col")) from None
    except TokenError as error:
        raise _syntax_error(text, str(error).split("\n")[0], None, None) from None
    if len(trees) != 1 or trees[0] is None:
        raise PlanError(f"The SQL expression '{text}' must be one expression, without semicolons.")
    tree = trees[0]
    if isinstance(tree, exp.Alias):
        raise PlanError(f"The SQL expression '{text}' has an alias ('{tree.alias}'): a single value has no name.")
    if isinstance(tree, (exp.Query, exp.DDL, exp.Command)) or tree.find(exp.Query):
        raise PlanError(f"The SQL expression '{text}' must be an expression such as 'amount > 0', not a statement.")
    return tree


def _syntax_error(text: str, cause: str, line: int | None, column: int | None) -> PlanError:
    cause = cause.rstrip(".").strip()
    # sqlglot repeats the text in some messages; the user has it already.
    cause = cause.split(". Line")[0]
    if cause.startswith("Required keyword"):
        cause = "an operand is missing"
    where = "" if line is None else f" at line {line}, column {column}"
    return PlanError(f"The SQL expression '{text}' is wrong{where}: {cause[:1].lower()}{cause[1:]}.")
