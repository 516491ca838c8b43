"""Which lane runs a topology: what is recognised as native, what is not and why, and the text of the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from caudal.plan.errors import PlanError
from caudal.plan.lane import Circumstances, Lane, decide
from caudal.plan.native import NotNative, native_plan, without_state
from caudal.serde import Bytes, Double, Json, Long, Serde, String
from caudal.streams import KStream, StreamsBuilder, sliding

ORDERS = Json(schema="user STRING, amount BIGINT, price DOUBLE, paid BOOLEAN")
AT_LEAST_ONCE = Circumstances("at_least_once")


def topology(act: Callable[[KStream], Any], key: Serde | None = None, value: Serde = ORDERS) -> Any:
    builder = StreamsBuilder("app")
    act(builder.stream("orders", key=key or String(), value=value))
    return builder.build()


NATIVE: list[Callable[[KStream], Any]] = [
    lambda s: s.to("out"),
    lambda s: s.filter("amount > 0").to("out"),
    lambda s: s.filter_not("paid").to("out"),
    lambda s: s.filter("key LIKE 'a%' AND value IS NOT NULL").to("out"),
    lambda s: s.map_values("STRUCT(user, amount * 2 AS total)").filter("total > 4").to("out"),
    lambda s: s.select_key("user || '-' || amount").to("out"),
    lambda s: s.map("(user, price)", value=Json()).to("out"),
    lambda s: s.map_values("amount", value=Long()).to("out"),
    lambda s: s.merge(s.map_values("STRUCT(user)")).to("out"),
    lambda s: s.split(name="b").branch("paid").default_branch(name="0")["b0"].to("out"),
]


@pytest.mark.parametrize("act", NATIVE)
def test_stateless_chains_of_sql_are_native(act: Callable[[KStream], Any]) -> None:
    given = Circumstances("at_least_once", append_time={"out"})
    assert decide(topology(act), Lane.AUTO, given).lane is Lane.NATIVE


NOT_NATIVE: list[tuple[Callable[[KStream], Any], str]] = [
    (lambda s: s.filter(lambda v: True).to("out"), "KSTREAM-FILTER-0000000001 has the Python function"),
    (lambda s: s.peek(print).to("out"), "KSTREAM-PEEK-0000000001 (Peek) has no native form"),
    (lambda s: s.flat_map_values("ARRAY[1]").to("out"), "(FlatMapValues) has no native form"),
    (lambda s: s.filter("user RLIKE 'a+'").to("out"), "'user RLIKE 'a+'' has no Spark form"),
    (lambda s: s.map_values("round(price)").to("out"), "ROUND is not the same in Spark"),
    (lambda s: s.filter("amount > price").to("out"), "BIGINT > DOUBLE is not the same in Spark"),
    (lambda s: s.filter("user = amount").to("out"), "STRING = BIGINT is not the same in Spark"),
    (lambda s: s.filter("amount").to("out"), "is BIGINT and not BOOLEAN"),
    (lambda s: s.map_values("CAST(user AS INT)").to("out"), "CAST from STRING to INT is not the same"),
    (lambda s: s.map_values("CAST(price AS STRING)").to("out"), "CAST from DOUBLE to TEXT is not the same"),
    (lambda s: s.map_values("user || price").to("out"), "DOUBLE is written as text in another way"),
    (lambda s: s.map_values("substring(user, -2, 1)").to("out"), "not negative where there is a length"),
    (lambda s: s.map_values("replace(user, '')").to("out"), "must be a constant text that is not empty"),
    (lambda s: s.map_values("user.name").to("out"), "STRING has no field 'name'"),
    (lambda s: s.to(lambda k, v: "out"), "chooses its topic by the function"),
    (lambda s: s.to("out", partitioner=lambda k, v, n: 0), "chooses partitions by the function"),
    (lambda s: s.to("out", value=Long()), "value=Long() what is STRUCT, which has no native form"),
    (lambda s: s.select_key("price", key=Json()).to("out"), "a DOUBLE, which the task lane spells in its own way"),
    (lambda s: s.map_values("STRUCT(value AS all)").to("out"), "it takes a whole document"),
    (lambda s: s.to("out", value=Json(sort_keys=True)), "only the declared fields are known"),
    (lambda s: s.repartition().to("out"), "it needs internal topics"),
    (lambda s: s.to_table().to_stream().to("out"), "(StreamToTable) has no native form"),
    (lambda s: s.filter("amount > 0"), "KSTREAM-SOURCE-0000000000 leads to no topic"),
]


@pytest.mark.parametrize(("act", "said"), NOT_NATIVE, ids=[said for _, said in NOT_NATIVE])
def test_what_is_not_native_is_said_with_the_step(act: Callable[[KStream], Any], said: str) -> None:
    made = topology(act)
    with pytest.raises(NotNative) as raised:
        native_plan(made)
    assert said in str(raised.value)
    decision = decide(made, Lane.AUTO, AT_LEAST_ONCE)
    assert decision.lane is Lane.TASK
    assert said in decision.reason
    with pytest.raises(PlanError, match="'app' cannot run in the native lane: ") as refused:
        decide(made, Lane.NATIVE, AT_LEAST_ONCE)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Json(), "value=Json(), whose values have no type before they are read; declare the fields"),
        (Double(), "value=Double(), whose values have no type"),
        (String("latin-1"), "value=String('latin-1')"),
    ],
)
def test_values_without_types_are_not_native(value: Serde, said: str) -> None:
    with pytest.raises(NotNative) as raised:
        native_plan(topology(lambda s: s.to("out"), value=value))
    assert "KSTREAM-SOURCE-0000000000 reads 'orders' with " + said in str(raised.value)


def test_the_guarantee_decides_first() -> None:
    made = topology(NATIVE[1])
    for guarantee, said in (("exactly_once", "always means the task lane"), ("at_most_once", "commits before")):
        decision = decide(made, Lane.AUTO, Circumstances(guarantee, append_time={"out"}))
        assert decision.lane is Lane.TASK
        assert said in decision.reason
        with pytest.raises(PlanError, match=said):
            decide(made, Lane.NATIVE, Circumstances(guarantee))


def test_auto_needs_topics_that_stamp_records_themselves() -> None:
    made = topology(NATIVE[1])
    assert decide(made, Lane.AUTO, AT_LEAST_ONCE).lane is Lane.TASK
    unstamped = decide(made, Lane.AUTO, Circumstances("at_least_once", append_time={"other"}))
    assert unstamped.lane is Lane.TASK
    assert "'out' keeps the time that it is given" in unstamped.reason
    assert decide(made, Lane.NATIVE, AT_LEAST_ONCE).lane is Lane.NATIVE
    assert decide(made, Lane.TASK, AT_LEAST_ONCE).reason == "as asked for"


def test_handlers_that_go_on_need_steps_that_cannot_fail() -> None:
    careful = topology(lambda s: s.filter("price > 1.5 AND user <> 'x'").to("out"))
    failing = topology(lambda s: s.map_values("amount * 2", value=Json()).to("out"))
    skipping = Circumstances("at_least_once", on_processing_error="skip", append_time={"out"})
    assert decide(careful, Lane.AUTO, skipping).lane is Lane.NATIVE
    refused = decide(failing, Lane.AUTO, skipping)
    assert refused.lane is Lane.TASK
    assert "when KSTREAM-MAPVALUES-0000000001 fails for a record" in refused.reason
    assert decide(failing, Lane.AUTO, Circumstances("at_least_once", append_time={"out"})).lane is Lane.NATIVE
    producing = Circumstances("at_least_once", on_produce_error="skip", append_time={"out"})
    assert "Spark's sink does not" in decide(careful, Lane.AUTO, producing).reason


def test_a_column_is_native_or_refused_by_name() -> None:
    class Column:
        __module__ = "pyspark.sql.classic.column"

    def act(stream: KStream) -> None:
        stream.filter(Column(), name="positive").to("out")  # type: ignore[arg-type]

    made = topology(act)
    assert decide(made, Lane.AUTO, AT_LEAST_ONCE).lane is Lane.NATIVE
    for lane, given in ((Lane.TASK, AT_LEAST_ONCE), (Lane.AUTO, Circumstances("exactly_once"))):
        with pytest.raises(PlanError, match="positive has a PySpark Column, which runs in the native lane only"):
            decide(made, lane, given)


def test_unchanged_bytes_pass_and_paths_carry_their_conditions() -> None:
    def act(stream: KStream) -> None:
        branches = stream.split(name="by-").branch("amount > 9", name="large").default_branch(name="small")
        branches["by-large"].to("large", value=Bytes())
        branches["by-small"].filter("length(key) = 1").to("small", value=Bytes())

    with pytest.raises(NotNative, match=r"KSTREAM-SINK-\d+ writes to 'large' with value=Bytes\(\) what is STRUCT"):
        native_plan(topology(act))
    plan = native_plan(topology(lambda s: s.filter("value <> 'x'").to("out"), value=String()))
    (output,) = plan.sources[0].outputs
    assert (output.key, output.value) == ("_key", "_value")
    assert output.where == "coalesce((CAST(_value AS STRING) <> 'x'), FALSE)"
    small = native_plan(
        topology(lambda s: s.split(name="b").branch("amount > 9").default_branch(name="0")["b0"].to("out"))
    )
    assert small.sources[0].outputs[0].where == "(NOT coalesce((get(_vp.v, 0).`amount` > 9L), FALSE))"


def test_counts_are_native_on_request_only() -> None:
    def per_user(stream: KStream) -> None:
        stream.filter("amount > 0").group_by("user").count().to("out", value=Long())

    made = topology(per_user)
    assert decide(made, Lane.AUTO, Circumstances("at_least_once", append_time={"out"})).lane is Lane.TASK
    plan = decide(made, Lane.NATIVE, AT_LEAST_ONCE).plan
    assert plan is not None
    assert plan.count is not None
    (output,) = plan.sources[0].outputs
    assert output.topic == "out"
    assert output.key == "CAST(CAST(get(_vp.v, 0).`user` AS STRING) AS BINARY)"
    assert output.where is not None
    assert "NOT (_value IS NULL)" in output.where
    hosted = without_state(made)
    assert hosted.internal_topics == {}
    assert [(sub.source_topics, sub.sink_topics) for sub in hosted.subtopologies] == [(("orders",), ("out",))]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda s: s.group_by_key().reduce("aggregate").to("out"), "(Reduce) has no native form"),
        (lambda s: s.group_by_key().aggregate("1", "aggregate + 1", value=Long()).to("out"), "is not a count()"),
        (lambda s: s.group_by_key().count().filter("value > 1").to("out"), "something else behind it"),
        (lambda s: s.group_by_key().count().to("out", value=Json()), "writes a count with"),
        (lambda s: (s.to("all"), s.group_by_key().count().to("out")), "Spark runs a count alone"),
        (lambda s: s.group_by_key().windowed_by(sliding("1 s")).count().to_stream().to("out"), "sliding windows"),
    ],
)
def test_other_aggregates_are_not(act: Callable[[KStream], Any], said: str) -> None:
    with pytest.raises(PlanError) as raised:
        decide(topology(act), Lane.NATIVE, AT_LEAST_ONCE)
    assert said in str(raised.value)
