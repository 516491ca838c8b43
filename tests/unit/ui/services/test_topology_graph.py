"""Topologies as the plan's own `describe` prints them, read back and drawn."""

from __future__ import annotations

from caudal.streams import StreamsBuilder
from caudal.ui.services.topology_graph import mermaid, outline, read


def counting() -> str:
    builder = StreamsBuilder("app")
    builder.stream("words").group_by(lambda key, value: value).count().to_stream().to("counts")
    return builder.build().describe()


def test_sub_topologies_topics_and_stores_are_read() -> None:
    first, second = (outline(sub) for sub in read(counting()))
    assert (first.id, first.reads, first.keeps) == ("0", ("words",), ())
    assert second.reads == first.writes
    assert len(second.keeps) == 1
    assert second.writes == ("counts",)


def test_the_drawing_has_a_box_for_each_sub_topology_and_the_way_of_a_record() -> None:
    drawn = mermaid(read(counting()), {"words": "WORDS"})
    assert drawn.count("subgraph") == 2
    assert '(["WORDS<br/>words"])' in drawn
    ids = {line.split("([")[0].strip() for line in drawn.splitlines() if "([" in line}
    assert len(ids) == 3  # words, the topic between, counts
    assert sum(any(end in line for end in ids) for line in drawn.splitlines() if "-->" in line) == 4


def test_names_cannot_leave_their_label() -> None:
    text = 'Topologies:\n  Sub-topology: 0\n    Source: S (topics: [a"]; b])\n      --> none\n'
    for line in mermaid(read(text)).splitlines():
        assert line.count('"') in (0, 2)


def test_a_text_that_is_no_topology_is_an_empty_graph() -> None:
    assert read("nothing of the kind") == []
    assert mermaid([]) == "flowchart TB\n"
