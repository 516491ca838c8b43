"""The pure parts of the group pages: filters, cells, the form's state in the URL."""

from __future__ import annotations

from caudal.ui.pages.groups.figures import figure, lag_tone, state_tone
from caudal.ui.pages.groups.list_page import chosen_groups
from caudal.ui.pages.groups.member_table import assignment_text
from caudal.ui.pages.groups.reset_form import parsed_topics, signed
from caudal.ui.services.groups import Listing

GROUPS = [
    Listing("billing", "stable", "classic"),
    Listing("Billing-EU", "empty", "classic"),
    Listing("audit", "empty", ""),
]


def test_groups_are_chosen_by_name_and_state() -> None:
    assert [each.name for each in chosen_groups(GROUPS, " bill", "")] == ["billing", "Billing-EU"]
    assert [each.name for each in chosen_groups(GROUPS, "", "empty")] == ["Billing-EU", "audit"]
    assert chosen_groups(GROUPS, "bill", "dead") == []


def test_an_assignment_is_short_and_counts_the_rest() -> None:
    assert assignment_text([("a", 0), ("a", 2), ("b", 1)]) == "a: 0, 2 · b: 1"
    assert assignment_text([("a", number) for number in range(15)]).endswith("10, 11 and 3 more")
    assert assignment_text([]) == "–"


def test_the_topics_of_the_form_are_read_from_the_url() -> None:
    assert parsed_topics("orders:0-2; payments ;") == {"orders": "0-2", "payments": ""}
    assert parsed_topics("") == {}


def test_changes_have_a_sign() -> None:
    assert [signed(change) for change in (1500, -3, 0, None)] == ["+1,500", "−3", "0", "–"]


def test_figures_sort_by_their_number_with_what_is_missing_first() -> None:
    assert [figure(value)["sort"] for value in (None, 0, 12)] == [-1, 0, 12]


def test_tones_say_what_needs_attention() -> None:
    assert (lag_tone(0), lag_tone(3), lag_tone(None)) == ("", "warn", "")
    assert (state_tone("stable"), state_tone("preparing rebalancing"), state_tone("empty")) == ("good", "warn", "")
