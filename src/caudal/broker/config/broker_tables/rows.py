"""Short constructors, one per type, so that a table of broker properties reads as one property per line or two.

The last three arguments are keywords everywhere: `scope` (read-only unless said), `importance`, and `idle=True` for a
property that is accepted but not acted on.
"""

from __future__ import annotations

from typing import Any, Final

from caudal.broker.config.definition import ConfigDef, ConfigType, Importance, Limit, Scope

HIGH: Final = Importance.HIGH
MEDIUM: Final = Importance.MEDIUM
LOW: Final = Importance.LOW
PER_BROKER: Final = Scope.PER_BROKER
CLUSTER_WIDE: Final = Scope.CLUSTER_WIDE


class Row:
    """Builds a ConfigDef of one type: `integer("num.partitions", 1, "…", at_least(1))`."""

    def __init__(self, type_: ConfigType) -> None:
        self._type = type_

    def __call__(
        self,
        name: str,
        default: Any,
        doc: str,
        limit: Limit | None = None,
        *,
        scope: Scope = Scope.READ_ONLY,
        importance: Importance = Importance.MEDIUM,
        idle: bool = False,
    ) -> ConfigDef:
        return ConfigDef(
            name=name,
            type=self._type,
            default=default,
            doc=doc,
            limit=limit,
            scope=scope,
            importance=importance,
            acted_on=not idle,
        )


boolean: Final = Row(ConfigType.BOOLEAN)
string: Final = Row(ConfigType.STRING)
integer: Final = Row(ConfigType.INT)
short: Final = Row(ConfigType.SHORT)
long: Final = Row(ConfigType.LONG)
double: Final = Row(ConfigType.DOUBLE)
items: Final = Row(ConfigType.LIST)
class_name: Final = Row(ConfigType.CLASS)
password: Final = Row(ConfigType.PASSWORD)
