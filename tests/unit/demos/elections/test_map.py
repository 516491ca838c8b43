"""The map in the package: all regions, small, attributed, and drawn inside its frame."""

from __future__ import annotations

import json
import re
from importlib import resources

from caudal.demos.elections.country import COMMUNITIES

TEXT = resources.files("caudal.demos.elections").joinpath("spain.json").read_text(encoding="utf-8")
MAP = json.loads(TEXT)


def test_every_community_and_city_has_an_outline() -> None:
    assert [region["code"] for region in MAP["regions"]] == [community.code for community in COMMUNITIES]
    assert all(re.fullmatch(r"(M[-\d. ]+l[-\d. ]+z)+", region["path"]) for region in MAP["regions"])


def test_the_file_is_small_and_names_its_makers() -> None:
    assert len(TEXT.encode()) <= 60_000
    assert MAP["attribution"] == "© Instituto Geográfico Nacional de España, CC-BY 4.0 (via es-atlas, MIT)"


def test_the_canary_islands_are_in_their_frame_and_the_rest_outside() -> None:
    x, y, width, height = MAP["frame"]
    for region in MAP["regions"]:
        at_x, at_y = region["centre"]
        inside = x <= at_x <= x + width and y <= at_y <= y + height
        assert inside is (region["code"] == "05")
        assert 0 <= at_x <= MAP["width"]
        assert 0 <= at_y <= MAP["height"]


def test_the_two_cities_can_be_seen() -> None:
    assert {region["code"] for region in MAP["regions"] if region.get("dot")} == {"18", "19"}
