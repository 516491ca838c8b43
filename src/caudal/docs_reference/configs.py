"""The properties of topics and of the broker, with type, default, limits and what they do, from their definitions."""

from __future__ import annotations

from collections.abc import Iterable

from caudal.broker.config.broker_tables import BROKER_DEFS
from caudal.broker.config.broker_tables.cluster import CLUSTER
from caudal.broker.config.broker_tables.coordinators import COORDINATORS
from caudal.broker.config.broker_tables.groups import GROUPS
from caudal.broker.config.broker_tables.network import NETWORK
from caudal.broker.config.broker_tables.security import SECURITY
from caudal.broker.config.broker_tables.storage import STORAGE
from caudal.broker.config.broker_tables.tiering import TIERING
from caudal.broker.config.definition import ConfigDef
from caudal.broker.config.topic_table import TOPIC_DEFS
from caudal.docs_reference.markdown import code, sentence, table

TOPIC_INTRODUCTION = """# Topic configs

Properties of a topic, with Kafka's names. Set them with `caudal topic create NAME -c KEY=VALUE`, change them with
`caudal topic alter NAME -c KEY=VALUE`, take them back with `--unset KEY`. What a topic does not say, the broker's
property in the last column says. *Idle* ones are accepted and shown so that files and tools work, and change nothing.
"""
BROKER_INTRODUCTION = """# Broker configs

Properties of a broker, with Kafka's names: in a `server.properties` file (`caudal broker --config FILE`) or with
`-c KEY=VALUE` of `caudal broker` and `caudal up`. *Changes*: whether a property can change while the broker runs.
*Idle* ones are accepted so that existing files work; Caudal does not act on them.
"""
SUBJECTS = (
    ("Identity, listeners, connections", NETWORK),
    ("Logs and defaults of topics", STORAGE),
    ("Consumer groups, offsets, transactions", COORDINATORS),
    ("Newer group protocols", GROUPS),
    ("Replication, controllers, quotas, metrics", CLUSTER),
    ("Security", SECURITY),
    ("Tiered storage", TIERING),
)


def topic_page() -> str:
    rows = [
        (*_facts(each), ", ".join(code(name) for name, _ in each.synonyms))
        for each in TOPIC_DEFS.values()
        if not each.internal
    ]
    heads = ("property", "type", "default", "meaning", "the broker's property")
    return TOPIC_INTRODUCTION + "\n" + table(heads, rows)


def broker_page() -> str:
    assert sum(len(each) for _, each in SUBJECTS) == len(BROKER_DEFS), "a table of properties has no heading here"
    return "\n".join([BROKER_INTRODUCTION, *(f"## {title}\n\n{_broker_table(each)}" for title, each in SUBJECTS)])


def _broker_table(definitions: Iterable[ConfigDef]) -> str:
    rows = [(*_facts(each), each.scope.value) for each in definitions if not each.internal]
    return table(("property", "type", "default", "meaning", "changes"), rows)


def _facts(definition: ConfigDef) -> tuple[str, str, str, str]:
    default = definition.format(definition.default)
    limit = f" Values: {definition.limit.words}." if definition.limit is not None else ""
    idle = "" if definition.acted_on else "*Idle.* "
    return (
        code(definition.name),
        definition.type.name.lower(),
        code(default) if default else "",
        idle + sentence(definition.doc + limit),
    )
