r"""Word count: how often each word has come, over all lines so far.

Shows: a stream, a new key (`group_by` sends the words through a repartition topic, so that equal words meet in one
partition), a table with a named store, and its changes written to a topic.

Run it, with a broker at localhost:9092 (`caudal broker`):

    caudal topic create lines -p 2
    caudal run examples/word_count.py

Feed it from another terminal, and look:

    printf '%s\n' 'The river is long' 'the RIVER runs' | caudal produce lines
    caudal consume word-counts -K ': '

Every line you send prints the new counts of its words.
"""

import re

from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

builder = StreamsBuilder("word-count")

lines = builder.stream("lines", key=String(), value=String())
words = lines.flat_map_values(lambda line: re.findall(r"\w+", line.lower()))
counts = words.group_by(lambda key, word: word).count(store="counts")
counts.to("word-counts", value=Json())  # JSON and not Long, so that a terminal can show it

if __name__ == "__main__":
    builder.run()  # the flags of `caudal run` from the command line
