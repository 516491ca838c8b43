"""Transforms are applied in order, where their predicates say so; an error tells its stage."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.connect import ConfigError, DataError, SourceRecord
from caudal.connect.transform_chain import chain_def, transforms_of

pytestmark = pytest.mark.usefixtures("parts")


def record(value: str) -> SourceRecord:
    return SourceRecord({}, {}, "t", value)


def chain(**config: str) -> Any:
    return transforms_of({name.replace("_", "."): value for name, value in config.items()})


def test_no_transforms() -> None:
    made = chain()
    assert not made and made.apply("as it is") == "as it is"


def test_in_their_order() -> None:
    made = chain(
        transforms="b, a",
        transforms_a_type="Suffix",
        transforms_a_text="A",
        transforms_b_type="Suffix",
        transforms_b_text="B",
    )
    assert made and made.apply(record("x")).value == "xBA"
    assert [stage.alias for stage in made.stages] == ["b", "a"]
    made.close()
    assert all(stage.closing[0].closed for stage in made.stages)


def test_a_dropped_record_goes_no_further() -> None:
    made = chain(transforms="d,r", transforms_d_type="DropAll", transforms_r_type="Refuse")
    assert made.apply(record("x")) is None and made.failed is None


@pytest.mark.parametrize(("negate", "short", "long"), [("false", "x", "xxxx+"), ("true", "x+", "xxxx")])
def test_predicates(negate: str, short: str, long: str) -> None:
    made = chain(
        transforms="a",
        transforms_a_type="Suffix",
        transforms_a_text="+",
        transforms_a_predicate="p",
        transforms_a_negate=negate,
        predicates="p",
        predicates_p_type="IsLong",
        predicates_p_size="3",
    )
    assert [made.apply(record(value)).value for value in ("x", "xxxx")] == [short, long]


def test_the_stage_of_an_error_is_known() -> None:
    made = chain(
        transforms="a,r", transforms_a_type="Suffix", transforms_a_text="", transforms_r_type="com.example.Refuse"
    )
    with pytest.raises(DataError, match="not this one"):
        made.apply(record("x"))
    assert made.failed.alias == "r" and made.failed.class_name == "com.example.Refuse"


def test_an_error_of_a_predicate_is_booked_on_the_predicate() -> None:
    made = chain(
        transforms="a",
        transforms_a_type="Suffix",
        transforms_a_text="+",
        transforms_a_predicate="p",
        predicates="p",
        predicates_p_type="IsLong",
        predicates_p_size="3",
    )
    with pytest.raises(DataError, match="nothing has no length"):
        made.apply(SourceRecord({}, {}, "t", None))
    assert made.failed.alias == "a" and made.failed_class.endswith("IsLong")
    with pytest.raises(TypeError):
        made.apply(SourceRecord({}, {}, "t", (1, 2, 3)))
    assert made.failed_class.endswith("Suffix")


PREDICATED = {
    "transforms": "a",
    "transforms.a.type": "DropAll",
    "transforms.a.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "IsLong",
    "predicates.p.size": "3",
}
BETWEEN = {"transforms": "a", "transforms.a.type": "Between"}


@pytest.mark.parametrize(
    ("config", "key", "why"),
    [
        ({**PREDICATED, "transforms.a.negate": "maybe"}, "transforms.a.negate", "configuration transforms.a.negate:"),
        ({**PREDICATED, "predicates.p.size": "13"}, "predicates.p.size", "`predicates.p.size` must not be 13"),
        ({**PREDICATED, "transforms.a.plugin.version": "99"}, "transforms.a.plugin.version", "is installed in"),
        ({**PREDICATED, "predicates.p.plugin.version": "99"}, "predicates.p.plugin.version", "is installed in"),
        ({**BETWEEN, "transforms.a.low": "1"}, "transforms.a.low", "low.high is 0, less than transforms.a.low."),
        ({**BETWEEN, "transforms.a.low.high": "13"}, "transforms.a.type", "transforms.a.type: 13 brings bad luck."),
        ({"transforms": "a"}, "transforms.a.type", "Missing required"),
        ({"transforms": "a", "transforms.a.type": "Sufix"}, "transforms.a.type", "did you mean Suffix"),
        ({"transforms": "a", "transforms.a.type": "Suffix"}, "transforms.a.text", '"transforms.a.text" which has no'),
        (
            {"transforms": "a", "transforms.a.type": "DropAll", "transforms.a.predicate": "p"},
            "transforms.a.predicate",
            "names the predicate 'p'",
        ),
        (
            {"transforms": "a", "transforms.a.type": "DropAll", "transforms.a.negate": "true"},
            "transforms.a.negate",
            "no config 'transforms.a.predicate'",
        ),
        (
            {
                "transforms": "a",
                "transforms.a.type": "DropAll",
                "transforms.a.predicate": "p",
                "predicates": "p",
                "predicates.p.type": "IsLong",
                "predicates.p.size": "wide",
            },
            "predicates.p.size",
            "Invalid value wide for configuration predicates.p.size",
        ),
    ],
)
def test_wrong_chains_name_the_property(config: dict[str, str], key: str, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        transforms_of(config)
    assert raised.value.key == key and why in str(raised.value)


def test_the_keys_of_a_chain_have_its_prefixes() -> None:
    config = {"transforms": "a", "transforms.a.type": "Suffix", "predicates": "p"}
    keys = {key.name: key for key in chain_def(config).keys}
    assert list(keys) == [
        "transforms.a.type",
        "transforms.a.plugin.version",
        "transforms.a.predicate",
        "transforms.a.negate",
        "transforms.a.text",
        "predicates.p.type",
        "predicates.p.plugin.version",
    ]
    assert keys["transforms.a.text"].group == "Transforms: a"
    recommend = keys["transforms.a.type"].recommender
    assert recommend is not None and {"Suffix", "DropAll"} <= set(recommend({}))
