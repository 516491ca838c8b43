"""The joins of tables: on the primary key, and on a foreign key (two internal topics there and back, as in Kafka
Streams).
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.naming import checked_name
from caudal.plan.steps import JoinType
from caudal.plan.topology import SinkNode, SourceNode, StoreKind, StoreSpec
from caudal.serde import Bytes, Serde
from caudal.serde.foreign_key import SubscriptionResponse, SubscriptionResponseSerde, SubscriptionSerde
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.stores import Keep, Store, kept
from caudal.streams.table import KTable
from caudal.streams.table_state import JoinState, SourceState

_METHODS = {JoinType.INNER: "join()", JoinType.LEFT: "left_join()", JoinType.OUTER: "outer_join()"}


def join(
    table: KTable,
    kind: JoinType,
    other: KTable,
    joiner: UserFunction,
    key_extractor: UserFunction | None,
    value: Serde | None,
    store: Store | None,
    name: str | None,
) -> KTable:
    method = _METHODS[kind]
    if not isinstance(other, KTable):
        raise PlanError(f"{method} of a table is with another table, not {type(other).__name__}.")
    table._graph.check_same(other._graph, method)
    function = functions.joiner(joiner, method)
    if key_extractor is None:
        return _primary_key(table, kind, other, function, value, store, name)
    extractor = functions.key_value(key_extractor, f"{method[:-1]}key_extractor=)")
    return _foreign_key(table, kind is JoinType.LEFT, other, extractor, function, value, kept(store), name)


def _primary_key(
    table: KTable,
    kind: JoinType,
    other: KTable,
    joiner: Function,
    value: Serde | None,
    store: Store | None,
    name: str | None,
) -> KTable:
    graph, keep = table._graph, kept(store)
    merge = graph.names.next("KTABLE-MERGE", name)
    # A side that may stand alone must say what it was: otherwise its removal could not be told from never having been.
    if kind is not JoinType.INNER:
        table._state.enable_old(True)
    if kind is JoinType.OUTER:
        other._state.enable_old(True)
    this_join = graph.names.next("KTABLE-JOINTHIS", name, "-join-this")
    other_join = graph.names.next("KTABLE-JOINOTHER", name, "-join-other")
    value = value or table._value
    own = table._own_store(keep, value, store)
    left, right = table._state, other._state
    state = JoinState(merge, left, right, own)
    graph.add_processor(
        this_join,
        lambda: steps.TableTableJoin(True, kind, right.readable, joiner),
        (table._node,),
        right.store_names,
        lambda: state.sends_old,
    )
    graph.add_processor(
        other_join,
        lambda: steps.TableTableJoin(False, kind, left.readable, joiner),
        (other._node,),
        left.store_names,
        lambda: state.sends_old,
    )
    graph.add_processor(
        merge,
        steps.TableTableMerge(own),
        (this_join, other_join),
        () if own is None else (own,),
        lambda: state.sends_old,
    )
    sources = graph.copartition(table._sources | other._sources)
    return KTable(graph, merge, table._key, value, sources, state, _closing_grace(table, other))


def _closing_grace(table: KTable, other: KTable) -> int | None:
    both = [grace for grace in (table._closing_grace, other._closing_grace) if grace is not None]
    return max(both) if both else None


def _to_asking_partition(topic: str, key: Any, value: SubscriptionResponse, partitions: int) -> int | None:
    return value.primary_partition


_TO_ASKING_PARTITION = Function(_to_asking_partition)


def _foreign_key(
    table: KTable,
    left: bool,
    other: KTable,
    extractor: Function,
    joiner: Function,
    value: Serde | None,
    keep: Keep,
    name: str | None,
) -> KTable:
    graph = table._graph
    if name is not None:
        checked_name(name)

    def named(prefix: str, suffix: str) -> str:
        return graph.names.next(prefix, name, suffix)

    # The order in which Kafka Streams counts: it shows in every name.
    topic_base = graph.names.next("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION", name, "-subscription-registration")
    register = named("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION", "-subscription-registration-processor")
    register_sink = named("KTABLE-SINK", "-subscription-registration-sink")
    register_source = named("KTABLE-SOURCE", "-subscription-registration-source")
    subscriptions = named("KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE", "-subscription-store")
    receive = named("KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR", "-subscription-receive")
    look_up = named("KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR", "-subscription-join-foreign")
    notify = named("KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR", "-foreign-join-subscription")
    response_base = graph.names.next("KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE", name, "-subscription-response")
    response_sink = named("KTABLE-SINK", "-subscription-response-sink")
    response_source = named("KTABLE-SOURCE", "-subscription-response-source")
    resolve = named("KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR", "-subscription-response-resolver")
    output = named("KTABLE-FK-JOIN-OUTPUT", "-result")
    store_name = keep.name or graph.names.store("KTABLE-FK-JOIN-OUTPUT")
    register_topic = f"{graph.application_id}-{topic_base}-topic"
    response_topic = f"{graph.application_id}-{response_base}-topic"

    # The left side says when it stops referring to a key, the right side whether a value has changed at all.
    other._state.enable_old(True)
    table._state.enable_old(True)
    left_state, right_state = table._state, other._state

    subscription = SubscriptionSerde(table._key)
    response = SubscriptionResponseSerde(other._value)
    send = steps.ForeignKeySend(extractor, left, other._key, table._value)
    graph.add_processor(register, send, (table._node,))
    graph.add_sink(SinkNode(register_sink, register_topic, other._key, subscription, (register,)))
    graph.add_internal_source(register_topic, SourceNode(register_source, (register_topic,), other._key, subscription))
    graph.copartition(other._sources | {register_source})
    graph.add_new_store(StoreSpec(subscriptions, StoreKind.KEY_VALUE, Bytes(), subscription))
    subscribe = steps.ForeignKeySubscribe(subscriptions, other._key, table._key)
    graph.add_processor(receive, subscribe, (register_source,), (subscriptions,))
    right_state.make_readable()
    graph.add_processor(
        look_up, lambda: steps.ForeignKeyLookup(right_state.readable), (receive,), right_state.store_names
    )
    graph.add_processor(
        notify, steps.ForeignKeyNotify(subscriptions, other._key, table._key), (other._node,), (subscriptions,)
    )
    graph.add_sink(
        SinkNode(response_sink, response_topic, table._key, response, (look_up, notify), _TO_ASKING_PARTITION)
    )
    graph.add_internal_source(response_topic, SourceNode(response_source, (response_topic,), table._key, response))
    sources = graph.copartition(table._sources | {response_source})
    left_state.make_readable()
    graph.add_processor(
        resolve,
        lambda: steps.ForeignKeyResolve(left_state.readable, left, joiner, table._value),
        (response_source,),
        left_state.store_names,
    )
    value = value or table._value
    spec = StoreSpec(
        store_name,
        StoreKind.TIMESTAMPED,
        table._key,
        value,
        keep.persistent,
        keep.logged,
        topic_configs=keep.topic_configs,
    )
    state = SourceState(output, graph, spec, needed=keep.name is not None)
    graph.add_processor(
        output,
        lambda: steps.StreamToTable(state.store),
        (resolve,),
        state.store_names,
        lambda: state.sends_old,
    )
    return KTable(graph, output, table._key, value, sources, state, table._closing_grace)
