r"""The ten most played songs: a result over all partitions, in two phases.

Shows: how to get one global answer without sending every record to one place. Phase one counts the songs in as many
tasks as there are partitions; each task keeps the top ten *of its partition*, and says so only when they change.
Phase two is one task over a topic with a single partition: it merges those short lists. Every song lives in one
partition, so the top ten of all are among the top tens of each.

Run it, with a broker at localhost:9092 (`caudal broker`):

    caudal topic create plays -p 4
    caudal run examples/top_ten.py

Feed it from another terminal (who played, and what), and look:

    printf '%s\n' 'ana:{"song": "Solo"}' 'eva:{"song": "Duo"}' 'ana:{"song": "Duo"}' | caudal produce plays -K :
    caudal consume top-ten
"""

from caudal.serde import Json, String
from caudal.streams import Processor, StreamsBuilder, key_value_store

SIZE = 10

builder = StreamsBuilder("top-ten")


def best(songs):
    """The first ten of [song, plays] pairs; equal numbers of plays go by name, so that the order is one."""
    return sorted(songs, key=lambda song: (-song[1], song[0]))[:SIZE]


class TopOfPartition(Processor):
    """Keeps the top ten of this task. Counts only grow, so a song that is out comes back with its next play."""

    def init(self, context):
        super().init(context)
        self.store = context.get_state_store("top-of-partition")
        self.partition = context.task_id  # such as 1_3: sub-topology 1, partition 3

    def process(self, record):
        before = self.store.get(self.partition) or []
        others = [song for song in before if song[0] != record.key]
        now = best([*others, [record.key, record.value]])
        if now != before:
            self.store.put(self.partition, now)
            # One key for all: phase two is one aggregate.
            self.context.forward(record.with_key("top").with_value({"from": self.partition, "songs": now}))


def merged(key, partial, lists):
    return {**lists, partial["from"]: partial["songs"]}


plays = builder.stream("plays", key=String(), value=Json())

# Phase one: as many tasks as `plays` has partitions.
counts = plays.group_by(lambda user, play: play["song"], name="by-song").count(store="plays-per-song")
partial = counts.to_stream().process(
    TopOfPartition, stores=[key_value_store("top-of-partition", key=String(), value=Json())], value=Json()
)

# Phase two: a topic with one partition, so one task.
lists = partial.repartition(partitions=1, name="partial").group_by_key().aggregate(dict, merged, store="partial-lists")
lists.map_values(lambda lists: best(song for songs in lists.values() for song in songs)).to("top-ten")

if __name__ == "__main__":
    builder.run()
