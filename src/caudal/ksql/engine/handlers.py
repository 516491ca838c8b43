"""How statements reach the functions that execute them: `@handles(CreateSource)` in the file of a family.

A handler gets the request and its statement, and answers with an entity, or None where ksqlDB answers nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caudal.ksql.engine.entities import Entity
from caudal.ksql.engine.properties import Properties
from caudal.ksql.syntax.statements import Statement

if TYPE_CHECKING:
    from caudal.ksql.engine.engine import Engine


@dataclass(slots=True)
class Request:
    """What the statements of one request share: the session's properties and variables, which SET and DEFINE change
    for those that follow."""

    engine: Engine
    session: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def properties(self) -> Properties:
        engine = self.engine
        return Properties(self.session, engine.catalog.settings, engine.settings.properties)


Handler = Callable[[Request, Any], Entity | list[Entity] | None]
HANDLERS: dict[type[Statement], Handler] = {}


def handles(*kinds: type[Statement]) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for kind in kinds:
            HANDLERS[kind] = handler
        return handler

    return register


def text_of(statement: Statement) -> str:
    """As entities show it."""
    text = statement.text.strip()
    return text if text.endswith(";") or not text else f"{text};"
