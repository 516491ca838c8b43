"""Node names, numbers, sub-topologies, internal topics with their configs and the text of describe() are those of Kafka
Streams 4.3: every topology here was written in Java as well (Describe.java) and what Java printed is kept in
describe/."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from caudal.plan.topology import Topology
from caudal.serde import Long, SessionWindowed, String, TimeWindowed
from caudal.streams import (
    KStream,
    KTable,
    Processor,
    StreamsBuilder,
    ValueTransformer,
    hopping,
    in_memory,
    key_value_store,
    persistent,
    session,
    session_store,
    sliding,
    timestamped_store,
    tumbling,
    until_time_limit,
    until_window_closes,
    window_store,
)

FOLDER = Path(__file__).with_name("describe")
S, L = String(), Long()
Case = Callable[[StreamsBuilder], None]
CASES: dict[str, Case] = {}

# Where our groups differ: Kafka Streams puts the topics before the repartition into the group of a cogroup, which asks
# for more than is needed (the topics behind it are read together), and loses track behind a shared repartition or a
# suppress.
OTHER_GROUPS = {
    "joined-twice": "[[app-KSTREAM-KEY-SELECT-0000000001-repartition, s, t, u]]",
    "suppress-joined": "[[a, s]]",
    "cogroup-rekeyed": "[[app-co-repartition, b]]",
    "cogroup-named-groups": "[[app-one-repartition, app-two-repartition]]",
}


def case(function: Case) -> Case:
    CASES[function.__name__.replace("_", "-")] = function
    return function


def stream(b: StreamsBuilder, topic: str) -> KStream:
    return b.stream(topic, key=S, value=S)


def table(b: StreamsBuilder, topic: str) -> KTable:
    return b.table(topic, key=S, value=S)


def yes(key: str, value: str) -> bool:
    return True


def same(value: str) -> str:
    return value


def pair(key: str, value: str) -> tuple[str, str]:
    return value, value


def both(left: str, right: str) -> str:
    return left + right


def add(key: str, value: str, aggregate: str) -> str:
    return aggregate + value


def last(aggregate: str, value: str) -> str:
    return value


def empty() -> str:
    return ""


class Pass(Processor):
    pass


class Transform(ValueTransformer):
    pass


@case
def stateless(b: StreamsBuilder) -> None:
    a = stream(b, "a")
    chain = a.filter(yes).filter_not(yes).map_values(same).map(pair).flat_map_values(lambda v: [v])
    chain.flat_map(lambda k, v: [(k, v)]).select_key(lambda k, v: v).peek(yes).to("out")
    a.foreach(yes)
    a.print("here")
    a.merge(stream(b, "b")).to("merged")
    b.stream(["c", "d"], key=S, value=S).to(lambda key, value, context: value)


@case
def named(b: StreamsBuilder) -> None:
    good = b.stream("a", key=S, value=S, name="source").filter(yes, name="good").map_values(same, name="mapped")
    group = good.select_key(lambda k, v: v, name="rekey").group_by_key(name="groups")
    group.count(name="counter", store="counts").to_stream(name="out-stream").to("out", name="sink")


@case
def branch(b: StreamsBuilder) -> None:
    branches = stream(b, "a").split().branch(yes).branch(yes).default_branch()
    for number, name in enumerate(sorted(branches)):
        branches[name].to(f"out{number}")


@case
def branch_named(b: StreamsBuilder) -> None:
    branches = stream(b, "a").split(name="by-").branch(yes, name="good").branch(yes).no_default_branch()
    branches["by-good"].to("good")
    branches["2"].to("second")


@case
def count(b: StreamsBuilder) -> None:
    stream(b, "a").group_by_key().count().to("out")


@case
def group_by_count(b: StreamsBuilder) -> None:
    stream(b, "a").group_by(lambda k, v: v).count().to("out")


@case
def group_by_named(b: StreamsBuilder) -> None:
    stream(b, "a").group_by(lambda k, v: v, name="regroup").reduce(last).to("out")


@case
def rekeyed_twice(b: StreamsBuilder) -> None:
    by_user = stream(b, "a").filter(yes).select_key(lambda k, v: v)
    by_user.group_by_key().count(store="counts").to("counts-out")
    by_user.group_by_key().reduce(last).to("reduced")


@case
def grouped_reused(b: StreamsBuilder) -> None:
    group = stream(b, "a").select_key(lambda k, v: v).group_by_key()
    group.count().to("counts-out")
    group.reduce(last).to("reduced")


@case
def aggregate(b: StreamsBuilder) -> None:
    stream(b, "a").group_by_key().aggregate(empty, add).to("out")


@case
def orders(b: StreamsBuilder) -> None:
    stream_of_orders, customers = stream(b, "orders"), table(b, "customers")
    by_user = stream_of_orders.filter(yes).select_key(lambda k, v: v)
    by_user.group_by_key().count(store="orders-per-user").to("orders-per-user")
    by_user.join(customers, both).to("orders-enriched")
    windows = tumbling("1 minute", grace="10 seconds")
    by_user.group_by_key().windowed_by(windows).aggregate(empty, add).to("spent-per-minute")


@case
def windows(b: StreamsBuilder) -> None:
    group = stream(b, "a").group_by_key()
    group.windowed_by(tumbling("1 minute", grace="10 seconds")).count()
    group.windowed_by(hopping("1 minute", "10 seconds", grace="10 seconds")).reduce(last, store="hops")
    group.windowed_by(sliding("1 minute", grace="10 seconds")).count()
    group.windowed_by(session("1 minute", grace="10 seconds")).count()
    group.windowed_by(session("1 minute", grace="10 seconds")).reduce(last)
    group.windowed_by(tumbling("2 days"), emit="on_close").count(name="closing")
    group.windowed_by(sliding("1 minute")).aggregate(empty, add, name="slides")


@case
def suppress(b: StreamsBuilder) -> None:
    counts = stream(b, "a").group_by_key().windowed_by(tumbling("1 minute", grace="10 seconds")).count()
    counts.suppress(until_window_closes()).to_stream(lambda k, v: k.key).to("out")


@case
def suppress_named(b: StreamsBuilder) -> None:
    table(b, "a").suppress(until_time_limit("1 minute", max_records=10), name="hold").to("out")


def kept_tables(b: StreamsBuilder) -> None:
    t = table(b, "a")
    t.filter(yes).map_values(same).filter_not(yes, store="kept").to("out")
    t.transform_values(Transform).to("transformed")
    mapped = b.table("b", key=S, value=S, store="b-store").map_values(same, store="mapped")
    mapped.to_stream(lambda k, v: v).to("rekeyed")


CASES["table"] = kept_tables


@case
def to_table(b: StreamsBuilder) -> None:
    stream(b, "a").to_table().to("out")
    stream(b, "b").select_key(lambda k, v: v).to_table(name="as-table", store="t").to("out2")
    stream(b, "c").select_key(lambda k, v: v).to_table().to("out3")


@case
def table_group(b: StreamsBuilder) -> None:
    group = table(b, "a").group_by(pair)
    group.count().to("counts")
    group.reduce(last, last, store="reduced").to("reduced-out")
    table(b, "b").group_by(pair, name="regroup").aggregate(empty, add, add).to("aggregated")


@case
def stream_stream_join(b: StreamsBuilder) -> None:
    stream(b, "a").join(stream(b, "b"), both, within="1 minute", grace="10 seconds").to("out")


@case
def stream_stream_left(b: StreamsBuilder) -> None:
    stream(b, "a").left_join(stream(b, "b"), both, within="1 minute", grace="10 seconds").to("out")


@case
def stream_stream_outer(b: StreamsBuilder) -> None:
    left, right = stream(b, "a").select_key(lambda k, v: v), stream(b, "b").map(pair)
    left.outer_join(right, both, within="1 minute", grace="10 seconds").to("out")


@case
def stream_stream_named(b: StreamsBuilder) -> None:
    left = stream(b, "a").select_key(lambda k, v: v)
    joined = left.left_join(
        stream(b, "b"), both, within="1 minute", grace="10 seconds", name="both", store="both-store"
    )
    joined.to("out")


@case
def stream_stream_asymmetric(b: StreamsBuilder) -> None:
    left = stream(b, "a")
    left.join(stream(b, "b"), both, within="1 minute", before=0, grace="10 seconds", name="j").to("out")


@case
def stream_self_join(b: StreamsBuilder) -> None:
    a = stream(b, "a")
    a.join(a, both, within="1 minute", grace="10 seconds").to("out")


@case
def stream_table_join(b: StreamsBuilder) -> None:
    t = table(b, "t")
    stream(b, "a").join(t, both).to("out")
    stream(b, "b").left_join(t, both, name="look").to("out2")
    stream(b, "c").select_key(lambda k, v: v).left_join(t, both).to("out3")
    stream(b, "d").select_key(lambda k, v: v).join(t, both, name="named").to("out4")


@case
def stream_computed_table_join(b: StreamsBuilder) -> None:
    t = table(b, "t").filter(yes).map_values(same)
    stream(b, "a").join(t, both).to("out")


@case
def global_join(b: StreamsBuilder) -> None:
    g = b.global_table("g", key=S, value=S)
    h = b.global_table("h", key=S, value=S, store="h-store")
    stream(b, "a").join(g, both, key_selector=lambda k, v: v).to("out")
    stream(b, "b").left_join(h, both, key_selector=lambda k, v: v, name="look").to("out2")


@case
def table_table_join(b: StreamsBuilder) -> None:
    t, u = table(b, "a"), table(b, "b")
    t.join(u, both).to("out")
    t.left_join(u, both, store="left-store").to("out2")
    t.outer_join(u, both, name="both").to("out3")
    t.filter(yes).join(u.map_values(same), both).to("out4")


@case
def foreign_key_join(b: StreamsBuilder) -> None:
    table(b, "a").join(table(b, "b"), both, key_extractor=same).to("out")
    table(b, "c").left_join(table(b, "d"), both, key_extractor=same, store="fk").to("out2")


@case
def foreign_key_named(b: StreamsBuilder) -> None:
    table(b, "a").filter(yes).join(table(b, "b"), both, key_extractor=same, name="rel").to("out")


@case
def foreign_key_chain(b: StreamsBuilder) -> None:
    t = table(b, "a").join(table(b, "b"), both, key_extractor=same)
    t.left_join(table(b, "c"), both, key_extractor=same).to("out")


@case
def cogroup(b: StreamsBuilder) -> None:
    first, second = stream(b, "a").group_by_key(), stream(b, "b").group_by_key()
    first.cogroup(add).cogroup(second, add).aggregate(empty).to("out")


@case
def cogroup_rekeyed(b: StreamsBuilder) -> None:
    first, second = stream(b, "a").group_by(lambda k, v: v), stream(b, "b").group_by_key()
    windowed = first.cogroup(add).cogroup(second, add).windowed_by(tumbling("1 minute"))
    windowed.aggregate(empty, name="together", store="co").to_stream(lambda k, v: k.key).to("out")


@case
def cogroup_session(b: StreamsBuilder) -> None:
    group = stream(b, "a").group_by_key()
    sessions = group.cogroup(add).windowed_by(session("1 minute"))
    sessions.aggregate(empty, both).to_stream(lambda k, v: k.key).to("out")
    group.cogroup(add).windowed_by(sliding("1 minute")).aggregate(empty).to_stream(lambda k, v: k.key).to("out2")


@case
def cogroup_named_groups(b: StreamsBuilder) -> None:
    first = stream(b, "a").group_by(lambda k, v: v, name="one")
    second = stream(b, "b").select_key(lambda k, v: v).group_by_key(name="two")
    first.cogroup(add).cogroup(second, add).aggregate(empty).to("out")


@case
def repartition(b: StreamsBuilder) -> None:
    stream(b, "a").repartition().to("out")
    again = stream(b, "b").select_key(lambda k, v: v).repartition(name="again", partitions=5)
    again.group_by_key().count().to("out2")


@case
def process(b: StreamsBuilder) -> None:
    b.add_state_store(key_value_store("seen", key=S, value=S))
    stream(b, "a").process(Pass, stores=["seen"]).to("out")
    stream(b, "b").process_values(Pass, stores=["seen"], name="values").group_by_key().count().to("out2")
    stream(b, "c").process(Pass, name="p").group_by_key().count()


@case
def process_unnamed(b: StreamsBuilder) -> None:
    stream(b, "a").process_values(Pass).process(Pass).to("out")


@case
def shared_stores(b: StreamsBuilder) -> None:
    b.add_state_store(key_value_store("s1", key=S, value=S, persistent=False))
    b.add_state_store(timestamped_store("s2", key=S, value=S))
    b.add_state_store(window_store("s3", key=S, value=S, retention="1 hour", window_size="1 minute"))
    b.add_state_store(session_store("s4", key=S, value=S, retention="1 hour"))
    stream(b, "a").process(Pass, name="p1", stores=["s1", "s2", "s3", "s4"])
    stream(b, "b").process(Pass, name="p2", stores=["s4"])
    stream(b, "c").process(Pass, name="p3")


@case
def two_steps(b: StreamsBuilder) -> None:
    counts = stream(b, "a").group_by_key().count().to_stream()
    counts.map(lambda k, v: ("all", k)).group_by_key().reduce(last).to("out")


@case
def through_topic(b: StreamsBuilder) -> None:
    stream(b, "a").to("middle")
    stream(b, "middle").group_by_key().count().to("out")


@case
def merge_rekeyed(b: StreamsBuilder) -> None:
    merged = stream(b, "a").select_key(lambda k, v: v).merge(stream(b, "b"), name="one")
    merged.group_by_key().count().to("out")


@case
def same_topic_twice(b: StreamsBuilder) -> None:
    stream(b, "a").filter(yes).to("out")
    stream(b, "a").map_values(same).to("out2")


@case
def window_table_join(b: StreamsBuilder) -> None:
    counts = stream(b, "a").group_by_key().windowed_by(tumbling("1 minute", grace="10 seconds")).count(store="w")
    counts.filter(yes).map_values(same).to_stream(lambda k, v: k.key).to("out")


@case
def unlogged(b: StreamsBuilder) -> None:
    stream(b, "a").group_by_key().count(store=in_memory("c", logged=False)).to("out")


@case
def retention(b: StreamsBuilder) -> None:
    windowed = stream(b, "a").group_by_key().windowed_by(tumbling("1 minute"))
    windowed.count(store=persistent("w", retention="2 hours")).to_stream(lambda k, v: k.key).to("out")


@case
def named_group_reused(b: StreamsBuilder) -> None:
    group = stream(b, "a").group_by(lambda k, v: v, name="g")
    group.count().to("counts")
    group.reduce(last).to("reduced")
    group.windowed_by(tumbling("1 minute")).count()


@case
def joined_twice(b: StreamsBuilder) -> None:
    a = stream(b, "a").select_key(lambda k, v: v)
    a.join(table(b, "t"), both).to("out")
    a.left_join(table(b, "u"), both).to("out2")
    a.join(stream(b, "s"), both, within="1 minute").to("out3")


@case
def named_table_group_reused(b: StreamsBuilder) -> None:
    group = b.table("a", key=S, value=S, name="rows").group_by(pair, name="g")
    group.count().to("counts")
    group.reduce(last, last, name="red").to("reduced")


@case
def join_of_join(b: StreamsBuilder) -> None:
    t = table(b, "a").outer_join(table(b, "b"), both)
    stream(b, "s").join(t.map_values(same), both).to("out")
    t.group_by(pair).count().to("out2")


@case
def suppress_joined(b: StreamsBuilder) -> None:
    t = table(b, "a").suppress(until_time_limit("1 minute"))
    stream(b, "s").left_join(t, both).to("out")


@case
def many_branches(b: StreamsBuilder) -> None:
    s = stream(b, "a")
    for i in range(9):
        filtered = s.filter(yes, name=f"f{i}")
        for _ in range(i % 3 + 1):
            filtered = filtered.map_values(same)
        filtered.merge(s.peek(yes), name=f"m{i}").to(f"t{i}")


@case
def windowed_rekeyed(b: StreamsBuilder) -> None:
    sessions = stream(b, "a").group_by(lambda k, v: v).windowed_by(session("1 minute"))
    sessions.count().to_stream(lambda k, v: k.key).to("out")


def internal_topics(topology: Topology) -> str:
    """In the form in which Describe.java prints them."""
    lines = ["Internal topics:"]
    for sub in topology.subtopologies:
        lines.append(
            f"  {sub.id} sources [{', '.join(sorted(sub.source_topics))}] sinks [{', '.join(sorted(sub.sink_topics))}]"
        )
        changelogs = {f"{topology.application_id}-{store.name}-changelog" for store in sub.stores}
        for kind, names in (("repartition", set(sub.source_topics)), ("changelog", changelogs)):
            for name in sorted(names & topology.internal_topics.keys()):
                topic = topology.internal_topics[name]
                assert topic.kind == kind
                configs = ", ".join(f"{key}={topic.configs[key]}" for key in sorted(topic.configs))
                lines.append(f"   {kind} {name} partitions={topic.partitions or '-'} {{{configs}}}")
    groups = [f"[{', '.join(sorted(group))}]" for group in topology.copartitioned]
    return "\n".join([*lines, f"Co-partitioned: [{', '.join(groups)}]", ""])


@pytest.mark.parametrize("name", CASES)
def test_as_kafka_streams_prints_it(name: str) -> None:
    builder = StreamsBuilder("app")
    CASES[name](builder)
    topology = builder.build()
    expected, _, topics = (FOLDER / f"{name}.txt").read_text().partition("Internal topics:\n")
    # The class of a topic extractor is the language's own business.
    extractor = re.compile(r"extractor class: [^)]+")
    assert extractor.sub("extractor", topology.describe()) == extractor.sub("extractor", expected)
    topics, _, groups = topics.partition("Co-partitioned: ")
    # A group of one topic asks for nothing, and we leave it out.
    groups = OTHER_GROUPS.get(name, re.sub(r"\[\w+\](, )?", "", groups.strip()))
    assert internal_topics(topology) == f"Internal topics:\n{topics}Co-partitioned: {groups}\n"


def test_every_text_of_kafka_streams_has_its_topology() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CASES)


def test_windowed_keys_get_the_serde_of_their_windows() -> None:
    group = stream(StreamsBuilder("app"), "a").group_by_key()
    assert group.windowed_by(tumbling("1 minute")).count()._key == TimeWindowed(S, 60_000)
    assert group.windowed_by(sliding("1 minute")).count()._key == TimeWindowed(S, 60_000)
    assert group.windowed_by(session("1 minute")).count()._key == SessionWindowed(S)
