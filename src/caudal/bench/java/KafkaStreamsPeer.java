// Kafka Streams as a peer of `caudal bench streams`: reads one JSON command per line, runs one topology at a time.
//
// Commands: begin (a job, see caudal.bench.streams_job.Job), processed, end; end of input ends the program. Nothing here measures:
// the bench watches the output topic from outside. Left out: everything that the bench does not ask for, such as listeners.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;

public final class KafkaStreamsPeer {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Serde<String> TEXT = Serdes.String();
    private static final Serde<Long> LONG = Serdes.Long();
    private static final Serde<byte[]> BYTES = Serdes.ByteArray();
    private static final Serde<JsonNode> JSON = Serdes.serdeFrom(jsonSerializer(), jsonDeserializer());

    private KafkaStreams streams;
    private LongAdder processed;

    public static void main(String[] arguments) throws IOException {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        KafkaStreamsPeer peer = new KafkaStreamsPeer();
        answer(MAPPER.createObjectNode().put("ready", true));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            ObjectNode result = MAPPER.createObjectNode();
            try {
                peer.perform(MAPPER.readTree(line), result);
            } catch (RuntimeException error) {
                result.put("error", error.toString());
            }
            answer(result);
        }
        peer.end();
    }

    private static void answer(ObjectNode result) {
        System.out.println(result);
        System.out.flush();
    }

    private void perform(JsonNode command, ObjectNode result) {
        switch (command.get("do").asText()) {
            case "begin" -> begin(command);
            case "processed" -> result.put("processed", processed.sum());
            case "end" -> end();
            default -> result.put("error", "unknown command " + command);
        }
    }

    private void begin(JsonNode job) {
        String emit = job.get("emit").asText();
        boolean everyUpdate = !emit.equals("defaults");
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, job.get("application").asText());
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, job.get("bootstrap").asText());
        settings.put(StreamsConfig.STATE_DIR_CONFIG, job.get("state").asText());
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, job.get("threads").asInt());
        if (everyUpdate) {
            settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        }
        if (emit.equals("at once")) {
            settings.put(StreamsConfig.producerPrefix("linger.ms"), 0);
        }
        if (job.get("guarantee").asText().equals("exactly_once")) {
            settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        }
        processed = new LongAdder();
        StreamsBuilder builder = new StreamsBuilder();
        describe(builder, job, everyUpdate ? null : processed);
        streams = new KafkaStreams(builder.build(), settings);
        streams.start();
    }

    private void end() {
        if (streams != null) {
            // By default it stays in the group until its session times out, and a restart would wait for that.
            streams.close(new KafkaStreams.CloseOptions().leaveGroup(true).timeout(Duration.ofSeconds(60)));
            streams = null;
        }
    }

    private static void describe(StreamsBuilder builder, JsonNode job, LongAdder counter) {
        String input = job.get("input").asText();
        String output = job.get("output").asText();
        switch (job.get("topology").asText()) {
            case "map" -> counted(builder.stream(input, Consumed.with(BYTES, JSON)), counter)
                .mapValues(KafkaStreamsPeer::rewritten)
                .to(output, Produced.with(BYTES, JSON));
            case "count" -> counted(builder.stream(input, Consumed.with(TEXT, BYTES)), counter)
                .groupByKey(Grouped.with(TEXT, BYTES))
                .count(Materialized.with(TEXT, LONG))
                .toStream()
                .to(output, Produced.with(TEXT, LONG));
            case "regroup" -> counted(builder.stream(input, Consumed.with(TEXT, BYTES)), counter)
                .selectKey((key, value) -> key)
                .groupByKey(Grouped.with(TEXT, BYTES))
                .count(Materialized.with(TEXT, LONG))
                .toStream()
                .to(output, Produced.with(TEXT, LONG));
            case "sum" -> {
                long size = job.get("window").asLong();
                counted(builder.stream(input, Consumed.with(TEXT, JSON)), counter)
                    .mapValues(value -> value.get("amount").asLong())
                    .groupByKey(Grouped.with(TEXT, LONG))
                    .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMillis(size)))
                    .reduce(Long::sum, Materialized.with(TEXT, LONG))
                    .toStream()
                    .to(output, Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, size), LONG));
            }
            case "join" -> {
                KTable<String, JsonNode> table = builder.table(job.get("table").asText(), Consumed.with(TEXT, JSON));
                counted(builder.stream(input, Consumed.with(TEXT, JSON)), counter)
                    .join(table, KafkaStreamsPeer::joined, Joined.with(TEXT, JSON, JSON))
                    .to(output, Produced.with(TEXT, JSON));
            }
            default -> throw new IllegalArgumentException("unknown topology " + job);
        }
    }

    private static <K, V> KStream<K, V> counted(KStream<K, V> stream, LongAdder counter) {
        return counter == null ? stream : stream.peek((key, value) -> counter.increment());
    }

    private static JsonNode rewritten(JsonNode order) {
        ObjectNode result = MAPPER.createObjectNode();
        result.put("id", order.get("id").asLong());
        result.put("user", order.get("user").asText());
        result.put("total", order.get("amount").asLong() * 2);
        result.put("region", order.get("region").asText().toUpperCase(Locale.ROOT));
        return result;
    }

    private static JsonNode joined(JsonNode order, JsonNode customer) {
        ObjectNode result = MAPPER.createObjectNode();
        result.put("id", order.get("id").asLong());
        result.put("total", order.get("amount").asLong() * 2);
        result.put("city", customer.get("city").asText());
        return result;
    }

    private static Serializer<JsonNode> jsonSerializer() {
        return (topic, value) -> {
            try {
                return value == null ? null : MAPPER.writeValueAsBytes(value);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        };
    }

    private static Deserializer<JsonNode> jsonDeserializer() {
        return (topic, bytes) -> {
            try {
                return bytes == null ? null : MAPPER.readTree(bytes);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        };
    }
}
