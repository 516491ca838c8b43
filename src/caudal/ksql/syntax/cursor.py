"""A place in the tokens of a script, and the questions a parser asks there: the base of all its parts.

Words that were asked for and not found are remembered per place: where nothing fits, they are what was expected, and
what a misspelt word is compared with.
"""

from __future__ import annotations

from caudal.ksql.errors import Position, SyntaxProblem, suggestion
from caudal.ksql.syntax.lexer import Kind, Text, Token, tokens
from caudal.ksql.syntax.words import CONTINUING, RESERVED

# How deep parentheses, calls, types and subqueries may be nested, and how high an expression's tree may get. Whoever
# walks a tree by recursion, or makes nested Python source of it, relies on that.
MAX_NESTING = 64
MAX_HEIGHT = 100


class Cursor:
    def __init__(self, source: Text) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.index = 0
        self.token = self.tokens[0]
        self.height = 0  # of the expression that was read last
        self._depth = 0
        self._tried: set[str] = set()  # here
        self._bare_alias = -1  # the index of the last token that was taken for an alias without AS

    # -- asking --------------------------------------------------------------------------------------------------------

    def ahead(self, count: int = 1) -> Token:
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def at(self) -> Position:
        return self.source.position(self.token.start)

    def is_sign(self, sign: str) -> bool:
        return self.token.value == sign and self.token.kind is Kind.SIGN

    def is_word(self, *words: str) -> bool:
        """Whether the next tokens are these words."""
        token = self.token
        if token.kind is not Kind.WORD or token.value != words[0]:
            self._tried.add(words[0])
            return False
        for count, word in enumerate(words[1:], 1):
            following = self.ahead(count)
            if following.kind is not Kind.WORD or following.value != word:
                return False
        return True

    def is_end(self) -> bool:
        return self.token.kind is Kind.END or self.is_sign(";")

    # -- taking --------------------------------------------------------------------------------------------------------

    def advance(self) -> Token:
        taken = self.token
        if taken.kind is not Kind.END:
            self.index += 1
            self.token = self.tokens[self.index]
            if self._tried:
                self._tried = set()
        return taken

    def take_sign(self, sign: str) -> bool:
        if self.is_sign(sign):
            self.advance()
            return True
        return False

    def take_word(self, *words: str) -> bool:
        if self.is_word(*words):
            for _ in words:
                self.advance()
            return True
        return False

    def expect_sign(self, sign: str, *others: str) -> None:
        """`others` are what may stand here as well, for the message."""
        if not self.take_sign(sign):
            raise self.unexpected(*(f"'{one}'" for one in (*others, sign)))

    def expect_word(self, *words: str) -> None:
        for word in words:
            if not self.take_word(word):
                raise self.unexpected(word)

    def one_of(self, *words: str) -> str:
        for word in words:
            if self.take_word(word):
                return word
        raise self.unexpected(*words)

    def name(self, what: str) -> str:
        """An identifier: upper case unless it is quoted."""
        token = self.token
        if token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.value not in RESERVED):
            self.advance()
            return token.value
        raise self.unexpected(what)

    def is_name(self) -> bool:
        return self.token.kind is Kind.QUOTED or (self.token.kind is Kind.WORD and self.token.value not in RESERVED)

    def alias(self) -> str:
        """A name that stands behind something without AS."""
        self._bare_alias = self.index
        return self.advance().value

    def string(self, what: str) -> str:
        if self.token.kind is not Kind.STRING:
            raise self.unexpected(what)
        return self.advance().value

    def whole_number(self, what: str) -> int:
        if self.token.kind is not Kind.INTEGER:
            raise self.unexpected(what)
        at = self.at()
        return self.integer(self.advance().text, at)

    def integer(self, text: str, at: Position) -> int:
        # The length first: int() of a hundred thousand digits is slow, and refused by Python.
        if len(text) > 40 or not -(2**63) <= int(text) < 2**63:
            raise self.problem(f"Invalid numeric literal: {text[:40]} does not fit into a BIGINT.", at)
        return int(text)

    # -- nesting -------------------------------------------------------------------------------------------------------

    def deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self.problem(f"The statement is nested more than {MAX_NESTING} levels deep.", self.at())

    def shallower(self) -> None:
        self._depth -= 1

    def grown(self, *heights: int) -> None:
        """An expression was built over parts of these heights."""
        self.height = 1 + max(heights, default=0)
        if self.height > MAX_HEIGHT:
            raise self.problem(f"The expression has more than {MAX_HEIGHT} operations in a row: split it.", self.at())

    # -- errors --------------------------------------------------------------------------------------------------------

    def problem(self, message: str, at: Position) -> SyntaxProblem:
        return SyntaxProblem(message, at, self.source.text)

    def unexpected(self, *expected: str) -> SyntaxProblem:
        """What was found is none of what was expected."""
        token, wanted = self.token, _listed(expected)
        if self._bare_alias == self.index - 1:
            # `FROM s WHER a = 1`: WHER went through as an alias, and only `a` does not fit.
            before = self.tokens[self._bare_alias]
            hint = suggestion(before.value, self._tried)
            if hint and before.kind is Kind.WORD and before.value not in self._tried:
                return self.problem(f"Cannot read '{before.text}'.{hint}", self.source.position(before.start))
        if token.kind is Kind.WORD:
            hint = suggestion(token.value, self._tried - {token.value})
            if token.value in RESERVED - CONTINUING and not hint and expected[0].startswith(("a", "the name")):
                hint = f" {token.value} is a reserved word: as a name it is written `{token.text}`."
            return self.problem(f"Expected {wanted}, found '{token.text}'.{hint}", self.at())
        if token.kind is Kind.VARIABLE:
            name = token.text[2:-1]
            return self.problem(f"The variable '{name}' is not defined: DEFINE {name} = '…'.", self.at())
        found = "the end of the statement" if token.kind is Kind.END or token.text == ";" else _shown(token)
        return self.problem(f"Expected {wanted}, found {found}.", self.at())


def _listed(expected: tuple[str, ...]) -> str:
    if len(expected) == 1:
        return expected[0]
    return f"{', '.join(expected[:-1])} or {expected[-1]}"


def _shown(token: Token) -> str:
    text = token.text if len(token.text) <= 40 else f"{token.text[:40]}…"
    return text if token.kind is Kind.STRING else f"'{text}'"
