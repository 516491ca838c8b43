"""The application that test_standby runs with `caudal run`; topics and id come from the environment."""

import os

from caudal.serde import Long, String
from caudal.streams import StreamsBuilder

builder = StreamsBuilder(os.environ["APPLICATION"])


def words(line: str) -> list[str]:
    return line.split()


(
    builder.stream(os.environ["SOURCE"], key=String(), value=String())
    .flat_map_values(words)
    .select_key(lambda key, word: word)
    .group_by_key(key=String(), value=String())
    .count(store="counts")
    .to_stream()
    .to(os.environ["TARGET"], key=String(), value=Long())
)

if __name__ == "__main__":
    builder.run()
