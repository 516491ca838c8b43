r"""Sensors: an alarm when one is silent, and an average every minute. Written with the Processor API.

Shows: a processor with two stores, and both kinds of punctuator. Silence is about the wall clock: nothing arrives, and
that is the news. Averages are about stream time, which is the time in the records: they come out right when
old data is read again, however quickly.

Run it, with a broker at localhost:9092 (`caudal broker`):

    caudal topic create readings -p 2
    caudal run examples/processor_api.py

Feed it from another terminal, and look; half a minute after its last reading a sensor is reported silent:

    printf '%s\n' 'boiler={"celsius": 61}' 'cellar={"celsius": 12}' | caudal produce readings -K =
    caudal consume alarms averages -f '%t %k %s\n'
"""

from caudal.serde import Json, Long, String
from caudal.streams import Processor, PunctuationType, Record, StreamsBuilder, key_value_store

SILENCE = 30_000  # milliseconds

builder = StreamsBuilder("sensors")


class Watch(Processor):
    """One object per task: it sees the sensors of its partition, and so do its stores."""

    def init(self, context):
        super().init(context)
        self.last_seen = context.get_state_store("last-seen")  # sensor → when it was heard of, by the wall clock
        self.sums = context.get_state_store("sums")  # sensor → sum and number of the readings since the last average
        context.schedule("5 seconds", PunctuationType.WALL_CLOCK_TIME, self.report_silence)
        context.schedule("1 minute", PunctuationType.STREAM_TIME, self.report_averages)

    def process(self, record):
        sensor, celsius = record.key, record.value["celsius"]
        if self.last_seen.get(sensor) is None:
            self.forward_alarm(sensor, "heard", record.timestamp)
        self.last_seen.put(sensor, self.context.current_system_time())
        total, number = self.sums.get(sensor) or (0, 0)
        self.sums.put(sensor, [total + celsius, number + 1])

    def report_silence(self, now):
        for sensor, seen in self.last_seen.all():
            if now - seen >= SILENCE:
                self.last_seen.delete(sensor)  # said once; the next reading begins anew
                self.forward_alarm(sensor, "silent", now)

    def report_averages(self, now):
        for sensor, (total, number) in self.sums.all():
            self.sums.delete(sensor)
            self.context.forward(Record(sensor, {"average": total / number, "readings": number}, now), child="averages")

    def forward_alarm(self, sensor, what, timestamp):
        self.context.forward(Record(sensor, {"sensor": sensor, "is": what}, timestamp), child="alarms")


builder.add_state_store(key_value_store("last-seen", key=String(), value=Long()))
builder.add_state_store(key_value_store("sums", key=String(), value=Json()))

readings = builder.stream("readings", key=String(), value=Json())
watched = readings.process(Watch, stores=["last-seen", "sums"], name="watch")
watched.to("alarms", name="alarms")  # `child=` above names the node: a processor may choose where a record goes
watched.to("averages", name="averages")

if __name__ == "__main__":
    builder.run()
