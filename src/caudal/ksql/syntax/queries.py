"""SELECT: its items, sources, joins, windows and the clauses behind them.

Beyond ksqlDB: UNION [ALL], subqueries in FROM, ORDER BY, SELECT DISTINCT. Words that ksqlDB does not reserve stay
usable as names: EMIT, PARTITION, ORDER and UNION are clauses only where what follows them says so.
"""

from __future__ import annotations

from dataclasses import replace

from caudal.ksql.sources import WindowKind
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.expressions import ExpressionParser
from caudal.ksql.syntax.lexer import Kind
from caudal.ksql.syntax.statements import (
    Emit,
    Join,
    JoinKind,
    OrderItem,
    Query,
    Relation,
    SelectItem,
    WindowClause,
    Within,
)
from caudal.ksql.syntax.tree import Expression
from caudal.ksql.syntax.words import MILLISECONDS, RESERVED, UNITS


class QueryParser(ExpressionParser):
    def query(self) -> Query:
        self.deeper()
        start = self.token.start
        parts, all_of_them = [self._select()], list[bool]()
        while self._is_union():
            self.advance()
            all_of_them.append(self.take_word("ALL"))
            if not all_of_them[-1]:
                self.take_word("DISTINCT")
            if len(parts) >= 32:
                raise self.problem("A UNION of more than 32 queries is not supported.", self.at())
            parts.append(self._select())
        order_by = self._order_by()
        emit = self._emit()
        emits = {part.emit for part in parts if part.emit is not None} | ({emit} if emit else set())
        if len(emits) > 1:
            raise self.problem("All queries of a UNION must EMIT the same: CHANGES or FINAL.", parts[0].at)
        limit = self._limit()
        found = parts[-1]
        text = self.source.text[start : self.tokens[self.index - 1].end]
        shared = next(iter(emits), None)
        found = replace(found, emit=shared)
        for part, is_all in zip(reversed(parts[:-1]), reversed(all_of_them), strict=True):
            found = replace(part, union=found, union_all=is_all, emit=shared)
        self.shallower()
        return replace(found, order_by=order_by, limit=limit, text=text)

    def _select(self) -> Query:
        at, start = self.at(), self.token.start
        self.expect_word("SELECT")
        distinct = self.take_word("DISTINCT")
        items = [self._item()]
        while self.take_sign(","):
            items.append(self._item())
        if not self.take_word("FROM"):
            raise self.unexpected("','", "FROM")
        relation = self._relation()
        joins = []
        while (join := self._join()) is not None:
            joins.append(join)
        window = self._window() if self.take_word("WINDOW") else None
        where = self.expression() if self.take_word("WHERE") else None
        group_by = self._keys("GROUP")
        partition_by = self._keys("PARTITION")
        having = self.expression() if self.take_word("HAVING") else None
        # In ksqlDB's order this comes next; a UNION may follow it.
        emit = self._emit() if not self._is_union() else None
        text = self.source.text[start : self.tokens[self.index - 1].end]
        return Query(
            tuple(items),
            relation,
            tuple(joins),
            window,
            where,
            group_by,
            partition_by,
            having,
            emit,
            distinct=distinct,
            text=text,
            at=at,
        )

    # -- items ---------------------------------------------------------------------------------------------------------

    def _item(self) -> SelectItem:
        at = self.at()
        if self.take_sign("*"):
            return SelectItem(tree.Star(at=at), at=at)
        if self.is_name() and self.ahead().text == "." and self.ahead(2).text == "*":
            source = self.advance().value
            self.advance()
            self.advance()
            return SelectItem(tree.Star(source, at=at), at=at)
        expression = self.expression()
        if self.is_sign("->") and self.ahead().text == "*":
            self.advance()
            self.advance()
            return SelectItem(tree.StructStar(expression, at=at), at=at)
        alias = None
        if self.take_word("AS"):
            alias = self.name("an alias")
        elif self.is_name():
            alias = self.alias()
        return SelectItem(expression, alias, at=at)

    # -- sources -------------------------------------------------------------------------------------------------------

    def _relation(self) -> Relation:
        at = self.at()
        if self.take_sign("("):
            if not self.is_word("SELECT"):
                raise self.unexpected("a subquery, SELECT …")
            query = self.query()
            self.expect_sign(")")
            alias = self._alias()
            if alias is None:
                raise self.unexpected("an alias for the subquery")
            return Relation(alias, alias, query, at=at)
        name = self.name("the name of a stream or table")
        return Relation(name, self._alias() or name, at=at)

    def _alias(self) -> str | None:
        if self.take_word("AS"):
            return self.name("an alias")
        if not self.is_name() or self._begins_clause():
            return None
        return self.alias()

    def _begins_clause(self) -> bool:
        if self.token.kind is not Kind.WORD:
            return False
        following = self.ahead().value
        match self.token.value:
            case "EMIT":
                # Any word behind it but those that go on with the query: `EMIT CHANGE` is a mistake, and no alias.
                other = RESERVED | {"EMIT", "PARTITION", "ORDER", "UNION"}
                return self.ahead().kind is Kind.WORD and following not in other
            case "PARTITION" | "ORDER":
                return following == "BY"
            case "UNION":
                return self._is_union()
        return False

    def _join(self) -> Join | None:
        at = self.at()
        kind = JoinKind.INNER
        for one in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
            if self.take_word(one.value):
                kind = one
                self.take_word("OUTER")
                self.expect_word("JOIN")
                break
        else:
            if self.take_word("INNER"):
                self.expect_word("JOIN")
            elif not self.take_word("JOIN"):
                return None
        right = self._relation()
        within = self._within() if self.take_word("WITHIN") else None
        if not self.take_word("ON"):
            raise self.unexpected(*(("WITHIN", "ON") if within is None else ("ON",)))
        return Join(kind, right, self.expression(), within, at=at)

    def _within(self) -> Within:
        if self.take_sign("("):
            before = self._span()
            self.expect_sign(",")
            after = self._span()
            self.expect_sign(")")
        else:
            before = after = self._span()
        grace = None
        if self.take_word("GRACE"):
            self.expect_word("PERIOD")
            grace = self._span()
        return Within(before, after, grace)

    # -- windows -------------------------------------------------------------------------------------------------------

    def _window(self) -> WindowClause:
        at = self.at()
        # ksqlDB lets a window have a name, and ignores it.
        if self.is_name() and self.ahead().text in ("TUMBLING", "HOPPING", "SESSION") and self.ahead(2).text == "(":
            self.advance()
        kind = WindowKind(self.one_of("TUMBLING", "HOPPING", "SESSION"))
        self.expect_sign("(")
        if kind is not WindowKind.SESSION:
            self.expect_word("SIZE")
        size = self._span()
        advance = None
        if kind is WindowKind.HOPPING:
            if not self.take_sign(","):
                raise self.unexpected("', ADVANCE BY'")
            self.expect_word("ADVANCE", "BY")
            advance = self._span()
        retention = grace = None
        while self.take_sign(","):
            if retention is None and grace is None and self.take_word("RETENTION"):
                retention = self._span()
            elif grace is None and self.take_word("GRACE"):
                self.expect_word("PERIOD")
                grace = self._span()
            else:
                raise self.unexpected(*(["RETENTION"] if retention is None and grace is None else []), "GRACE PERIOD")
        self.expect_sign(")", ",")
        return WindowClause(kind, size, advance, retention, grace, at=at)

    def _span(self) -> int:
        """`10 MINUTES`, in milliseconds."""
        count = self.whole_number("a whole number")
        for unit in MILLISECONDS:
            if self.take_word(unit):
                return count * MILLISECONDS[unit]
        raise self.unexpected(*(f"{unit}S" for unit in UNITS))

    # -- the clauses behind --------------------------------------------------------------------------------------------

    def _keys(self, clause: str) -> tuple[Expression, ...]:
        """GROUP BY or PARTITION BY: `a, b` or `(a, b)`."""
        if not self.take_word(clause):
            return ()
        self.expect_word("BY")
        at = self.at()
        if self._is_list_in_parentheses():
            self.advance()
            found = self._list(self.value, ")", may_be_empty=True)
            if not found:
                raise self.problem(f"{clause} BY requires at least one expression.", at)
            return found
        keys = [self.value()]
        while self.take_sign(","):
            keys.append(self.value())
        return tuple(keys)

    def _is_list_in_parentheses(self) -> bool:
        """Whether the parentheses here are those of the list, and not of its first expression: `(a, b)`, `()`."""
        if not self.is_sign("("):
            return False
        depth, index = 0, self.index
        while self.tokens[index].kind is not Kind.END:
            token = self.tokens[index]
            if token.kind is Kind.SIGN:
                if token.value in "([":
                    depth += 1
                elif token.value in ")]":
                    depth -= 1
                    if not depth:
                        return index == self.index + 1
                elif token.value == "," and depth == 1:
                    return True
            index += 1
        return False

    def _emit(self) -> Emit | None:
        if not self.is_word("EMIT"):
            return None
        self.advance()
        return Emit(self.one_of("CHANGES", "FINAL"))

    def _limit(self) -> int | None:
        return self.whole_number("a whole number") if self.take_word("LIMIT") else None

    def _order_by(self) -> tuple[OrderItem, ...]:
        if not self.take_word("ORDER"):
            return ()
        self.expect_word("BY")
        found: list[OrderItem] = []
        while not found or self.take_sign(","):
            expression = self.value()
            descending = self.take_word("DESC")
            if not descending:
                self.take_word("ASC")
            found.append(OrderItem(expression, descending))
        return tuple(found)

    def _is_union(self) -> bool:
        return self.is_word("UNION") and self.ahead().value in ("ALL", "DISTINCT", "SELECT")
