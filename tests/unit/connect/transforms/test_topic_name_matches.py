"""TopicNameMatches."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check_bad_config, check_predicate

from caudal.connect.data import STRING
from caudal.connect.transforms.predicates.topic_name_matches import TopicNameMatches

CASES = [
    Case("the name", {"pattern": "orders"}, "v", STRING, True),
    Case("an expression", {"pattern": "ord.*"}, "v", STRING, True),
    Case("a part is not enough", {"pattern": "order"}, "v", STRING, False),
    Case("another", {"pattern": "sales|orders"}, "v", STRING, True),
    Case("Java's letters", {"pattern": r"\p{Alpha}{6}"}, "v", STRING, True),
    Case("capitals", {"pattern": "ORDERS"}, "v", STRING, False),
    Case("capitals, either", {"pattern": "(?i)ORDERS"}, "v", STRING, True),
    Case("a tombstone", {"pattern": "orders"}, None, None, True),
]
BAD_CONFIGS = [
    BadConfig("no pattern", {}, "pattern"),
    BadConfig("an empty pattern", {"pattern": ""}, "An empty text is not a value"),
    BadConfig("an open bracket", {"pattern": "["}, "is no regular expression"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_topic_name_matches(case: Case) -> None:
    check_predicate(TopicNameMatches, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(TopicNameMatches, case)
